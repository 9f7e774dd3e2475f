//! What all workers of a run know together.

use crate::ScriptViability;
use dbdyno_model::{Nanos, Plan};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// What all workers of a run know together: each tells the others what it would be wrong to judge
/// alone.
#[derive(Debug)]
pub struct RunShared {
    /// When any worker last heard from the server, in nanoseconds.
    last_heard: AtomicU64,
    /// When any worker last reached the server by a connect, in nanoseconds; 0 for never.
    last_reached: AtomicU64,
    /// Clients of the whole run that are not finished.
    clients_left: AtomicU32,
    viability: ScriptViability,
}

impl RunShared {
    /// For the workers and clients of a plan, before any of them has begun.
    pub fn new(plan: &Plan) -> Self {
        Self::with(plan, plan.threads_here().len() as u32, plan.clients_here())
    }

    /// For one worker that runs when earlier ones have ended, with this many clients left.
    pub fn alone(plan: &Plan, clients_left: u32) -> Self {
        Self::with(plan, 1, clients_left)
    }

    fn with(plan: &Plan, workers: u32, clients_left: u32) -> Self {
        Self {
            last_heard: AtomicU64::default(),
            last_reached: AtomicU64::default(),
            clients_left: AtomicU32::new(clients_left),
            viability: ScriptViability::new(plan.scripts.len(), workers),
        }
    }

    /// A worker last heard from the server at this instant; returns when any did. A long wait of
    /// one client is no stall while others are answered.
    pub(crate) fn heard(&self, at: Nanos) -> Nanos {
        Nanos(self.last_heard.fetch_max(at.0, Ordering::Relaxed)).max(at)
    }

    /// The server was reached by a connect, whether it accepted the client or not.
    pub(crate) fn reached(&self, at: Nanos) {
        self.last_reached.fetch_max(at.0, Ordering::Relaxed);
    }

    /// When it last was; zero for never. Refused connects of one client are no outage while others
    /// are accepted, or refused by the server itself.
    pub(crate) fn last_reached(&self) -> Nanos {
        Nanos(self.last_reached.load(Ordering::Relaxed))
    }

    /// A client is finished.
    pub(crate) fn client_finished(&self) {
        self.clients_left.fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether any client is not finished.
    pub(crate) fn has_clients_left(&self) -> bool {
        self.clients_left.load(Ordering::Relaxed) > 0
    }

    /// What is known of each script.
    pub(crate) fn viability(&self) -> &ScriptViability {
        &self.viability
    }
}
