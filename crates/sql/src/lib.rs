//! The tokens of SQL: where strings, names, comments and parameters begin and end.
//!
//! Whoever looks into a statement's text (to find the end of a command, to number parameters, to
//! tell values from names) reads it here, by the grammar of the server that will read it. SQL
//! itself is left to that server: any text has tokens, and together they are the text.

#![warn(missing_docs)]

mod positional;
mod token;

pub use positional::{Positional, positional};
pub use token::{Dialect, Kind, Token, Tokens, token, tokens};
