//! The client side of MySQL's and MariaDB's protocol, version 4.1 (servers since 5.5).
//!
//! [`Connection`] is the only type its owner needs.
//!
//! Inside, `login` authenticates a connection: `greeting` reads the server's first packet, `method`
//! and `password` prove who we are. From then on requests are converted to commands and sent by
//! `request` (with `command` and `parameter`), and `exchange` processes the answers,
//! with `preparing` and `infile` for what is not rows; `rows` and `column` decode what is kept.

pub(crate) mod capability;
mod column;
pub(crate) mod command;
mod config;
mod error_packet;
mod exchange;
pub(crate) mod fields;
mod greeting;
mod infile;
mod login;
mod method;
pub(crate) mod packet;
mod parameter;
mod password;
mod pending;
mod preparing;
mod protocol;
mod request;
pub(crate) mod rows;
mod rsa;
mod session_facts;
mod statements;

pub use config::{Channel, Config, Opening};
pub use protocol::Mysql;
pub use session_facts::SessionFacts;

/// A connection to a server of the MySQL family, without the socket.
pub type Connection = crate::Connection<Mysql>;

/// An event of such a connection.
pub type Event<'a> = crate::Event<'a, SessionFacts>;
