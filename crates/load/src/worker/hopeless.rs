//! Scripts that can never work: once one of them is known no transaction is started, because
//! further failures would add no information.
//!
//! [`crate::ScriptViability`] decides which scripts are hopeless; the coordinator of the workers
//! ends the run.

use super::{Hopeless, Worker};
use dbdyno_model::{ServerError, StatementId};

impl Worker {
    /// The client begins a script, which it has possibly not seen end yet.
    pub(super) fn look_forward(&self, client: usize, script: usize) {
        let is_first = || !self.clients[client].failed_scripts.contains(&script);
        if self.plan.ends_on_hopeless_script && self.prospects.is_open(script) && is_first() {
            self.prospects.begin_first(script);
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
            return self.prospects.brighten(script);
        }
        if self.prospects.is_open(script) && self.darkens(client, script) {
            let error = error.clone();
            self.hopeless.get_or_insert(Hopeless { script, statement, error });
        }
    }

    /// Whether this failure makes the script hopeless.
    fn darkens(&mut self, client: usize, script: usize) -> bool {
        let failed = &mut self.clients[client].failed_scripts;
        if failed.contains(&script) {
            return self.prospects.darken(script);
        }
        failed.push(script);
        self.prospects.darken_first(script)
    }

    /// Whether clients begin no further transaction.
    pub(super) fn begins_no_more(&self) -> bool {
        self.ending.is_some() || self.hopeless.is_some()
    }

    /// A script that can never work, if there is one.
    pub fn hopeless(&self) -> Option<&Hopeless> {
        self.hopeless.as_ref()
    }
}
