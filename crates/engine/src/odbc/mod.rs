//! Databases behind ODBC: whatever has a driver, at the price of a thread for each connection.
//!
//! The standard's calls wait for their answers, so they stay out of the event loop: a
//! [`Connection`] is a thread that carries out the orders of its client, and the lane of such a
//! run only passes them on. What differs between databases stands in `vendor`. Nothing here is
//! linked against a driver manager; it is loaded when a plan asks for it.

mod batch;
mod blueprint;
mod connection;
mod control;
mod handle;
mod library;
mod login;
mod order;
mod parameters;
mod placeholder;
mod running;
mod session;
mod statement;
mod vendor;

pub(crate) use batch::Batch;
pub(crate) use blueprint::Blueprint;
pub(crate) use connection::{Connection, Letter, News, Writer};
pub(crate) use running::Running;
pub(crate) use session::Session;

/// Our code for a driver that cannot be had.
pub(crate) const NO_DRIVER: &str = "no_odbc_driver";
