//! Bytes to events and back: the wire protocols, without sockets, clocks or chance.
//!
//! A connection here is a state machine. Bytes that arrived are put into its buffer, `poll`
//! turns them into events and appends to `out` what must be sent in answer; requests are
//! encoded into `out` as well. Who moves the bytes, and when, is the caller's business, so the
//! same code runs on `io_uring`, on epoll, in a simulator and under a fuzzer.
//!
//! Two promises hold for any input: it yields an event or a [`ProtocolError`], never a panic;
//! and memory is bounded by the limit of the [`ReceiveBuffer`], whatever a length field says.

mod answer;
mod buffer;
mod der;
mod error;
pub mod mysql;
pub mod postgres;
mod prepare_failure;
mod secret;
pub mod testserver;

pub use buffer::{MESSAGE_BYTES_MAX, ReceiveBuffer};
pub use error::ProtocolError;
