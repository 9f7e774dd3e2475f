//! MySQL's and MariaDB's protocol, version 4.1 (servers since 5.5), as a client speaks it.
//!
//! [`Connection`] is the whole of it for its owner.
//!
//! Inside, `login` brings a connection to the server's consent: `greeting` reads what the server
//! says first, `method` and `password` prove who we are. From then on requests are turned into
//! commands and sent by `request` (with `command`, `parameter` and `placeholder`), and `exchange`
//! walks what comes back, with `preparing` and `infile` for what is not rows; `rows` and `column`
//! read what is kept.

pub(crate) mod capability;
mod column;
pub(crate) mod command;
mod config;
mod connection;
mod error_packet;
mod event;
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
mod placeholder;
mod preparing;
mod request;
pub(crate) mod rows;
mod rsa;
mod session;
mod statements;

pub use config::{Channel, Config, Opening};
pub use connection::Connection;
pub use event::{Event, PrepareFailure};
pub use session::Session;
