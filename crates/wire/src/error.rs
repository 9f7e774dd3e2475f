//! Errors for bytes that violate the protocol.
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

impl From<ProtocolError> for ServerError {
    fn from(error: ProtocolError) -> Self {
        Self::protocol(error.to_string())
    }
}
