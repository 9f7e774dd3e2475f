//! What the server reports about the session: its parameters, and the cancel key.

use super::config::Version;
use super::message::Fields;
use crate::ProtocolError;
use crate::secret::Secret;

/// Limit on stored names and values: a server reports some fifteen parameters, a malicious one any
/// number.
const PARAMETERS_BYTES_MAX: usize = 8 << 10;

/// Protocol 3.2 has keys of 4 to 256 bytes.
const CANCEL_KEY_BYTES_MAX: usize = 256;

/// The server's side of a session, as it reports it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionFacts {
    /// The protocol version in use.
    pub version: Version,
    /// The server process.
    pub process_id: u32,
    cancel_key: Secret<Box<[u8]>>,
    parameters: Vec<(String, String)>,
}

impl SessionFacts {
    /// The value of a parameter that the server reports.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The server's version, as it reports it.
    pub fn server_version(&self) -> &str {
        self.parameter("server_version").unwrap_or_default()
    }

    pub(super) fn cancel_key(&self) -> &[u8] {
        &self.cancel_key.0
    }

    /// Reads a `ParameterStatus`. Those beyond the limit are not stored.
    pub(super) fn set_parameter(&mut self, body: &[u8]) -> Result<(), ProtocolError> {
        let mut fields = Fields(body);
        let (name, value) = (fields.text()?, fields.text()?);
        self.parameters.retain(|(known, _)| *known != name);
        let kept: usize =
            self.parameters.iter().map(|(name, value)| name.len() + value.len()).sum();
        if kept + name.len() + value.len() <= PARAMETERS_BYTES_MAX {
            self.parameters.push((name, value));
        }
        Ok(())
    }

    /// Reads a `BackendKeyData`.
    pub(super) fn set_key(&mut self, body: &[u8]) -> Result<(), ProtocolError> {
        let mut fields = Fields(body);
        self.process_id = fields.u32()?;
        if !(4..=CANCEL_KEY_BYTES_MAX).contains(&fields.0.len()) {
            return Err(ProtocolError::Malformed("a cancel key of 4 to 256 bytes was expected"));
        }
        self.cancel_key = Secret(fields.0.into());
        Ok(())
    }
}
