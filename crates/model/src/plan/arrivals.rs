//! When transactions become due: in a closed or an open loop, stage by stage.
//!
//! Only the names of the distributions; the load draws from them.

use crate::Nanos;
use serde::{Deserialize, Serialize};

/// When transactions become due.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Arrivals {
    /// Each client starts its next transaction when its last is done, after a pause.
    Closed {
        /// The pause.
        think: Think,
    },
    /// Transactions become due by a schedule that the server cannot slow down; the stages define
    /// the rate.
    Open {
        /// The distribution of the gaps.
        law: ArrivalLaw,
    },
}

/// A pause between transactions of one client.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Think {
    /// Its distribution.
    pub law: ThinkLaw,
    /// Its mean; zero for none.
    pub mean_ns: Nanos,
}

/// The pauses of a client around a transaction, as of a user at a terminal: first the input is
/// entered, then the transaction is due; its answer is read before the next one is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pacing {
    /// The pause before it; always the same.
    pub keying_ns: Nanos,
    /// The mean of the pause after it, which is exponential and cut off at ten times its mean.
    pub think_mean_ns: Nanos,
}

/// The distribution of think times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThinkLaw {
    /// Always the mean.
    Constant,
    /// Exponential around the mean.
    Exponential,
}

/// The distribution of the gaps between arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArrivalLaw {
    /// Exponential gaps: independent users.
    Poisson,
    /// Even gaps.
    Constant,
}

/// A part of the run with its own load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// Its duration; none only for the sole stage of a run with a fixed number of transactions.
    pub duration_ns: Option<Nanos>,
    /// The number of active clients; none for all.
    pub clients: Option<u32>,
    /// In an open loop, arrivals per second.
    pub rate_tps: Option<f64>,
}
