//! How a transaction ends: successfully, with an error after its last try, or because its script
//! failed.
//!
//! Outcomes are counted only here, once for each transaction. A transaction that was cut off at the
//! run's end has no outcome: see `ending`.

use super::{Port, Worker};
use crate::Phase;
use crate::client::{Block, State, Transaction};
use dbdyno_hist::{FailedTry, Slow, add_failure};
use dbdyno_model::{ConnectionId, Keep, Nanos, Request, ServerError, StatementId};
use dbdyno_script::{Fault, Resume};

/// How many transactions without requests a client may run before the clock is read: each time
/// costs a sleep of some 30 µs, and a script that collects rows runs one for each row. But
/// meanwhile no other client of the thread is served, and a script may compute for long.
const UNASKED_TRANSACTIONS_MAX: u64 = 8;

impl Worker {
    /// The try failed: rolls back the open block, then retries or gives up.
    pub(super) fn end_failed_try<P: Port>(&mut self, now: Nanos, client: usize, port: &mut P) {
        let retry = self.may_retry(now, client);
        let own = &mut self.clients[client];
        own.outstanding.clear();
        // Scripts that open further connections handle their own errors.
        if own.first.in_transaction {
            own.enter(State::RollingBack { retry });
            let (statement, first) = (StatementId::UNCOUNTED, ConnectionId::FIRST);
            port.send(
                client,
                first,
                &Request::Text { statement, sql: "ROLLBACK", keep: Keep::None },
            );
        } else {
            self.rolled_back(now, client, retry, port);
        }
    }

    fn may_retry(&self, now: Nanos, client: usize) -> bool {
        let error = &self.clients[client].error;
        error.as_ref().is_some_and(|error| error.class.is_retryable())
            && self.has_tries_left(now, client)
    }

    /// Whether another try of the client's transaction is allowed. The run's end does not matter: a
    /// transaction in flight then has a grace period, which includes retries.
    pub(super) fn has_tries_left(&self, now: Nanos, client: usize) -> bool {
        let Some(transaction) = self.clients[client].transaction else { return false };
        let retry = self.plan.retry;
        let age = now - transaction.due;
        (retry.tries_max == 0 || transaction.tries < retry.tries_max)
            && retry.time_max_ns.is_none_or(|longest| age < longest)
            && self.plan.latency_limit_ns.is_none_or(|limit| age < limit)
    }

    pub(super) fn rolled_back<P: Port>(
        &mut self,
        now: Nanos,
        client: usize,
        retry: bool,
        port: &mut P,
    ) {
        let own = &mut self.clients[client];
        own.first.in_transaction = false;
        own.first.block = Block::Committed;
        let statement = own.failing;
        if let Some(error) = own.error.take() {
            if retry {
                self.retry(now, client, &error, statement);
                return self.run(now, client, Resume::Continue, port);
            }
            self.fail_transaction(now, client, &error, statement);
        }
        self.leave_connection(client, port);
        self.ready(now, client, port);
    }

    /// A try failed, at this statement, and is retried.
    pub(super) fn retry(
        &mut self,
        now: Nanos,
        client: usize,
        error: &ServerError,
        statement: StatementId,
    ) {
        let own = &mut self.clients[client];
        let Some(transaction) = &mut own.transaction else { return };
        if transaction.measured {
            let took = now - transaction.try_began;
            add_failure(&mut self.tally.tried_again, FailedTry { error, statement, took });
        }
        transaction.tries += 1;
        transaction.try_began = now;
        own.timings.clear();
        own.forget_last_try();
        own.session.restart();
    }

    /// The script reached its end; true when the client can continue at once.
    pub(super) fn script_ended<P: Port>(
        &mut self,
        now: Nanos,
        client: usize,
        port: &mut P,
    ) -> bool {
        let Some(transaction) = self.clients[client].transaction else {
            return self.hook_done(now, client, port);
        };
        self.succeed(now, client, &transaction);
        self.leave_connection(client, port);
        if transaction.sent.is_none() && transaction.number.is_multiple_of(UNASKED_TRANSACTIONS_MAX)
        {
            // Without a request no event would advance the time, so the client waits for the clock.
            self.clients[client].enter(State::Yielding);
            self.timers.set(now + Nanos(1), client, self.clients[client].generation);
            return false;
        }
        true
    }

