//! What a connection is executing, for those who would cancel it from another thread.

use super::handle::Handle;
use super::library::{Library, RawHandle};
use std::sync::Mutex;

/// The statement that is executing, if one is.
#[derive(Debug)]
pub(crate) struct Running {
    library: &'static Library,
    statement: Mutex<Option<Shared>>,
}

/// A handle that another thread may cancel.
#[derive(Debug)]
struct Shared(RawHandle);

// SAFETY: the standard lets any thread cancel a statement that another one executes.
unsafe impl Send for Shared {}

impl Running {
    pub(super) fn new(library: &'static Library) -> Self {
        Self { library, statement: Mutex::new(None) }
    }

    /// While this lasts, the statement can be cancelled.
    pub(super) fn during<T>(&self, statement: &Handle, work: impl FnOnce() -> T) -> T {
        self.set(Some(Shared(statement.raw)));
        let outcome = work();
        self.set(None);
        outcome
    }

    fn set(&self, statement: Option<Shared>) {
        // Who held it while a panic passed had done nothing yet.
        *self.statement.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = statement;
    }

    /// Cancels what is executing. The driver may make a connection of its own for that; the
    /// statement's handle stays until it has come back.
    pub(crate) fn cancel(&self) {
        let statement = self.statement.lock();
        if let Ok(Some(Shared(raw))) = statement.as_deref() {
            // SAFETY: the handle is valid while the lock is held.
            unsafe { (self.library.SQLCancel)(*raw) };
        }
    }
}
