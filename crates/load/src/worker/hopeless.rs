//! Scripts that can never work: nothing new is begun once one of them is known, because more of
//! its failures would say no more.
//!
//! What makes a script hopeless is known to [`crate::Prospects`]; that the run ends for all is
//! for whoever leads the workers.

use super::{Hopeless, Worker};
use dbdyno_model::{ServerError, StatementId};

impl Worker {
    /// The client begins the script, of which it may be the first to see that it works.
    pub(super) fn look_forward(&self, client: usize, script: usize) {
        let is_first = || !self.clients[client].failed_scripts.contains(&script);
        if self.plan.ends_on_hopeless_script && self.prospects.is_open(script) && is_first() {
            self.prospects.begin_first(script);
        }
    }

    /// What a failure of a client's transaction, at this statement, says of its script.
    pub(super) fn judge_script(
        &mut self,
        client: usize,
        script: usize,
        error: &ServerError,
        statement: StatementId,
    ) {
        // The end of a run that took its whole time needs no other reason.
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

    /// Whether this failure of the client leaves no hope for the script.
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

    /// A script that can never work, once there is one.
    pub fn hopeless(&self) -> Option<&Hopeless> {
        self.hopeless.as_ref()
    }
}