    fn succeed(&mut self, now: Nanos, client: usize, transaction: &Transaction) {
        self.clients[client].transaction = None;
        self.viability.mark_viable(transaction.script);
        let warmup = self.timeline.as_ref().is_some_and(|line| line.phase(now) == Phase::Warmup);
        let response = now - transaction.due;
        let (block, copied) = (self.clients[client].block(), self.clients[client].copied);
        let committed = u64::from(block == Block::Committed);
        self.tally.completed_ok += 1;
        self.tally.completed_committed += committed;
        if !transaction.measured && !warmup {
            return;
        }
        let script = &mut self.tally.scripts[transaction.script];
        script.ok += 1;
        script.committed += committed;
        script.response.record(response);
        if self.shape.service_differs {
            script.service.record(now - transaction.sent.unwrap_or(transaction.due));
        }
        if transaction.measured {
            self.responses.record(response);
            self.end_measured(now, transaction);
            let counters = &mut self.tally.counters;
            counters.ok += 1;
            if block == Block::Committed {
                counters.copied += copied;
            }
            *match block {
                Block::Open => &mut counters.left_open,
                Block::Committed => &mut counters.committed,
                Block::RolledBackByScript => &mut counters.rolled_back,
                Block::RolledBackByServer => &mut counters.aborted,
            } += 1;
            counters.late +=
                u64::from(self.plan.latency_limit_ns.is_some_and(|limit| response > limit));
            self.consider_slow(now, client, transaction);
        }
    }

    /// Ends a transaction with an error, the answer to this statement. What happens to the
    /// connection and the client is decided by the caller.
    pub(super) fn fail_transaction(
        &mut self,
        now: Nanos,
        client: usize,
        error: &ServerError,
        statement: StatementId,
    ) {
        let own = &mut self.clients[client];
        own.outstanding.clear();
        own.error = None;
        let Some(transaction) = own.transaction.take() else { return };
        self.judge_script(client, transaction.script, error, statement);
        let warmup = self.timeline.as_ref().is_some_and(|line| line.phase(now) == Phase::Warmup);
        self.tally.completed_failed += 1;
        if !transaction.measured && !warmup {
            return;
        }
        self.tally.scripts[transaction.script].failed += 1;
        self.tally.failed_response.record(now - transaction.due);
        let took = now - transaction.try_began;
        add_failure(&mut self.tally.failures, FailedTry { error, statement, took });
        if transaction.measured {
            self.end_measured(now, &transaction);
            self.tally.counters.failed += 1;
        }
    }

    fn end_measured(&mut self, now: Nanos, transaction: &Transaction) {
        self.count_retries(transaction);
        self.tally.counters.in_flight -= 1;
        self.last_end = now;
    }

    /// Counts the retries of a measured transaction, however it ended.
    pub(super) fn count_retries(&mut self, transaction: &Transaction) {
        let counters = &mut self.tally.counters;
        counters.retried += u64::from(transaction.tries > 1);
        counters.retries += u64::from(transaction.tries - 1);
    }

    fn consider_slow(&mut self, now: Nanos, client: usize, transaction: &Transaction) {
        let who = self.global_id(client);
        let timings = &self.clients[client].timings;
        self.tally.consider_slow(now - transaction.due, || Slow {
            script: transaction.script,
            client: who,
            number: transaction.number,
            due: transaction.due,
            sent: transaction.sent.unwrap_or(transaction.due),
            done: now,
            tries: transaction.tries,
            statements: timings.clone(),
        });
    }

    /// With a connection for each transaction, closes this one, and what the script has opened.
    pub(super) fn leave_connection<P: Port>(&mut self, client: usize, port: &mut P) {
        if self.plan.reconnect_each_transaction {
            self.close_connections(client, port);
            self.clients[client].session.connection_left();
        }
    }

    /// The script failed: the client is finished. Always false: nothing follows.
    pub(super) fn script_failed<P: Port>(
        &mut self,
        now: Nanos,
        client: usize,
        fault: Fault,
        port: &mut P,
    ) -> bool {
        let error =
            ServerError::new(dbdyno_model::FailureClass::Script, "script", fault.message.clone());
        self.fail_transaction(now, client, &error, StatementId::UNCOUNTED);
        self.faults.push((self.global_id(client), fault));
        if self.timeline.is_none() {
            self.fatal.get_or_insert(error); // the others would otherwise wait for it for ever
        }
        self.finish(client, port);
        false
    }
}
