//! A logged-in connection: the calls that apply to it as a whole.

use super::config::Config;
use super::handle::{Diagnostic, Handle, Kind};
use std::ptr::{null_mut, without_provenance_mut};

const ATTRIBUTE_AUTOCOMMIT: i32 = 102;
const ATTRIBUTE_LOGIN_TIMEOUT: i32 = 103;
const INFO_PRODUCT: u16 = 17;
const INFO_VERSION: u16 = 18;
const INFO_UNITS_MAX: usize = 256;
const WITHOUT_PROMPT: u16 = 0;
const COMMIT: i16 = 0;
const ROLLBACK: i16 = 1;

/// A logged-in connection.
#[derive(Debug)]
pub(super) struct Login {
    pub(super) handle: Handle,
    _environment: Handle,
}

impl Login {
    /// With an environment of its own, since driver managers lock within one.
    pub(super) fn new(config: &Config) -> Result<Self, Diagnostic> {
        let environment = Handle::environment(config.library)?;
        let handle = environment.child(Kind::Connection)?;
        set(&handle, ATTRIBUTE_LOGIN_TIMEOUT, config.login_timeout_s)?;
        let words = config.connection_string.units();
        // SAFETY: the text has the length passed; nothing is written.
        let code = unsafe {
            (handle.library.SQLDriverConnectW)(
                handle.raw,
                null_mut(),
                words.as_ptr(),
                words.len() as i16,
                null_mut(),
                0,
                null_mut(),
                WITHOUT_PROMPT,
            )
        };
        handle.check(code)?;
        Ok(Self { handle, _environment: environment })
    }

    pub(super) fn product(&self) -> Result<String, Diagnostic> {
        self.info(INFO_PRODUCT)
    }

    pub(super) fn version(&self) -> Result<String, Diagnostic> {
        self.info(INFO_VERSION)
    }

    /// A property of the database that the driver reports as text.
    fn info(&self, kind: u16) -> Result<String, Diagnostic> {
        let mut text = [0_u16; INFO_UNITS_MAX];
        let mut bytes = 0;
        // SAFETY: the buffer has the length passed.
        let code = unsafe {
            (self.handle.library.SQLGetInfoW)(
                self.handle.raw,
                kind,
                text.as_mut_ptr().cast(),
                (INFO_UNITS_MAX * 2) as i16,
                &raw mut bytes,
            )
        };
        self.handle.check(code)?;
        let units = text.iter().position(|&unit| unit == 0).unwrap_or(INFO_UNITS_MAX);
        Ok(String::from_utf16_lossy(&text[..units]))
    }

    /// Sets whether each statement is a transaction of its own.
    pub(super) fn set_autocommit(&self, on: bool) -> Result<(), Diagnostic> {
        set(&self.handle, ATTRIBUTE_AUTOCOMMIT, usize::from(on))
    }

    /// Ends the transaction: commits it, or rolls it back.
    pub(super) fn end(&self, commits: bool) -> Result<(), Diagnostic> {
        let how = if commits { COMMIT } else { ROLLBACK };
        // SAFETY: the handle is valid.
        let code = unsafe {
            (self.handle.library.SQLEndTran)(Kind::Connection as i16, self.handle.raw, how)
        };
        self.handle.check(code).map(drop)
    }
}

impl Drop for Login {
    fn drop(&mut self) {
        // An open transaction is of no use any more; without it the driver can disconnect.
        let _ = self.end(false);
        // SAFETY: the statements of the connection are gone.
        unsafe { (self.handle.library.SQLDisconnect)(self.handle.raw) };
    }
}

/// Sets an attribute of a connection: a number passed in the pointer.
fn set(connection: &Handle, attribute: i32, value: usize) -> Result<(), Diagnostic> {
    // SAFETY: the attribute is a number, so nothing is pointed to.
    let code = unsafe {
        (connection.library.SQLSetConnectAttr)(
            connection.raw,
            attribute,
            without_provenance_mut(value),
            0,
        )
    };
    connection.check(code).map(drop)
}
