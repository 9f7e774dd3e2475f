//! A sampled profile of a server's CPU time: which process was in which function, how often.
//!
//! The kernel interrupts each CPU a few hundred times a second and notes what it finds
//! (`perf_event_open`). Samples are counted at once by second, task and function, and are not
//! kept: what a second needs depends on how many functions were busy, not on the frequency.
//!
//! It refuses to judge: which task is a backend and which function belongs to the planner is
//! decided by who reads the counts.

mod events;
mod functions;
mod images;
mod kernel;
mod mappings;
mod profile;
mod source_files;
mod symbols;
mod tally;
mod tasks;

pub use events::{Scope, Source};
pub use functions::{Function, Kind};
pub use profile::{Profile, Taken, Task};
pub use tally::Count;
