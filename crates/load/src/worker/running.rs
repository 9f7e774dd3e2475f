//! Transactions: begun when due, taken through their scripts, ended well or not.

use super::{NO_STATEMENT, Pending, Port, ShellCall, Worker};
use crate::Phase;
use crate::client::{State, Transaction};
use dbdyno_hist::Slow;
use dbdyno_model::{
    Arrivals, Flow, Keep, Nanos, Purpose, Reply, Request, ServerError, Stream, Think, ThinkLaw,
};
use dbdyno_script::{Fault, Resume, Step};

/// Numbers of an open loop's arrivals belong to no client.
const NOBODY: u64 = u64::MAX;

impl Worker {
    /// The client has nothing to do: its next transaction, or a pause, or the end.
    pub(super) fn ready<P: Port>(&mut self, now: Nanos, client: usize, port: &mut P) {
        if self.follow(now, client, port) {
            self.run(now, client, Resume::Continue, port);
        }
    }

    /// Decides what a client without a transaction does next; true when it has begun one and
    /// can go on at once.
    fn follow<P: Port>(&mut self, now: Nanos, client: usize, port: &mut P) -> bool {
        if self.ending.is_some() || self.has_done_its_share(client) {
            self.leave(now, client, port);
            return false;
        }
        let thought = self.clients[client].state == State::Thinking;
        self.clients[client].enter(State::Idle(now));
        if !self.is_active(now, client) {
            return false;
        }
        match self.plan.arrivals {
            Arrivals::Open { .. } => {
                self.idle.push_back(client);
                false
            }
            Arrivals::Closed { think } if think.mean_ns > Nanos::ZERO && !thought => {
                let pause = self.think(client, think);
                self.clients[client].enter(State::Thinking);
                self.timers.set(now + pause, client, self.clients[client].generation);
                false
            }
            Arrivals::Closed { .. } => {
                self.count_due(now);
                let number = self.clients[client].begun;
                self.begin(now, client, number, now, port)
            }
        }
    }

    fn has_done_its_share(&self, client: usize) -> bool {
        matches!(self.plan.arrivals, Arrivals::Closed { .. })
            && self
                .plan
                .transactions_per_client
                .is_some_and(|share| self.clients[client].measured >= share)
    }

    fn think(&self, client: usize, think: Think) -> Nanos {
        match think.law {
            ThinkLaw::Constant => think.mean_ns,
            ThinkLaw::Exponential => {
                let (who, number) = (self.global_id(client), self.clients[client].begun);
                let mut chance = Stream::keyed(self.plan.seed, Purpose::Think, who, number);
                Nanos((-chance.next_f64_positive().ln() * think.mean_ns.0 as f64) as u64)
            }
        }
    }

    fn is_measured(&self, due: Nanos) -> bool {
        self.timeline.as_ref().is_some_and(|timeline| timeline.phase(due) == Phase::Measure)
    }

    fn count_due(&mut self, due: Nanos) {
        self.tally.counters.due += u64::from(self.is_measured(due));
    }

    /// Begins a transaction; false when the client has to connect first.
    fn begin<P: Port>(
        &mut self,
        now: Nanos,
        client: usize,
        number: u64,
        due: Nanos,
        port: &mut P,
    ) -> bool {
        let measured = self.is_measured(due);
        let who = if self.pending.is_some() { NOBODY } else { self.global_id(client) };
        let script = self.choose_script(who, number);
        let chance = Stream::keyed(self.plan.seed, Purpose::Script, who, number);
        if measured {
            self.tally.counters.started += 1;
            self.tally.counters.in_flight += 1;
        }
        let own = &mut self.clients[client];
        own.begun += 1;
        own.measured += u64::from(measured);
        own.session.begin(script, chance);
        own.timings.clear();
        own.error = None;
        own.transaction = Some(Transaction { script, number, due, sent: None, tries: 1, measured });
        if !own.connected {
            self.connect(now, client, port);
        }
        self.clients[client].connected
    }

    fn choose_script(&self, who: u64, number: u64) -> usize {
        if self.plan.scripts.len() == 1 {
            return 0;
        }
        let mut chance = Stream::keyed(self.plan.seed, Purpose::Choice, who, number);
        let mut drawn = chance.up_to(self.total_weight - 1);
        let is_it = |weight: u64| {
            let hit = drawn < weight;
            drawn = drawn.saturating_sub(weight);
            hit
        };
        self.plan.scripts.iter().map(|script| u64::from(script.weight)).position(is_it).unwrap_or(0)
    }

