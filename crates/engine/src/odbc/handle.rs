//! Handles of the driver manager, freed when dropped, and its diagnostics.

use super::library::{Code, Library, RawHandle};
use super::vendor::{Codes, Vendor};
use crate::error::NO_DRIVER;
use dbdyno_model::ServerError;
use std::ptr::{null_mut, without_provenance_mut};

pub(super) const SUCCESS: Code = 0;
pub(super) const SUCCESS_WITH_INFO: Code = 1;
const NO_DATA: Code = 100;
const VERSION_ATTRIBUTE: i32 = 200;
const VERSION_3: usize = 3;
const MESSAGE_UNITS_MAX: usize = 1024;

/// The kind of a handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Environment = 1,
    Connection = 2,
    Statement = 3,
}

/// A handle that we own.
#[derive(Debug)]
pub(super) struct Handle {
    pub(super) library: &'static Library,
    pub(super) raw: RawHandle,
    kind: Kind,
}

// SAFETY: ODBC binds no handle to a thread; each of ours is used by one thread at a time, except
// for cancelling, which the standard allows from any thread.
unsafe impl Send for Handle {}

/// A diagnostic record of the driver manager or a driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Diagnostic {
    state: String,
    /// The database's own error number, or 0.
    number: i32,
    message: String,
}

impl Handle {
    pub(super) fn environment(library: &'static Library) -> Result<Self, Diagnostic> {
        let mut raw = null_mut();
        // SAFETY: the out parameter is a handle of ours.
        let code =
            unsafe { (library.SQLAllocHandle)(Kind::Environment as i16, null_mut(), &raw mut raw) };
        if code != SUCCESS {
            return Err(Diagnostic::internal(
                "the ODBC driver manager cannot create an environment",
            ));
        }
        let environment = Self { library, raw, kind: Kind::Environment };
        // SAFETY: the attribute is a number passed in the pointer.
        let code = unsafe {
            (library.SQLSetEnvAttr)(raw, VERSION_ATTRIBUTE, without_provenance_mut(VERSION_3), 0)
        };
        environment.check(code)?;
        Ok(environment)
    }

    /// A child handle, which this one must outlive.
    pub(super) fn child(&self, kind: Kind) -> Result<Self, Diagnostic> {
        let mut raw = null_mut();
        // SAFETY: this handle is valid, the out parameter one of ours.
        let code = unsafe { (self.library.SQLAllocHandle)(kind as i16, self.raw, &raw mut raw) };
        self.check(code)?;
        Ok(Self { library: self.library, raw, kind })
    }

    /// The outcome of a call with this handle: whether there was data.
    pub(super) fn check(&self, code: Code) -> Result<bool, Diagnostic> {
        match code {
            SUCCESS | SUCCESS_WITH_INFO => Ok(true),
            NO_DATA => Ok(false),
            _ => Err(self.diagnostic(code)),
        }
    }

    /// The first diagnostic record of the last call. Later ones explain less.
    fn diagnostic(&self, code: Code) -> Diagnostic {
        let mut state = [0; 6];
        let mut message = [0; MESSAGE_UNITS_MAX];
        let (mut number, mut length) = (0, 0);
        // SAFETY: the buffers have the lengths passed.
        let status = unsafe {
            (self.library.SQLGetDiagRecW)(
                self.kind as i16,
                self.raw,
                1,
                state.as_mut_ptr(),
                &raw mut number,
                message.as_mut_ptr(),
                MESSAGE_UNITS_MAX as i16,
                &raw mut length,
            )
        };
        if !matches!(status, SUCCESS | SUCCESS_WITH_INFO) {
            return Diagnostic::internal(format!(
                "the driver reported an error without a message (code {code})"
            ));
        }
        let units = usize::try_from(length).unwrap_or(0).min(MESSAGE_UNITS_MAX - 1);
        Diagnostic {
            state: String::from_utf16_lossy(&state[..5]),
            number,
            message: String::from_utf16_lossy(&message[..units]).trim_end().to_owned(),
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: the handle is no longer used, and its children are gone.
        unsafe { (self.library.SQLFreeHandle)(self.kind as i16, self.raw) };
    }
}

impl Diagnostic {
    pub(super) fn internal(message: impl Into<String>) -> Self {
        Self { state: "HY000".into(), number: 0, message: message.into() }
    }

    /// Whether the driver could not be found or loaded.
    fn is_of_missing_driver(&self) -> bool {
        self.state.starts_with("IM") || self.message.contains("Can't open lib")
    }

    /// The error in this database's terms.
    pub(super) fn into_server_error(self, vendor: &Vendor) -> ServerError {
        let class = vendor.class(self.number, &self.state);
        let code = match vendor.codes {
            _ if self.is_of_missing_driver() => NO_DRIVER.into(),
            Codes::Numbers if self.number != 0 => self.number.to_string(),
            _ => self.state.clone(),
        };
        ServerError { class, code, sqlstate: self.state, message: self.message }
    }
}
