//! Databases behind ODBC: any that has a driver, at the cost of a thread for each connection.
//!
//! ODBC calls block, so they stay out of the event loop: a [`Connection`] is a thread that executes
//! the commands of its client, and the lane of such a run only passes them on. What differs between
//! databases is in `vendor`. Nothing here is linked against a driver manager; it is loaded when a
//! plan needs it.

mod active_statement;
mod batch;
mod command;
mod config;
mod connection;
mod control;
mod handle;
mod library;
mod login;
mod parameters;
mod session;
mod statement;
mod vendor;

pub(crate) use active_statement::ActiveStatement;
pub(crate) use batch::Batch;
pub(crate) use config::Config;
pub(crate) use connection::{Connection, ConnectionEvent, EventSender, TimedEvent};
pub(crate) use session::Session;
