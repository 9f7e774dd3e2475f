//! What is said of bytes that are not of the protocol.
//!
//! After a `ProtocolError` nobody knows where the next message begins: the connection is of
//! no further use. What a server says within the protocol, however unwelcome, is not one.

use dbdyno_model::ServerError;
use std::fmt;

/// The peer broke the protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProtocolError {
    /// A length field smaller than itself.
    LengthTooSmall {
        /// The message's type.
        tag: u8,
        /// What the field says.
        length: u32,
    },
    /// A message larger than we are ready to hold.
    TooLong {
        /// The message's type.
        tag: u8,
        /// What the field says.
        length: u32,
        /// The most we take.
        limit: usize,
    },
    /// A packet whose number is not the next one.
    OutOfOrder {
        /// The number that was due.
        expected: u8,
        /// The number that came.
        found: u8,
    },
    /// A message that has no place in this state.
    Unexpected {
        /// The message's type.
        tag: u8,
        /// The state it came in.
        state: &'static str,
    },
    /// A message whose body is not what its type promises.
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
                write!(f, "packet {found} came where packet {expected} was due")
            }
            Self::Unexpected { tag, state } => {
                write!(f, "message '{}' has no place in state {state}", tag.escape_ascii())
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
