//! MySQL's protocol against recorded exchanges, a real MariaDB and our own server side.
//!
//! A scenario is written once (`scenarios`), driven by `driver` over anything that is a
//! `Peer`: a real server (`live`), whose bytes are then recorded, or a recording that is
//! replayed whole, in pieces and spoilt (`replay`). Real MySQL is not in every distribution:
//! it is known here by its recordings.

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
