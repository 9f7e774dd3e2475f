//! Errors for bytes that violate the protocol, and how much is kept of what a server says of others.
//!
//! After a `ProtocolError` it is unknown where the next message begins: the connection cannot be
//! used any more. An error that the server reports within the protocol is not a `ProtocolError`.

use dbdyno_model::ServerError;
use std::fmt;

/// The peer violated the protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProtocolError {
    /// A length field smaller than the field itself.
    LengthTooSmall {
        /// The message's type.
        tag: u8,
        /// The value of the field.
        length: u32,
    },
    /// A message larger than the limit.
    TooLong {
        /// The message's type.
        tag: u8,
        /// The value of the field.
        length: u32,
        /// The limit.
        limit: usize,
    },
    /// A packet whose number is not the next one.
    OutOfOrder {
        /// The expected number.
        expected: u8,
        /// The received number.
        found: u8,
    },
    /// A message that is not allowed in this state.
    Unexpected {
        /// The message's type.
        tag: u8,
        /// The state it came in.
        state: &'static str,
    },
    /// A message whose body does not match its type.
    Malformed(&'static str),
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LengthTooSmall { tag, length } => {
                write!(f, "message '{}' claims a length of {length}", tag.escape_ascii())
            }
            Self::TooLong { tag, length, limit } => write!(
                f,
                "message '{}' claims {length} bytes, more than the limit of {limit}",
                tag.escape_ascii()
            ),
            Self::OutOfOrder { expected, found } => {
                write!(f, "received packet {found} instead of packet {expected}")
            }
            Self::Unexpected { tag, state } => {
                write!(f, "unexpected message '{}' in state {state}", tag.escape_ascii())
            }
            Self::Malformed(what) => write!(f, "malformed message: {what}"),
        }
    }
}

impl std::error::Error for ProtocolError {}

/// Bytes of a server's message that are kept: it is repeated in every report of the run.
const TEXT_BYTES_MAX: usize = 2048;

/// The length of an SQLSTATE.
pub(crate) const SQLSTATE_BYTES: usize = 5;

/// A server's message for people: invalid UTF-8 is replaced, and a long one is cut.
pub(crate) fn message(text: &[u8]) -> String {
    if text.len() <= TEXT_BYTES_MAX {
        return String::from_utf8_lossy(text).into_owned();
    }
    let continues = |&place: &usize| text[place] & 0xC0 == 0x80;
    let end = (0..=TEXT_BYTES_MAX).rev().find(|place| !continues(place)).unwrap_or(0);
    format!("{}…", String::from_utf8_lossy(&text[..end]))
}

/// An SQLSTATE, however long it is said to be.
pub(crate) fn sqlstate(code: &[u8]) -> String {
    String::from_utf8_lossy(&code[..code.len().min(SQLSTATE_BYTES)]).into_owned()
}

impl From<ProtocolError> for ServerError {
    fn from(error: ProtocolError) -> Self {
        Self::protocol(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::{TEXT_BYTES_MAX, message, sqlstate};

    #[test]
    fn what_a_server_says_is_bounded() {
        assert_eq!(message("schön\u{0}".as_bytes()), "schön\u{0}");
        for letter in ["a", "ö", "€", "𝄞"] {
            let cut = message(letter.repeat(TEXT_BYTES_MAX + 1).as_bytes());
            assert_eq!(cut, format!("{}…", letter.repeat(TEXT_BYTES_MAX / letter.len())));
        }
        assert!(message(&[0x80; 9999]).len() < 10);
        assert_eq!((sqlstate(b"40001"), sqlstate(b"4000123")), ("40001".into(), "40001".into()));
    }
}
