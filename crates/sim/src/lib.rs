//! A simulated server and a virtual clock, around the same [`dbdyno_load::Worker`] that the engine
//! drives. A test of a 30-second stall takes a millisecond, and its percentiles can be worked out
//! by hand.

mod drive;
mod execution;
mod server;

pub use drive::{Outcome, simulate};
pub use execution::{Asking, Drawn};
pub use server::Server;
