//! The names of a result set's columns, which are mostly those of the last time.

use crate::{MESSAGE_BYTES_MAX, ProtocolError};
use std::sync::Arc;

/// Receives names one by one; they become new strings only where they differ from the known ones.
#[derive(Debug, Default)]
pub(crate) struct ColumnNames {
    known: Arc<[String]>,
    /// How many names have been the known ones.
    same: usize,
    /// All names, from the first that differs.
    other: Vec<String>,
    bytes: usize,
}

impl ColumnNames {
    /// The names of a result set follow, which may be these.
    pub(crate) fn begin(&mut self, known: Arc<[String]>) {
        self.known = known;
        self.other.clear();
        (self.same, self.bytes) = (0, 0);
    }

    pub(crate) fn add(&mut self, name: &[u8]) -> Result<(), ProtocolError> {
        let is_known = |known: &String| known.as_bytes() == name;
        if self.other.is_empty() && self.known.get(self.same).is_some_and(is_known) {
            self.same += 1;
            return Ok(());
        }
        self.bytes += name.len() + size_of::<String>();
        if self.bytes > MESSAGE_BYTES_MAX {
            return Err(ProtocolError::Malformed("names of columns that are too long"));
        }
        if self.other.is_empty() {
            self.other.extend_from_slice(&self.known[..self.same]);
        }
        self.other.push(String::from_utf8_lossy(name).into_owned());
        Ok(())
    }

    /// All names have been received.
    pub(crate) fn end(&mut self) -> Arc<[String]> {
        let known = std::mem::take(&mut self.known);
        if !self.other.is_empty() {
            std::mem::take(&mut self.other).into()
        } else if self.same == known.len() {
            known
        } else {
            known[..self.same].into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ColumnNames;
    use std::sync::Arc;

    #[test]
    fn names_are_the_known_ones_or_those_received() {
        let known: Arc<[String]> = ["a", "b"].map(String::from).into();
        let mut names = ColumnNames::default();
        for received in [&["a", "b"][..], &["a"], &["a", "c"], &["b", "a"], &["a", "b", "c"], &[]] {
            names.begin(Arc::clone(&known));
            for name in received {
                names.add(name.as_bytes()).expect("short");
            }
            let found = names.end();
            assert_eq!(*found, received.iter().map(ToString::to_string).collect::<Vec<_>>());
            assert_eq!(Arc::ptr_eq(&found, &known), received == ["a", "b"]);
        }
    }
}
