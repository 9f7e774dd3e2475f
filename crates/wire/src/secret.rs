//! Values that must not be printed, not even by accident.

use std::fmt;

/// A value that is hidden in debug output.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Secret<T>(pub(crate) T);

impl<T> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}
