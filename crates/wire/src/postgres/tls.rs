//! The step before encryption: a request, answered by one byte.
//!
//! The handshake itself, and the decision whether a refusal is acceptable, belong to the engine.

use crate::ProtocolError;

/// The request for encryption (`SSLRequest`).
pub const REQUEST: [u8; 8] = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];

/// The server's answer to [`REQUEST`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsResponse {
    /// The handshake may begin.
    Accepted,
    /// The server does not encrypt; the startup message may follow unencrypted.
    Refused,
    /// The server does not know the request, or is too busy: an error message begins. Its text must
    /// be neither trusted nor shown, since nobody is authenticated.
    Error,
}

/// Reads the one byte. Nothing may follow it: bytes received unencrypted must never be taken for
/// encrypted ones (CVE-2021-23222).
pub fn response(received: &[u8]) -> Result<TlsResponse, ProtocolError> {
    match received {
        b"S" => Ok(TlsResponse::Accepted),
        b"N" => Ok(TlsResponse::Refused),
        [b'E', ..] => Ok(TlsResponse::Error),
        [b'S' | b'N', _, ..] => {
            Err(ProtocolError::Malformed("bytes after the answer to the request for encryption"))
        }
        [tag, ..] => Err(ProtocolError::Unexpected { tag: *tag, state: "AwaitingEncryption" }),
        [] => Err(ProtocolError::Malformed("no answer to the request for encryption")),
    }
}

#[cfg(test)]
mod tests {
    use super::{TlsResponse, response};

    #[test]
    fn only_a_lone_byte_is_an_answer() {
        assert_eq!(response(b"S"), Ok(TlsResponse::Accepted));
        assert_eq!(response(b"N"), Ok(TlsResponse::Refused));
        assert_eq!(response(b"E\0\0"), Ok(TlsResponse::Error));
        for wrong in [&b""[..], b"SS", b"N\x16", b"H"] {
            assert!(response(wrong).is_err(), "{wrong:?}");
        }
    }
}
