//! When transactions become due: in a closed or an open loop, stage by stage.
//!
//! The laws by their names alone; what they draw is the load's business.

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
    /// Transactions become due by a schedule that the server cannot slow down; the stages say
    /// how many a second.
    Open {
        /// The law of the gaps.
        law: ArrivalLaw,
    },
}

/// A pause between transactions of one client.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Think {
    /// Its law.
    pub law: ThinkLaw,
    /// Its mean; zero for none.
    pub mean_ns: Nanos,
}

/// The law of a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThinkLaw {
    /// Always the mean.
    Constant,
    /// Exponential around the mean.
    Exponential,
}

/// The law of the gaps between arrivals.
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
    /// How long; none only for the sole stage of a run that counts transactions.
    pub duration_ns: Option<Nanos>,
    /// How many of the clients take part; none for all.
    pub clients: Option<u32>,
    /// In an open loop, arrivals per second.
    pub rate_tps: Option<f64>,
}
