//! Scripts that can never work: once one of them is known no transaction is started, because
//! further failures would add no information.
//!
//! [`crate::ScriptViability`] decides which scripts are hopeless; the coordinator of the workers
//! ends the run.

use super::{HopelessScript, Worker};
use dbdyno_model::{ServerError, StatementId};

impl Worker {
    /// The client begins a script, which it has possibly not seen end yet.
    pub(super) fn note_first_begin(&self, client: usize, script: usize) {
        let is_first = || !self.clients[client].failed_scripts.contains(&script);
        if self.plan.ends_on_hopeless_script && self.viability.is_undecided(script) && is_first() {
            self.viability.begin_first(script);
        }
    }

    /// Takes into account the failure of a client's transaction at this statement.
    pub(super) fn judge_script(
        &mut self,
        client: usize,
        script: usize,
        error: &ServerError,
        statement: StatementId,
    ) {
        // A run that has reached its planned end needs no other reason to end.
        if !self.plan.ends_on_hopeless_script || self.ending.is_some() {
            return;
        }
        if !error.class.is_lasting() {
            return self.viability.mark_viable(script);
        }
        if self.viability.is_undecided(script) && self.makes_hopeless(client, script) {
            let error = error.clone();
            self.hopeless.get_or_insert(HopelessScript { script, statement, error });
        }
    }

    /// Whether this failure makes the script hopeless.
    fn makes_hopeless(&mut self, client: usize, script: usize) -> bool {
        let failed = &mut self.clients[client].failed_scripts;
        if failed.contains(&script) {
            return self.viability.count_failure(script);
        }
        failed.push(script);
        self.viability.count_first_failure(script)
    }

    /// Whether clients begin no further transaction.
    pub(super) fn is_winding_down(&self) -> bool {
        self.ending.is_some() || self.hopeless.is_some()
    }

    /// A script that can never work, if there is one.
    pub fn hopeless(&self) -> Option<&HopelessScript> {
        self.hopeless.as_ref()
    }
}
