//! Converts bytes to events and back: the wire protocols, without sockets, clocks or randomness.
//!
//! A connection here is a state machine. Received bytes are put into its buffer, `poll` turns them
//! into events and appends to `out` what must be sent in response; requests are encoded into `out`
//! as well. The caller moves the bytes, so the same code runs with `io_uring`, with epoll, in a
//! simulator and under a fuzzer.
//!
//! Two guarantees hold for any input: it yields an event or a [`ProtocolError`], never a panic; and
//! memory is bounded by the limit of the [`ReceiveBuffer`], whatever a length field says.

mod buffer;
mod column_names;
mod connection;
mod der;
mod error;
mod event;
pub mod mysql;
pub mod postgres;
mod reply_builder;
mod secret;
pub mod testserver;

pub use buffer::{MESSAGE_BYTES_MAX, ReceiveBuffer};
pub use connection::{Cancellation, Connection, Protocol};
pub use error::ProtocolError;
pub use event::{Event, Outcome, PrepareFailure};
pub use reply_builder::{KEPT_BYTES_MAX, result_too_large};
