//! The load: when transactions become due, which client runs them, what is counted.
//!
//! Everything here is plain data and plain functions: the [`Worker`] is given events with their
//! times, and requests actions through its [`Port`]. The engine provides sockets and the machine's
//! clock, the simulator a simulated server and a virtual clock.

mod client;
mod schedule;
mod script_viability;
mod timeline;
mod timers;
mod worker;

pub use client::Client;
pub use schedule::Schedule;
pub use script_viability::{HOPELESS_AFTER, ScriptViability};
pub use timeline::{Phase, Timeline};
pub use worker::{
    ClosedInterval, Event, HopelessScript, Outage, OutageEvent, Port, Settings, ShellCall,
    WAITED_BESIDE_OTHERS, Worker,
};
