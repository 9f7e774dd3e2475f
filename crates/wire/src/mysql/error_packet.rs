//! Reads error packets.

use super::fields::Fields;
use crate::ProtocolError;
use crate::error::{self, SQLSTATE_BYTES};
use dbdyno_model::{FailureClass, ServerError};

/// Reads an error packet, including its first byte.
///
/// Before the login the packet has no SQLSTATE.
pub(super) fn read(body: &[u8]) -> Result<ServerError, ProtocolError> {
    let mut fields = Fields(body);
    fields.u8()?;
    let number = fields.u16()?;
    let (sqlstate, message) = match fields.0 {
        [b'#', rest @ ..] if rest.len() >= SQLSTATE_BYTES => {
            let (state, message) = rest.split_at(SQLSTATE_BYTES);
            (Some(String::from_utf8_lossy(state)), message)
        }
        message => (None, message),
    };
    Ok(ServerError::from_mysql(number, sqlstate.as_deref(), error::message(message)))
}

/// Whether the server closes the connection after this error.
pub(super) fn ends_connection(error: &ServerError) -> bool {
    error.class == FailureClass::Connection
}

#[cfg(test)]
mod tests {
    use super::{ends_connection, read};
    use dbdyno_model::FailureClass;

    #[test]
    fn an_error_has_a_number_mostly_a_state_and_a_message() {
        let error = read(b"\xff\x15\x04#28000Access denied").expect("whole");
        assert_eq!((error.code.as_str(), error.message.as_str()), ("1045", "Access denied"));
        assert_eq!(error.sqlstate, "28000");
        let early = read(b"\xff\x10\x04Too many connections").expect("whole");
        assert_eq!(early.message, "Too many connections");
        assert_eq!(early.sqlstate, "HY000");
        assert_eq!(early.class, FailureClass::Resource);
        assert!(read(b"\xff\x15").is_err());
    }

    #[test]
    fn a_node_without_its_cluster_keeps_the_connection() {
        let alone = read(b"\xff\x17\x04#08S01WSREP has not yet prepared node").expect("whole");
        let closed = read(b"\xff\x1d\x04#08S01Server shutdown in progress").expect("whole");
        assert_eq!([alone, closed].map(|error| ends_connection(&error)), [false, true]);
    }
}