    /// Takes a client on from where it is, through as many transactions as do not wait.
    pub(super) fn run<P: Port>(
        &mut self,
        now: Nanos,
        client: usize,
        input: Resume<'_>,
        port: &mut P,
    ) {
        if !self.step(now, client, input, port) {
            return;
        }
        while self.follow(now, client, port) {
            if !self.step(now, client, Resume::Continue, port) {
                return;
            }
        }
    }

    /// Resumes the script until it waits; true when its transaction is over.
    fn step<P: Port>(
        &mut self,
        now: Nanos,
        client: usize,
        mut input: Resume<'_>,
        port: &mut P,
    ) -> bool {
        loop {
            let own = &mut self.clients[client];
            match own.session.resume(input) {
                Ok(Step::Ask(request)) => {
                    port.send(client, &request);
                    own.outstanding.push_back((request.statement(), now));
                    if let Some(transaction) = &mut own.transaction {
                        transaction.sent.get_or_insert(now);
                    }
                    if request.flow() == Flow::Wait {
                        self.tally.round_trips += 1;
                        own.state = State::Asking;
                        return false;
                    }
                    input = Resume::Continue;
                }
                Ok(Step::Sleep(pause)) => {
                    own.enter(State::Sleeping);
                    self.timers.set(now + pause, client, own.generation);
                    return false;
                }
                Ok(Step::Shell { command, output }) => {
                    let command = command.to_owned();
                    own.enter(State::Shelling);
                    let ticket = own.generation;
                    port.shell(ShellCall { client, ticket, command, output });
                    return false;
                }
                Ok(Step::Restart) => {
                    if !self.begins_anew(now, client) {
                        return true;
                    }
                    input = Resume::Continue;
                }
                Ok(Step::Reconnect) => {
                    self.connect_anew(now, client, port);
                    return false;
                }
                Ok(Step::Done) => return self.script_ended(now, client, port),
                Ok(Step::Stop) => {
                    self.script_ended(now, client, port);
                    self.leave(now, client, port);
                    return false;
                }
                Err(fault) => return self.script_went_wrong(now, client, fault, port),
            }
        }
    }

    pub(super) fn replied<P: Port>(
        &mut self,
        now: Nanos,
        client: usize,
        reply: &Reply<'_>,
        port: &mut P,
    ) {
        self.heard = now;
        self.clients[client].in_transaction = reply.in_transaction;
        match self.clients[client].state {
            State::Asking => {
                self.part_answered(now, client, reply.error);
                let own = &self.clients[client];
                if own.error.is_none() || own.session.governs_itself() {
                    self.run(now, client, Resume::Reply(reply), port);
                } else {
                    self.clean_up(now, client, port);
                }
            }
            State::RollingBack { retry } => self.rolled_back(now, client, retry, port),
            State::Cancelling => self.finish(client, port),
            _ => {}
        }
    }

    /// One statement is answered: the last of what the script waits for, or a queued one.
    pub(super) fn part_answered(&mut self, now: Nanos, client: usize, error: Option<&ServerError>) {
        self.heard = now;
        let own = &mut self.clients[client];
        let Some((statement, sent)) = own.outstanding.pop_front() else { return };
        if let Some(error) = error {
            own.error.get_or_insert_with(|| error.clone());
            return;
        }
        own.timings.push((statement, now - sent));
        let counts = own.transaction.is_some_and(|transaction| transaction.measured)
            || self.timeline.as_ref().is_some_and(|line| line.phase(now) == Phase::Warmup);
        if counts {
            self.tally.record_statement(statement, now - sent);
        }
    }

    pub(super) fn shell_ended<P: Port>(
        &mut self,
        now: Nanos,
        client: usize,
        ticket: u32,
        output: Result<&str, &str>,
        port: &mut P,
    ) {
        let waits = self.clients[client].state == State::Shelling;
        if waits && self.clients[client].generation == ticket {
            self.run(now, client, Resume::Shell(output), port);
        }
    }

