//! The load itself: when transactions become due, which client runs them, what counts.
//!
//! Everything here is plain data and plain functions: the [`Worker`] is told what happened
//! and when, and says through its [`Port`] what to do. The engine gives it sockets and the
//! machine's clock, the simulator invented servers and a clock that jumps.

mod client;
mod prospects;
mod schedule;
mod timeline;
mod timers;
mod worker;

pub use client::Client;
pub use prospects::{HOPELESS_AFTER, Prospects};
pub use schedule::Schedule;
pub use timeline::{Phase, Timeline};
pub use worker::{
    ClosedInterval, Event, Hopeless, Outage, OutageNews, Port, Settings, ShellCall, Worker,
};
