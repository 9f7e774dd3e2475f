//! The PostgreSQL protocol against recorded exchanges, real servers and an independent encoder.
//!
//! A scenario is written once (`scenarios`), run by `driver` with any `Peer`: a real server
//! (`live`), whose bytes are then recorded (`recording`), or a recording that is replayed whole, in
//! pieces and corrupted (`replay`).

// Tests talk to real servers; the crate itself may not.
#![allow(clippy::disallowed_types, clippy::disallowed_methods)]

#[path = "../common/mod.rs"]
mod common;
mod crafted;
mod driver;
mod encoders;
mod live;
mod login;
mod null_server;
mod replay;
mod scenarios;
mod scripted;
mod server;
