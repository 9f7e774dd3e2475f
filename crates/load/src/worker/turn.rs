//! A client's turn: an event or a decision of the worker lets it act, until it waits again.
//!
//! `connecting` makes its connections, `outcome` ends and counts its transactions.

use super::Worker;
use crate::arrivals::{Arrival, NO_CLIENT};
use crate::client::{Asked, Client};
use crate::deferral::Deferred;
use crate::state::{Input, State, Then, Transaction};
use crate::{Phase, Port, ShellCall};
use dbdyno_model::{
    Arrivals, BlockWords, FailureClass, Flow, Nanos, Protocol, Purpose, Reply, Request,
    ServerError, StatementId, Stream, Think, ThinkLaw,
};
use dbdyno_script::{Resume, Step};

/// Transaction numbers for the random streams of setup and teardown, which no transaction has.
const SETUP: u64 = u64::MAX;
const TEARDOWN: u64 = u64::MAX - 1;

/// How many transactions without requests a client may run before the clock is read: each time
/// costs a sleep of some 30 µs, and a script that collects rows runs one for each row. But
/// meanwhile no other client of the thread is served, and a script may compute for long.
const UNASKED_TRANSACTIONS_MAX: u64 = 8;

/// One client of a worker at one instant.
pub(super) struct Turn<'a, P> {
    pub(super) worker: &'a mut Worker,
    pub(super) port: &'a mut P,
    pub(super) now: Nanos,
    pub(super) client: usize,
}

