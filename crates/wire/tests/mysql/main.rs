//! MySQL's protocol against recorded exchanges, a real MariaDB and our own server side.
//!
//! A scenario is written once (`scenarios`), run by `driver` with any `Peer`: a real server
//! (`live`), whose bytes are then recorded, or a recording that is replayed whole, in pieces and
//! corrupted (`replay`). Real MySQL is not in every distribution: it is tested here by its
//! recordings.

// Tests talk to real servers; the crate itself may not.
#![allow(clippy::disallowed_types, clippy::disallowed_methods)]

#[path = "../common/mod.rs"]
mod common;
mod crafted;
mod driver;
mod live;
mod null_server;
mod replay;
mod scenarios;
mod server;
mod tls;
