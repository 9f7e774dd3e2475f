//! PostgreSQL's protocol, versions 3.0 and 3.2, as a client speaks it.
//!
//! [`Connection`] is the whole of it for its owner; [`tls`] is the question that precedes an
//! encrypted one; [`copy`] writes rows to load.
//!
//! Inside, `login` brings a connection up to its first `ReadyForQuery`. From then on requests
//! are written by `request` (with `encode` and `parameter`), and `exchange` walks what comes
//! back: `stage` says which message may come next, `answer` gathers one request's answer.

mod answer;
mod channel_binding;
mod config;
mod connection;
pub mod copy;
mod diagnostic;
pub(crate) mod encode;
mod event;
mod exchange;
mod login;
pub(crate) mod message;
mod parameter;
mod pending;
mod prepared;
mod request;
mod scram;
mod session;
mod stage;
pub mod tls;

pub use channel_binding::tls_server_end_point;
pub use config::{Channel, Config, Opening, Version};
pub use connection::Connection;
pub use diagnostic::Diagnostic;
pub use event::{Event, PrepareFailure, SKIPPED};
pub use session::Session;
