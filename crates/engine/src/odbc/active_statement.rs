//! The statement that a connection is executing, so that another thread can cancel it.

use super::handle::Handle;
use super::library::{Library, RawHandle};
use std::sync::Mutex;

/// The statement being executed, if there is one.
#[derive(Debug)]
pub(crate) struct ActiveStatement {
    library: &'static Library,
    statement: Mutex<Option<Shared>>,
}

/// A handle that another thread may cancel.
#[derive(Debug)]
struct Shared(RawHandle);

// SAFETY: the standard lets any thread cancel a statement that another one executes.
unsafe impl Send for Shared {}

impl ActiveStatement {
    pub(super) fn new(library: &'static Library) -> Self {
        Self { library, statement: Mutex::new(None) }
    }

    /// Runs `work`, during which the statement can be cancelled.
    pub(super) fn during<T>(&self, statement: &Handle, work: impl FnOnce() -> T) -> T {
        self.set(Some(Shared(statement.raw)));
        let outcome = work();
        self.set(None);
        outcome
    }

    fn set(&self, statement: Option<Shared>) {
        // A thread that panicked while it held the lock had changed nothing yet.
        *self.statement.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = statement;
    }

    /// Cancels the statement being executed. The driver may open a connection for that; the
    /// statement's handle stays valid until it returns.
    pub(crate) fn cancel(&self) {
        let statement = self.statement.lock();
        if let Ok(Some(Shared(raw))) = statement.as_deref() {
            // SAFETY: the handle is valid while the lock is held.
            unsafe { (self.library.SQLCancel)(*raw) };
        }
    }
}