    /// The try failed: leave the open block first, then try again or give up.
    fn clean_up<P: Port>(&mut self, now: Nanos, client: usize, port: &mut P) {
        let retry = self.may_retry(now, client);
        let own = &mut self.clients[client];
        own.outstanding.clear();
        if own.in_transaction {
            own.enter(State::RollingBack { retry });
            port.send(
                client,
                &Request::Text { statement: NO_STATEMENT, sql: "ROLLBACK", keep: Keep::None },
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

    /// Whether there is room for another try of the client's transaction. The run's end is no
    /// bound: what is under way then has a grace, and a try is a part of it.
    pub(super) fn has_tries_left(&self, now: Nanos, client: usize) -> bool {
        let Some(transaction) = self.clients[client].transaction else { return false };
        let retry = self.plan.retry;
        let age = now - transaction.due;
        (retry.tries_max == 0 || transaction.tries < retry.tries_max)
            && retry.time_max_ns.is_none_or(|longest| age < longest)
            && self.plan.latency_limit_ns.is_none_or(|limit| age < limit)
    }

    fn rolled_back<P: Port>(&mut self, now: Nanos, client: usize, retry: bool, port: &mut P) {
        let own = &mut self.clients[client];
        own.in_transaction = false;
        let error = own.error.take();
        if let (true, Some(transaction)) = (retry, &mut own.transaction) {
            transaction.tries += 1;
            own.timings.clear();
            own.session.restart();
            return self.run(now, client, Resume::Continue, port);
        }
        if let Some(error) = error {
            self.fail_transaction(now, client, &error);
        }
        self.leave_connection(client, port);
        self.ready(now, client, port);
    }

    /// The script reached its end; true when the transaction ended well.
    fn script_ended<P: Port>(&mut self, now: Nanos, client: usize, port: &mut P) -> bool {
        let Some(transaction) = self.clients[client].transaction else {
            return self.has_come_through(client, port);
        };
        let own = &self.clients[client];
        if own.in_transaction && !own.session.governs_itself() {
            let message = "the script ended without ending its transaction block".to_owned();
            let script = transaction.script as u32;
            let fault = Fault { script, command: 0, line: 0, message };
            return self.script_went_wrong(now, client, fault, port);
        }
        self.succeed(now, client, &transaction);
        self.leave_connection(client, port);
        if transaction.sent.is_none() {
            // Nothing was asked, so nothing will make time pass: give the clock a chance.
            self.clients[client].enter(State::Thinking);
            self.timers.set(now + Nanos(1), client, self.clients[client].generation);
            return false;
        }
        true
    }

    fn succeed(&mut self, now: Nanos, client: usize, transaction: &Transaction) {
        self.clients[client].transaction = None;
        let warmup = self.timeline.as_ref().is_some_and(|line| line.phase(now) == Phase::Warmup);
        let response = now - transaction.due;
        self.tally.completed_ok += 1;
        if !transaction.measured && !warmup {
            return;
        }
        let script = &mut self.tally.scripts[transaction.script];
        script.ok += 1;
        script.response.record(response);
        if self.shape.service_differs {
            script.service.record(now - transaction.sent.unwrap_or(transaction.due));
        }
        if transaction.measured {
            self.responses.record(response);
            self.end_measured(now, transaction);
            let counters = &mut self.tally.counters;
            counters.ok += 1;
            counters.late +=
                u64::from(self.plan.latency_limit_ns.is_some_and(|limit| response > limit));
            self.consider_slow(now, client, transaction);
        }
    }

    /// Ends a transaction in an error. Connection and further course are the caller's.
    pub(super) fn fail_transaction(&mut self, now: Nanos, client: usize, error: &ServerError) {
        let own = &mut self.clients[client];
        own.outstanding.clear();
        own.error = None;
        let Some(transaction) = own.transaction.take() else { return };
        let warmup = self.timeline.as_ref().is_some_and(|line| line.phase(now) == Phase::Warmup);
        self.tally.completed_failed += 1;
        if !transaction.measured && !warmup {
            return;
        }
        self.tally.scripts[transaction.script].failed += 1;
        self.tally.failed_response.record(now - transaction.due);
        self.tally.add_failure(error);
        if transaction.measured {
            self.end_measured(now, &transaction);
            self.tally.counters.failed += 1;
        }
    }

    fn end_measured(&mut self, now: Nanos, transaction: &Transaction) {
        let counters = &mut self.tally.counters;
        counters.in_flight -= 1;
        counters.retried += u64::from(transaction.tries > 1);
        counters.retries += u64::from(transaction.tries - 1);
        self.last_end = now;
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

    /// With a connection for each transaction, this one has served.
    fn leave_connection<P: Port>(&mut self, client: usize, port: &mut P) {
        if self.plan.reconnect_each_transaction {
            port.close(client);
            self.clients[client].connected = false;
        }
    }

    /// The script itself failed: the client is done for good. Always false: nothing follows.
    fn script_went_wrong<P: Port>(
        &mut self,
        now: Nanos,
        client: usize,
        fault: Fault,
        port: &mut P,
    ) -> bool {
        let error = ServerError {
            class: dbdyno_model::FailureClass::Script,
            code: "script".into(),
            message: fault.message.clone(),
        };
        self.fail_transaction(now, client, &error);
        self.faults.push((self.global_id(client), fault));
        if self.timeline.is_none() {
            self.fatal.get_or_insert(error); // the others would wait for it for ever
        }
        self.finish(client, port);
        false
    }

    /// Gives arrivals that are due to clients that stand ready.
    pub(super) fn dispatch<P: Port>(&mut self, now: Nanos, port: &mut P) {
        if self.pending.is_none() || self.ending.is_some() {
            return;
        }
        self.take_arrivals(now);
        while let Some(&client) = self.idle.front() {
            let Some((number, due)) = self.next_waiting(now) else { break };
            self.idle.pop_front();
            if let State::Idle(since) = self.clients[client].state {
                self.tally.lateness.record(now - due.max(since));
            }
            if self.begin(now, client, number, due, port) {
                self.run(now, client, Resume::Continue, port);
            }
        }
        self.finish_if_exhausted(now, port);
    }

    /// A run that counts transactions is over when the last arrival has been served.
    fn finish_if_exhausted<P: Port>(&mut self, now: Nanos, port: &mut P) {
        let exhausted = self.plan.transactions_per_client.is_some()
            && self
                .pending
                .as_ref()
                .is_some_and(|pending| pending.upcoming.is_none() && pending.waiting.is_empty());
        while exhausted && let Some(client) = self.idle.pop_front() {
            self.leave(now, client, port);
        }
    }

    /// The oldest arrival that is still worth beginning; the others are skipped.
    fn next_waiting(&mut self, now: Nanos) -> Option<(u64, Nanos)> {
        loop {
            let (number, due) = self.pending.as_mut()?.waiting.pop_front()?;
            let measured = self.is_measured(due);
            self.tally.counters.waiting -= u64::from(measured);
            let too_late = self.plan.latency_limit_ns.is_some_and(|limit| now - due > limit);
            if !too_late {
                return Some((number, due));
            }
            self.tally.counters.skipped += u64::from(measured);
            let script = self.choose_script(NOBODY, number);
            self.tally.scripts[script].skipped += u64::from(measured);
        }
    }

    /// Moves the arrivals that are due by now from the schedule to the queue.
    pub(super) fn take_arrivals(&mut self, now: Nanos) {
        while let Some(Pending { upcoming: Some((number, due)), .. }) = self.pending
            && due <= now
        {
            let measured = self.is_measured(due);
            self.tally.counters.due += u64::from(measured);
            self.tally.counters.waiting += u64::from(measured);
            if let Some(pending) = &mut self.pending {
                pending.waiting.push_back((number, due));
            }
            self.draw_upcoming();
        }
    }

    /// Draws the schedule on to the next arrival that falls to this worker: arrival `k` falls
    /// to the thread of client `k mod active clients`.
    pub(super) fn draw_upcoming(&mut self) {
        let (Some(timeline), Some(pending)) = (&self.timeline, &mut self.pending) else { return };
        let (plan, thread) = (&self.plan, u64::from(self.thread));
        let share = plan.transactions_per_client.map(|each| each * u64::from(plan.clients));
        let Pending { schedule, first_measured, .. } = pending;
        pending.upcoming = schedule
            .inspect(|&(number, due)| {
                if due >= timeline.measure_begin() {
                    first_measured.get_or_insert(number);
                }
            })
            .find(|&(number, due)| {
                let active = u64::from(timeline.active_clients(due, plan.clients)).max(1);
                number % active % u64::from(plan.threads) == thread
            })
            .filter(|&(number, _)| match (share, *first_measured) {
                (Some(share), Some(first)) => number - first < share,
                _ => true,
            });
    }
}
