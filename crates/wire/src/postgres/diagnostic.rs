//! Errors and notices, as the server reports them.

use super::message::Fields;
use crate::ProtocolError;
use crate::error::{message, sqlstate};
use dbdyno_model::{FailureClass, ServerError};

/// An error or a notice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnostic {
    /// ERROR, FATAL, PANIC, WARNING, NOTICE, … (not translated, if the server sends it
    /// untranslated).
    pub severity: String,
    /// SQLSTATE.
    pub code: String,
    /// The message.
    pub message: String,
}

impl Diagnostic {
    pub(crate) fn parse(body: &[u8]) -> Result<Self, ProtocolError> {
        let mut fields = Fields(body);
        let mut parsed = Self::default();
        loop {
            match fields.u8()? {
                0 => return Ok(parsed),
                // 'S' may be translated. 'V', which never is, follows it from 9.6 on.
                b'S' | b'V' => parsed.severity = fields.text()?,
                b'C' => parsed.code = sqlstate(fields.text_bytes()?),
                b'M' => parsed.message = message(fields.text_bytes()?),
                _ => {
                    fields.text_bytes()?;
                }
            }
        }
    }

    /// Whether the server closes the connection after this error.
    pub(crate) fn ends_connection(&self) -> bool {
        matches!(self.severity.as_str(), "FATAL" | "PANIC")
    }
}

impl From<Diagnostic> for ServerError {
    fn from(diagnostic: Diagnostic) -> Self {
        let mut error = Self::from_sqlstate(&diagnostic.code, diagnostic.message);
        // An error after which the connection stays, whatever class its code is of: a statement
        // that takes other parameters than were sent, or a state of the script's own choice.
        if error.class == FailureClass::Connection && diagnostic.severity == "ERROR" {
            error.class = match error.code.as_str() {
                "08P01" => FailureClass::Statement,
                _ => FailureClass::Other,
            };
        }
        error
    }
}
