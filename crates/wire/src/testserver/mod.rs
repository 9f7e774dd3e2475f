//! The other side of the protocols, for the simulator, the benches and the tests.
//!
//! No database: answers are made beforehand and their bytes are copied. It keeps to the
//! protocol as a real server does, so that a client cannot tell it from one; it is as quick as
//! copying, so that a bench measures the client.

pub mod postgres;
