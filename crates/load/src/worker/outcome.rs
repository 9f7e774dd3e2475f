//! A client's turn, as far as the outcome of its transactions is concerned: success, an error after
//! the last try, a script that failed, or none, because the run was over before.
//!
//! Outcomes are counted only here, once for each transaction.

use super::turn::Turn;
use crate::client::Block;
use crate::state::{Input, Then, Transaction};
use crate::{HopelessScript, Phase, Port};
use dbdyno_hist::{Ended, FailedTry, Fate, Slow, add_failure};
use dbdyno_model::{FailureClass, Keep, Reports, Request, ServerError, StatementId};
use dbdyno_script::{Fault, Resume};

impl<P: Port> Turn<'_, P> {
    /// The try failed: rolls back the open block, then retries or gives up.
    pub(super) fn end_failed_try(&mut self) {
        let error = &self.own().error;
        let is_retryable = error.as_ref().is_some_and(|error| error.is_retryable());
        let retry = is_retryable && self.has_tries_left();
        let client = self.client;
        let own = self.own();
        own.outstanding.clear();
        // Scripts that use several connections in one transaction handle their own errors.
        let using = own.using;
        if own.connection_mut(using).in_transaction {
            own.enter(Input::RollsBack { retry });
            let statement = StatementId::UNCOUNTED;
            let rollback = Request::Text { statement, sql: "ROLLBACK", keep: Keep::None };
            self.port.send(client, using, &rollback);
        } else {
            self.rolled_back(retry);
        }
    }

    /// Whether another try of the client's transaction is allowed. The run's end does not matter: a
    /// transaction in flight then has a grace period, which includes retries.
    pub(super) fn has_tries_left(&self) -> bool {
        let state = &self.worker.clients[self.client].state;
        let Some(transaction) = state.transaction() else { return false };
        let plan = &self.worker.plan;
        let (retry, age) = (plan.retry, self.now - transaction.due);
        (retry.tries_max == 0 || transaction.tries < retry.tries_max)
            && retry.time_max_ns.is_none_or(|longest| age < longest)
            && plan.latency_limit_ns.is_none_or(|limit| age < limit)
    }

    /// The failed try has left no open block.
    pub(super) fn rolled_back(&mut self, retry: bool) {
        let own = self.own();
        let using = own.using;
        let connection = own.connection_mut(using);
        connection.in_transaction = false;
        connection.block = Block::Committed;
        let (error, statement) = self.take_error();
        if retry {
            self.retry(&error, statement);
            self.run(Resume::Continue);
        } else if self.give_up(&error, statement) == Then::GoOn {
            self.go_on();
        }
    }

    /// The error of the current try, and the statement that it answered; without an error the
    /// script itself has given the try up.
    pub(super) fn take_error(&mut self) -> (ServerError, StatementId) {
        let own = self.own();
        let statement = own.failing;
        own.error.take().map_or_else(
            || {
                let message = "the script gave up its transaction";
                let error = ServerError::new(FailureClass::Script, "script", message);
                (error, StatementId::UNCOUNTED)
            },
            |error| (*error, statement),
        )
    }

    /// A try failed, at this statement, and is retried.
    pub(super) fn retry(&mut self, error: &ServerError, statement: StatementId) {
        let now = self.now;
        let own = &mut self.worker.clients[self.client];
        let Some(transaction) = own.state.running_transaction() else { return };
        let (took, script) = (now - transaction.try_began, transaction.script);
        transaction.tries += 1;
        transaction.try_began = now;
        if transaction.measured {
            let tried_again = &mut self.worker.intervals.tally.tried_again;
            let failed = FailedTry { error, statement, took, script, is_unknown: false };
            add_failure(tried_again, failed);
        }
        own.timings.clear();
        own.forget_last_try();
        own.execution.restart();
    }

    /// The last try failed, at this statement.
    pub(super) fn give_up(&mut self, error: &ServerError, statement: StatementId) -> Then {
        if self.own().state.transaction().is_none() {
            return self.hook_done();
        }
        self.fail_transaction(error, statement, false);
        self.leave_connection();
        Then::GoOn
    }

    /// A transaction has succeeded.
    pub(super) fn succeed(&mut self, transaction: &Transaction) {
        let now = self.now;
        self.own().enter(Input::Ends);
        self.worker.shared.viability().mark_viable(transaction.script);
        let warmup = self.worker.is_in(Phase::Warmup, now);
        let response = now - transaction.due;
        let own = self.own();
        let (copied, block) = (own.copied, own.block());
        // What a procedure rolled back leaves no trace in the protocol.
        let is_told = block == Block::Committed && own.execution.was_rolled_back();
        let block = if is_told { Block::RolledBackByScript } else { block };
        let committed = u64::from(block == Block::Committed);
        let shape = self.worker.intervals.shape();
        let latency_limit = self.worker.plan.latency_limit_ns;
        let tally = &mut self.worker.intervals.tally;
        tally.completed_ok += 1;
        tally.completed_committed += committed;
        if block == Block::Committed {
            tally.copied += copied;
        }
        let using = self.own().using;
        if let Some(server) = self.server_tally(using) {
            server.completed_committed += committed;
        }
        let tally = &mut self.worker.intervals.tally;
        if !transaction.measured && !warmup {
            return;
        }
        let script = &mut tally.scripts[transaction.script];
        script.ok += 1;
        script.committed += committed;
        script.response.record(response);
        if shape.service_differs {
            script.service.record(now - transaction.sent.unwrap_or(transaction.due));
        }
        if transaction.measured {
            let counters = &mut tally.counters;
            counters.ok += 1;
            *match block {
                Block::Open => &mut counters.left_open,
                Block::Committed => &mut counters.committed,
                Block::RolledBackByScript => &mut counters.rolled_back,
                Block::RolledBackByServer => &mut counters.aborted,
            } += 1;
            counters.late += u64::from(latency_limit.is_some_and(|limit| response > limit));
            self.worker.responses.record(response);
            let worker = &mut *self.worker;
            let execution = &worker.clients[self.client].execution;
            execution.add_counted(&mut worker.intervals.tally.counted);
            self.end_measured(transaction, Fate::Ok);
            self.consider_slow(transaction);
        }
    }

    /// Ends a transaction, if there is one, with an error, the answer to this statement. What
    /// happens to the connection and the client is decided by the caller. Its outcome is unknown if a
    /// commit was not answered.
    pub(super) fn fail_transaction(
        &mut self,
        error: &ServerError,
        statement: StatementId,
        is_unknown: bool,
    ) {
        let now = self.now;
        let own = self.own();
        let Some(&transaction) = own.state.transaction() else { return };
        own.enter(Input::Fails);
        own.outstanding.clear();
        own.error = None;
        self.judge_script(transaction.script, error, statement);
        let warmup = self.worker.is_in(Phase::Warmup, now);
        let tally = &mut self.worker.intervals.tally;
        tally.completed_failed += 1;
        let using = self.own().using;
        if let Some(server) = self.server_tally(using) {
            server.completed_failed += 1;
        }
        let tally = &mut self.worker.intervals.tally;
        if !transaction.measured && !warmup {
            return;
        }
        let (took, script) = (now - transaction.try_began, transaction.script);
        tally.scripts[script].failed += 1;
        tally.failed_response.record(now - transaction.due);
        let failed = FailedTry { error, statement, took, script, is_unknown };
        add_failure(&mut tally.failures, failed);
        if transaction.measured {
            tally.counters.failed += 1;
            self.end_measured(&transaction, Fate::Failed(error.class));
        }
    }

    /// The run is over for the client: a transaction that is still in flight stays unfinished, with
    /// its current age.
    pub(super) fn cut_off(&mut self) {
        let Some(&transaction) = self.own().state.transaction() else { return };
        if transaction.measured {
            self.count_retries(&transaction);
            let counters = &mut self.worker.intervals.tally.counters;
            counters.in_flight -= 1;
            counters.unfinished += 1;
            self.worker.end_report.unfinished_ages.push(self.now - transaction.due);
        }
    }

    fn end_measured(&mut self, transaction: &Transaction, fate: Fate) {
        self.count_retries(transaction);
        if self.worker.plan.reports == Reports::Transactions {
            let ended = Ended {
                client: Some(self.id()),
                script: transaction.script,
                fate,
                tries: transaction.tries,
                due: transaction.due,
                sent: transaction.sent.unwrap_or(transaction.due),
                done: self.now,
            };
            self.worker.intervals.tally.report(&ended);
        }
        self.worker.intervals.tally.counters.in_flight -= 1;
        self.worker.end_report.last_end = self.now;
    }

    /// Counts the retries of a measured transaction, however it ended.
    fn count_retries(&mut self, transaction: &Transaction) {
        let tally = &mut self.worker.intervals.tally;
        tally.scripts[transaction.script].retried += u64::from(transaction.tries > 1);
        let counters = &mut tally.counters;
        counters.retried += u64::from(transaction.tries > 1);
        counters.retries += u64::from(transaction.tries - 1);
    }

    fn consider_slow(&mut self, transaction: &Transaction) {
        let (now, own) = (self.now, &self.worker.clients[self.client]);
        let (script, response) = (transaction.script, now - transaction.due);
        self.worker.intervals.tally.consider_slow(script, response, || Slow {
            script,
            client: own.id,
            number: transaction.number,
            due: transaction.due,
            sent: transaction.sent.unwrap_or(transaction.due),
            done: now,
            tries: transaction.tries,
            statements: own.timings.clone(),
        });
    }

    /// The script failed: the client is finished.
    pub(super) fn script_failed(&mut self, fault: Fault) {
        let error = ServerError::new(FailureClass::Script, "script", fault.message.clone());
        self.fail_transaction(&error, StatementId::UNCOUNTED, false);
        let id = self.id();
        self.worker.end_report.faults.push((id, fault));
        if self.worker.timeline.is_none() {
            // The others would otherwise wait for it for ever.
            self.worker.end_report.fatal.get_or_insert(error);
        }
        self.finish();
    }

    /// The client begins a script, which it has possibly not seen end yet.
    pub(super) fn note_first_begin(&self, script: usize) {
        let (worker, viability) = (&*self.worker, self.worker.shared.viability());
        let is_first = || !worker.clients[self.client].failed_scripts.contains(&script);
        if worker.plan.ends_on_hopeless_script && viability.is_undecided(script) && is_first() {
            viability.begin_first(script);
        }
    }

    /// Takes into account the failure of a transaction at this statement. Once a script is known
    /// that can never work no transaction is started, because further failures would add no
    /// information.
    fn judge_script(&mut self, script: usize, error: &ServerError, statement: StatementId) {
        // A run that has reached its planned end needs no other reason to end.
        if !self.worker.plan.ends_on_hopeless_script || self.worker.ending.has_begun() {
            return;
        }
        let viability = self.worker.shared.viability();
        if !error.class.is_lasting() {
            return viability.mark_viable(script);
        }
        if !viability.is_undecided(script) {
            return;
        }
        let failed_before = &mut self.worker.clients[self.client].failed_scripts;
        let makes_hopeless = if failed_before.contains(&script) {
            viability.count_failure(script)
        } else {
            failed_before.push(script);
            viability.count_first_failure(script)
        };
        if makes_hopeless {
            let error = error.clone();
            self.worker.hopeless.get_or_insert(HopelessScript { script, statement, error });
        }
    }
}
