//! The step before encryption: a request, answered by one byte.
//!
//! The handshake itself, and the decision whether a refusal is acceptable, belong to the engine.

use crate::ProtocolError;

/// The request for encryption (`SSLRequest`).
pub const REQUEST: [u8; 8] = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];

/// The server's answer to [`REQUEST`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
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
pub fn answer(received: &[u8]) -> Result<Answer, ProtocolError> {
    match received {
        b"S" => Ok(Answer::Accepted),
        b"N" => Ok(Answer::Refused),
        [b'E', ..] => Ok(Answer::Error),
        [b'S' | b'N', _, ..] => {
            Err(ProtocolError::Malformed("bytes after the answer to the request for encryption"))
        }
        [tag, ..] => Err(ProtocolError::Unexpected { tag: *tag, state: "AwaitingEncryption" }),
        [] => Err(ProtocolError::Malformed("no answer to the request for encryption")),
    }
}

#[cfg(test)]
mod tests {
    use super::{Answer, answer};

    #[test]
    fn only_a_lone_byte_is_an_answer() {
        assert_eq!(answer(b"S"), Ok(Answer::Accepted));
        assert_eq!(answer(b"N"), Ok(Answer::Refused));
        assert_eq!(answer(b"E\0\0"), Ok(Answer::Error));
        for wrong in [&b""[..], b"SS", b"N\x16", b"H"] {
            assert!(answer(wrong).is_err(), "{wrong:?}");
        }
    }
}
