//! The client side of PostgreSQL's protocol, versions 3.0 and 3.2.
//!
//! [`Connection`] is the main type for its owner; [`tls`] is the request that precedes an encrypted
//! connection; [`copy`] encodes rows to load.
//!
//! Inside, `login` takes a connection up to its first `ReadyForQuery`. From then on requests are
//! written by `request` (with `encode` and `parameter`), and `exchange` processes the answers:
//! `stage` defines which message may come next, `answer` collects one request's answer.

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
