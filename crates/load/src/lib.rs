//! The load: when transactions become due, which client runs them, what is counted.
//!
//! Everything here is plain data and plain functions: the [`Worker`] is given events with their
//! times, and requests actions through its [`Port`]. The engine provides sockets and the machine's
//! clock, the simulator a simulated server and a virtual clock.

mod arrivals;
mod choice;
mod client;
mod clients;
mod connector;
mod deferral;
mod ending;
mod intervals;
mod port;
mod sampler;
mod schedule;
mod script_viability;
mod shared;
mod state;
mod timeline;
mod timers;
mod worker;

pub use client::Client;
pub use connector::{Outage, OutageEvent, WAITED_BESIDE_OTHERS};
pub use intervals::ClosedInterval;
pub use port::{EndReport, Event, HopelessScript, Port, Settings, ShellCall};
pub use schedule::Schedule;
pub use script_viability::HOPELESS_AFTER;
pub(crate) use script_viability::ScriptViability;
pub use shared::RunShared;
pub use timeline::{Phase, Timeline};
pub use worker::Worker;
