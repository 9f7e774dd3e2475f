//! The client side of PostgreSQL's protocol, versions 3.0 and 3.2.
//!
//! [`Connection`] is the main type for its owner; [`tls`] is the request that precedes an encrypted
//! connection; [`copy`] encodes rows to load.
//!
//! Inside, `login` takes a connection up to its first `ReadyForQuery`. From then on requests are
//! written by `request` (with `encode` and `parameter`), and `exchange` processes the answers:
//! `stage` defines which message may come next, `reply_builder` collects one request's answer.

mod channel_binding;
mod config;
pub mod copy;
mod diagnostic;
pub(crate) mod encode;
mod exchange;
mod login;
pub(crate) mod message;
mod parameter;
mod pending;
mod prepared;
mod protocol;
mod reply_builder;
mod request;
mod scram;
mod session_facts;
mod stage;
pub mod tls;

pub use channel_binding::tls_server_end_point;
pub use config::{Channel, Config, Opening, Version};
pub use diagnostic::Diagnostic;
pub use exchange::SKIPPED;
pub use protocol::Postgres;
pub use session_facts::SessionFacts;

/// A connection to a PostgreSQL server, without the socket.
pub type Connection = crate::Connection<Postgres>;

/// An event of such a connection.
pub type Event<'a> = crate::Event<'a, SessionFacts>;