impl<P: Port> Turn<'_, P> {
    #[inline]
    pub(super) fn own(&mut self) -> &mut Client {
        &mut self.worker.clients[self.client]
    }

    /// Its number over the whole run.
    pub(super) fn id(&self) -> u64 {
        self.worker.clients[self.client].id
    }

    fn chance(&self, purpose: Purpose, who: u64, number: u64) -> Stream {
        Stream::keyed(self.worker.plan.seed, purpose, who, number)
    }

    /// Sets the alarm of the state that the client has just entered.
    pub(super) fn set_alarm(&mut self, at: Nanos) {
        let generation = self.worker.clients[self.client].generation;
        self.worker.timers.set(at, self.client, generation);
    }

    /// The pause of its state is over.
    pub(super) fn pause_over(&mut self) {
        match self.own().state {
            State::Unconnected(_) => {
                self.worker.connector.enqueue([self.client]);
                self.worker.connect_from_queue(self.now, self.port);
            }
            State::Connecting { .. } => self.connect_timed_out(),
            State::Sleeping(_) => {
                self.own().enter(Input::PauseOver);
                self.run(Resume::Continue);
            }
            // The table has it for Thinking and Yielding; no other state has an alarm.
            _ => {
                self.own().enter(Input::PauseOver);
                self.go_on();
            }
        }
    }

    /// The client is connected and has no transaction: its script is set up, or goes on.
    pub(super) fn set_up(&mut self) {
        let chance = self.chance(Purpose::Script, self.id(), SETUP);
        let own = self.own();
        if own.execution.set_up(chance) {
            own.enter(Input::SetsUp);
            self.run(Resume::Continue);
        } else {
            self.go_on();
        }
    }

    /// The client has had its last transaction: its script is torn down, then the client is
    /// finished.
    pub(super) fn tear_down(&mut self) -> Then {
        if self.end_connecting().is_some() {
            let using = self.own().using;
            self.port.close(self.client, using);
        }
        let chance = self.chance(Purpose::Script, self.id(), TEARDOWN);
        let own = self.own();
        if own.state.is_between_transactions()
            && own.is_connected()
            && own.execution.tear_down(chance)
        {
            own.enter(Input::TearsDown);
            return Then::GoOn;
        }
        self.finish();
        Then::Wait
    }

    /// Its end has come, while it has no transaction.
    pub(super) fn end(&mut self) {
        if self.tear_down() == Then::GoOn {
            self.run(Resume::Continue);
        }
    }

    /// The client runs nothing any more.
    pub(super) fn finish(&mut self) {
        if !self.own().state.is_finished() {
            self.end_connecting();
            self.own().enter(Input::Finishes);
            self.close_connections();
            self.worker.clients.one_finished();
            self.worker.shared.client_finished();
        }
        self.worker.end_without_clients();
    }

    /// The client is ready: starts its next transaction, or a pause, or its end, and goes on
    /// through as many transactions as need no wait.
    pub(super) fn go_on(&mut self) {
        while self.begin_next() == Then::GoOn && self.step(Resume::Continue) == Then::GoOn {}
    }

    /// Resumes the script, and goes on when it has ended.
    pub(super) fn run(&mut self, input: Resume<'_>) {
        if self.step(input) == Then::GoOn {
            self.go_on();
        }
    }

    /// Decides what a client that is ready does next.
    fn begin_next(&mut self) -> Then {
        if self.worker.is_winding_down() || self.has_reached_its_quota() {
            return self.tear_down();
        }
        let (now, client) = (self.now, self.client);
        let own = self.own();
        let has_thought = matches!(own.state, State::Ready { has_thought: true });
        // One that has paused moves after its transaction: there it would pause again.
        if own.moving_to.is_some() && !has_thought {
            if own.is_movable() {
                own.enter(Input::Moves);
                self.port.release(client);
                return Then::Wait;
            }
            own.moving_to = None;
        }
        if !self.is_active() {
            self.own().enter(Input::Waits(now));
            return Then::Wait;
        }
        if self.is_executor() {
            self.own().enter(Input::Waits(now));
            self.worker.deferral.add_idle(client);
            return Then::Wait;
        }
        match self.worker.plan.arrivals {
            Arrivals::Open { .. } => {
                self.own().enter(Input::Waits(now));
                self.worker.arrivals.add_idle(client);
                Then::Wait
            }
            Arrivals::Closed { think } if !has_thought && self.has_pause(think) => {
                let pause = self.pause(think);
                self.own().enter(Input::Thinks);
                self.set_alarm(now + pause);
                Then::Wait
            }
            Arrivals::Closed { .. } => {
                self.worker.count_due(now);
                let (who, number) = (self.id(), self.own().begun);
                if self.worker.is_deferred(who, number) {
                    self.defer(Deferred { who, number, due: now });
                    return self.begin_next(); // a pause follows
                }
                self.begin(who, (number, now))
            }
        }
    }

    /// Leaves its transaction to an executor, and goes on as if it had ended.
    fn defer(&mut self, deferred: Deferred) {
        let measured = u64::from(self.worker.is_measured(deferred.due));
        self.worker.intervals.tally.counters.waiting += measured;
        self.worker.deferral.put(deferred);
        let own = self.own();
        own.begun += 1;
        own.measured += measured;
        own.enter(Input::Defers);
    }

    fn is_executor(&self) -> bool {
        self.worker.is_executor(&self.worker.clients[self.client])
    }

    /// Whether it is active in the current stage.
    fn is_active(&self) -> bool {
        let (worker, now) = (&*self.worker, self.now);
        worker.timeline.as_ref().is_some_and(|timeline| {
            let active = || u64::from(timeline.active_clients(now, worker.plan.clients));
            now >= timeline.start() && (self.is_executor() || self.id() < active())
        })
    }

    fn has_reached_its_quota(&self) -> bool {
        let Worker { plan, clients, .. } = &*self.worker;
        let measured = clients[self.client].measured;
        matches!(plan.arrivals, Arrivals::Closed { .. })
            && !self.is_executor()
            && plan.transactions_per_client.is_some_and(|quota| measured >= quota)
    }

    fn has_pause(&self, think: Think) -> bool {
        think.mean_ns > Nanos::ZERO || self.worker.is_paced
    }

    /// The pause before the client's next transaction.
    fn pause(&self, think: Think) -> Nanos {
        if !self.worker.is_paced {
            return self.think(think);
        }
        let number = self.worker.clients[self.client].begun;
        let pacing = |number| {
            let script = self.worker.choices.script(self.id(), number);
            self.worker.plan.scripts[script].pacing.unwrap_or_default()
        };
        // Before its first transaction a client has just read an answer, as it were: otherwise all
        // of them would begin at the same time.
        let mean_ns = pacing(number.saturating_sub(1)).think_mean_ns;
        let read = self.think(Think { law: ThinkLaw::Exponential, mean_ns });
        read.min(Nanos(mean_ns.0.saturating_mul(10))) + pacing(number).keying_ns
    }

    fn think(&self, think: Think) -> Nanos {
        match think.law {
            ThinkLaw::Constant => think.mean_ns,
            ThinkLaw::Exponential => {
                let number = self.worker.clients[self.client].begun;
                let mut chance = self.chance(Purpose::Think, self.id(), number);
                Nanos((-chance.next_f64_positive().ln() * think.mean_ns.0 as f64) as u64)
            }
        }
    }

    /// Begins a transaction of this client, its own or one that was left to it, or of none; its
    /// client may have to connect first.
    pub(super) fn begin(&mut self, who: u64, (number, due): Arrival) -> Then {
        let (now, client) = (self.now, self.client);
        let measured = self.worker.is_measured(due);
        let script = self.worker.choices.script(who, number);
        let chance = self.chance(Purpose::Script, who, number);
        self.note_first_begin(script);
        if measured {
            let counters = &mut self.worker.intervals.tally.counters;
            counters.started += 1;
            counters.in_flight += 1;
        }
        let own = &mut self.worker.clients[client];
        own.begun += 1;
        own.measured += u64::from(measured);
        own.execution.begin(script, chance);
        if who != own.id && who != NO_CLIENT {
            own.execution.act_for(who);
        }
        own.timings.clear();
        own.forget_last_try();
        own.error = None;
        let (sent, tries, try_began) = (None, 1, now);
        let transaction = Transaction { script, number, due, sent, tries, try_began, measured };
        own.enter(Input::Begins(transaction));
        if own.is_connected() {
            return Then::GoOn;
        }
        self.connect();
        Then::Wait
    }

    /// Resumes the script until it waits or has ended.
    fn step(&mut self, mut input: Resume<'_>) -> Then {
        loop {
            let (now, client) = (self.now, self.client);
            let own = &mut self.worker.clients[client];
            match own.execution.resume(input) {
                Ok(Step::Request(connection, request @ Request::CopyRows { .. })) => {
                    self.port.send(client, connection, &request);
                    own.enter(Input::Asks);
                    return Then::Wait;
                }
                Ok(Step::Request(connection, request)) => {
                    self.port.send(client, connection, &request);
                    let statement = request.statement();
                    // Lua's statements are not known before the run.
                    let known = self.worker.block_words.get(statement.0 as usize).copied();
                    let words = known.unwrap_or_else(|| match request {
                        Request::Text { sql, .. }
                        | Request::TextInPipeline { sql, .. }
                        | Request::Execute { sql, .. } => BlockWords::of(sql),
                        _ => BlockWords::default(),
                    });
                    let copy = match request {
                        Request::Copy { direction, .. } => Some(direction),
                        _ => None,
                    };
                    let flow = request.flow();
                    own.using = connection;
                    own.outstanding.push_back(Asked { statement, sent: now, words, copy });
                    if let Some(transaction) = own.state.running_transaction() {
                        transaction.sent.get_or_insert(now);
                    }
                    if flow == Flow::Wait {
                        own.enter(Input::Asks);
                        self.worker.intervals.tally.round_trips += 1;
                        return Then::Wait;
                    }
                }
                Ok(Step::Sleep(pause)) => {
                    own.enter(Input::Sleeps);
                    self.set_alarm(now + pause);
                    return Then::Wait;
                }
                Ok(Step::Shell { command, output }) => {
                    let command = command.to_owned();
                    own.enter(Input::CallsShell);
                    let ticket = own.generation;
                    self.port.shell(ShellCall { client, ticket, command, output });
                    return Then::Wait;
                }
                Ok(Step::Restart) => {
                    let (error, statement) = self.take_error();
                    if !self.has_tries_left() {
                        return self.give_up(&error, statement);
                    }
                    self.retry(&error, statement);
                }
                Ok(Step::Connect { connection, server }) => {
                    self.connect_for_script(connection, server);
                    return Then::Wait;
                }
                Ok(Step::Disconnect(connection)) => self.disconnect(connection),
                Ok(Step::Done) => return self.script_ended(),
                Ok(Step::Stop { is_over }) => {
                    if self.stop(is_over) == Then::Wait {
                        return Then::Wait;
                    }
                }
                Err(fault) => {
                    self.script_failed(fault);
                    return Then::Wait;
                }
            }
            input = Resume::Continue;
        }
    }

    /// The script reached its end.
    fn script_ended(&mut self) -> Then {
        let Some(&transaction) = self.own().state.transaction() else { return self.hook_done() };
        self.succeed(&transaction);
        self.leave_connection();
        let is_unasked = transaction.sent.is_none();
        if is_unasked && transaction.number.is_multiple_of(UNASKED_TRANSACTIONS_MAX) {
            // Without a request no event would advance the time, so the client waits for the clock.
            self.own().enter(Input::Yields);
            self.set_alarm(self.now + Nanos(1));
            return Then::Wait;
        }
        Then::GoOn
    }

    /// The script's setup or teardown is done.
    pub(super) fn hook_done(&mut self) -> Then {
        if self.own().state.is_tearing_down() {
            self.finish();
            return Then::Wait;
        }
        self.own().enter(Input::Ends);
        self.opens_nothing_more();
        Then::GoOn
    }

    /// The script wants no further transaction, and goes on only with its teardown; the transaction
    /// it is in counts if it is over.
    fn stop(&mut self, is_over: bool) -> Then {
        match self.own().state.transaction().copied() {
            Some(transaction) if is_over => {
                self.succeed(&transaction);
                self.leave_connection();
            }
            Some(_) => {
                self.cut_off();
                self.own().enter(Input::Ends);
                self.opens_nothing_more();
            }
            None if self.hook_done() == Then::Wait => return Then::Wait,
            None => {}
        }
        self.tear_down()
    }

    /// The reply that the client waits for has come.
    #[inline]
    pub(super) fn replied(&mut self, reply: &Reply<'_>) {
        // MySQL's errors do not say, and a procedure that failed may have begun one.
        let protocol = self.worker.plan.endpoint.protocol;
        let is_unknown = reply.error.is_some() && protocol == Protocol::Mysql;
        let own = self.own();
        let using = own.using;
        own.connection_mut(using).in_transaction = reply.in_transaction || is_unknown;
        if let Some(error) = reply.error.filter(|error| error.says_read_only())
            && self.goes_on_elsewhere(using)
        {
            let error = ServerError { class: FailureClass::Connection, ..error.clone() };
            self.own().outstanding.clear(); // it was answered: nothing of it is unknown
            self.port.close(self.client, using);
            return self.lost(using, &error);
        }
        let own = self.own();
        match own.state {
            State::AwaitingReply(_) => {
                own.enter(Input::Replied);
                self.part_answered(reply, Flow::Wait);
                let own = self.own();
                if own.error.is_none() || own.execution.handles_own_errors() {
                    self.run(Resume::Reply(reply));
                } else {
                    self.end_failed_try();
                }
            }
            State::RollingBack { retry, .. } => {
                own.enter(Input::Replied);
                self.rolled_back(retry);
            }
            State::Cancelling => self.finish(),
            _ => own.state.ignore(Input::Replied),
        }
    }

    /// The server wants rows of the client's COPY.
    pub(super) fn rows_wanted(&mut self) {
        let client = self.client;
        let own = self.own();
        match own.state {
            State::AwaitingReply(_) => {
                own.enter(Input::RowsWanted);
                self.run(Resume::RowsWanted);
            }
            State::Cancelling => {
                // A server that waits for rows does not look for cancellations.
                let using = own.using;
                let (statement, reason) = (StatementId::UNCOUNTED, "the run is over");
                self.port.send(client, using, &Request::CopyFail { statement, reason });
            }
            _ => own.state.ignore(Input::RowsWanted),
        }
    }

    /// One statement is answered: the last one that the script waits for, or a queued one.
    pub(super) fn part_answered(&mut self, reply: &Reply<'_>, flow: Flow) {
        let now = self.now;
        let own = &mut self.worker.clients[self.client];
        let Some(asked) = own.outstanding.pop_front() else { return };
        let Asked { statement, sent, words, copy } = asked;
        own.note_block(words, reply, flow);
        if let Some(error) = reply.error {
            // In a pipeline the first error is the cause; a script that handles its own errors
            // sends further requests.
            if own.error.is_none() || own.execution.handles_own_errors() {
                own.error = Some(Box::new(error.clone()));
                own.failing = statement;
            }
            return;
        }
        if flow == Flow::Queue {
            own.execution.queued_answered(reply);
        }
        own.timings.push((statement, now - sent));
        if let Some(direction) = copy {
            own.copied.add(direction, reply);
        }
        let counts = own.state.transaction().is_some_and(|transaction| transaction.measured)
            || self.worker.is_in(Phase::Warmup, now);
        if counts {
            let tally = &mut self.worker.intervals.tally;
            tally.record_statement(statement, now - sent, reply.rows_touched);
        }
    }

    /// A shell command has ended: the one that the client waits for, or one that it has given up.
    pub(super) fn shell_ended(&mut self, ticket: u32, output: Result<&str, &str>) {
        let own = self.own();
        if own.generation == ticket {
            own.enter(Input::ShellEnded);
            self.run(Resume::Shell(output));
        }
    }

    /// It has arrived in this thread, or cannot leave it.
    pub(super) fn arrives(&mut self) {
        let own = self.own();
        own.moving_to = None;
        if matches!(own.state, State::Moving) {
            own.enter(Input::Arrives);
            self.go_on();
        }
    }
}
