//! Measurements: latencies, counters with their identities, and the frames that report them.
//!
//! A worker fills one [`Tally`] per interval. The collector merges the tallies of all workers,
//! checks the identities, and converts them to [`frame::Frame`]s.

mod activity;
mod bars;
mod collector;
mod counters;
mod distribution;
pub mod frame;
mod latencies;
mod sparse;
mod tally;

pub use activity::{Activity, Doing};
pub use bars::{bars, merge, quantiles};
pub use collector::Collector;
pub use counters::{Copied, Counters, EngineUse, Rows};
pub use distribution::Distribution;
pub use latencies::Latencies;
pub use sparse::{Samples, SparseLatencies};
pub use tally::{
    Ended, FailedTry, FailureKey, FailureTally, Failures, Fate, ScriptTally, ServerTally, Shape,
    Slow, Tally, add_failure,
};
