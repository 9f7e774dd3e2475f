//! Transactions in flight: begun when due, and executed step by step.
//!
//! `arrivals` decides what is due; `outcome` decides how a transaction ended and counts it.

use super::arrivals::NO_CLIENT;
use super::{Port, ShellCall, Worker};
use crate::Phase;
use crate::client::{Asked, State, Transaction};
use dbdyno_model::{
    Arrivals, BlockWords, Flow, Nanos, Protocol, Purpose, Reply, Request, StatementId, Stream,
    Think, ThinkLaw,
};
use dbdyno_script::{Resume, Step};

impl Worker {
    /// A stage begins: clients that were inactive may become active now.
    pub(super) fn activate<P: Port>(&mut self, now: Nanos, port: &mut P) {
        let Some(timeline) = &self.timeline else { return };
        let is_first = self.next_activation == timeline.start();
        self.next_activation = timeline.next_stage(now);
        self.idle.clear();
        for client in 0..self.clients.len() {
            if matches!(self.clients[client].state, State::Idle(_)) {
                self.ready(now, client, port);
            }
        }
        if is_first {
            self.viability.worker_begun();
        }
    }

    /// The client has no transaction: starts its next one, or a pause, or its end.
    pub(super) fn ready<P: Port>(&mut self, now: Nanos, client: usize, port: &mut P) {
        if self.begin_next(now, client, port) {
            self.run(now, client, Resume::Continue, port);
        }
    }

    /// Decides what a client without a transaction does next; true when it has begun one and can
    /// continue at once.
    fn begin_next<P: Port>(&mut self, now: Nanos, client: usize, port: &mut P) -> bool {
        if self.is_winding_down() || self.has_reached_its_quota(client) {
            self.tear_down(now, client, port);
            return false;
        }
        if self.clients[client].moving_to.is_some() {
            if self.clients[client].is_movable() {
                self.clients[client].enter(State::Moving);
                port.release(client);
                return false;
            }
            self.clients[client].moving_to = None;
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

    /// Whether a client is active in the current stage.
    fn is_active(&self, now: Nanos, client: usize) -> bool {
        self.timeline.as_ref().is_some_and(|timeline| {
            now >= timeline.start()
                && self.global_id(client)
                    < u64::from(timeline.active_clients(now, self.plan.clients))
        })
    }

    fn has_reached_its_quota(&self, client: usize) -> bool {
        matches!(self.plan.arrivals, Arrivals::Closed { .. })
            && self
                .plan
                .transactions_per_client
                .is_some_and(|quota| self.clients[client].measured >= quota)
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

    pub(super) fn is_measured(&self, due: Nanos) -> bool {
        self.timeline.as_ref().is_some_and(|timeline| timeline.phase(due) == Phase::Measure)
    }

    /// Begins a transaction; false when the client has to connect first.
    pub(super) fn begin<P: Port>(
        &mut self,
        now: Nanos,
        client: usize,
        number: u64,
        due: Nanos,
        port: &mut P,
    ) -> bool {
        let measured = self.is_measured(due);
        let who = if self.pending.is_some() { NO_CLIENT } else { self.global_id(client) };
        let script = self.choose_script(who, number);
        let chance = Stream::keyed(self.plan.seed, Purpose::Script, who, number);
        self.note_first_begin(client, script);
        if measured {
            self.tally.counters.started += 1;
            self.tally.counters.in_flight += 1;
        }
        let own = &mut self.clients[client];
        own.begun += 1;
        own.measured += u64::from(measured);
        own.session.begin(script, chance);
        own.timings.clear();
        own.forget_last_try();
        own.error = None;
        let (sent, tries, try_began) = (None, 1, now);
        own.transaction =
            Some(Transaction { script, number, due, sent, tries, try_began, measured });
        if !own.is_connected() {
            self.connect(now, client, port);
        }
        self.clients[client].is_connected()
    }

    pub(super) fn choose_script(&self, who: u64, number: u64) -> usize {
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

    /// Runs a client, through as many transactions as need no wait.
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
        while self.begin_next(now, client, port) {
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
                Ok(Step::Request(connection, request @ Request::CopyRows { .. })) => {
                    port.send(client, connection, &request);
                    return false;
                }
                Ok(Step::Request(connection, request)) => {
                    port.send(client, connection, &request);
                    let statement = request.statement();
                    // Lua's statements are not known before the run.
                    let known = self.block_words.get(statement.0 as usize).copied();
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
                    let asked = Asked { statement, sent: now, words, copy };
                    let flow = request.flow();
                    own.using = connection;
                    if self.request_sent(client, asked, flow) {
                        return false;
                    }
                }
                Ok(Step::Sleep(pause)) => {
                    own.enter(State::Sleeping);
                    self.timers.set(now + pause, client, own.generation);
                    return false;
                }
                Ok(Step::Shell { command, output }) => {
                    let command = command.to_owned();
                    own.enter(State::InShell);
                    let ticket = own.generation;
                    port.shell(ShellCall { client, ticket, command, output });
                    return false;
                }
                Ok(Step::Restart) => {
                    if !self.restart_transaction(now, client, port) {
                        return true;
                    }
                }
                Ok(Step::Connect { connection, server }) => {
                    self.connect_for_script(now, client, (connection, server), port);
                    return false;
                }
                Ok(Step::Disconnect(connection)) => self.disconnect(client, connection, port),
                Ok(Step::Done) => return self.script_ended(now, client, port),
                Ok(Step::Stop { is_over }) => {
                    if !is_over {
                        self.cut_off(now, client);
                    }
                    self.script_ended(now, client, port);
                    self.tear_down(now, client, port);
                    return false;
                }
                Err(fault) => return self.script_failed(now, client, fault, port),
            }
            input = Resume::Continue;
        }
    }

    /// A request was sent; true when the script waits for its answer.
    fn request_sent(&mut self, client: usize, asked: Asked, flow: Flow) -> bool {
        let own = &mut self.clients[client];
        own.outstanding.push_back(asked);
        if let Some(transaction) = &mut own.transaction {
            transaction.sent.get_or_insert(asked.sent);
        }
        let waits = flow == Flow::Wait;
        if waits {
            self.tally.round_trips += 1;
            own.state = State::AwaitingReply;
        }
        waits
    }

    pub(super) fn replied<P: Port>(
        &mut self,
        now: Nanos,
        client: usize,
        reply: &Reply<'_>,
        port: &mut P,
    ) {
        // MySQL's errors do not say, and a procedure that failed may have begun one.
        let is_unknown = reply.error.is_some() && self.plan.endpoint.protocol == Protocol::Mysql;
        let own = &mut self.clients[client];
        let using = own.using;
        own.connection_mut(using).in_transaction = reply.in_transaction || is_unknown;
        match self.clients[client].state {
            State::AwaitingReply => {
                self.part_answered(now, client, reply, Flow::Wait);
                let own = &self.clients[client];
                if own.error.is_none() || own.session.handles_own_errors() {
                    self.run(now, client, Resume::Reply(reply), port);
                } else {
                    self.end_failed_try(now, client, port);
                }
            }
            State::RollingBack { retry } => self.rolled_back(now, client, retry, port),
            State::Cancelling => self.finish(client, port),
            _ => {}
        }
    }

    /// The server wants rows of the client's COPY.
    pub(super) fn rows_wanted<P: Port>(&mut self, now: Nanos, client: usize, port: &mut P) {
        match self.clients[client].state {
            State::AwaitingReply => self.run(now, client, Resume::RowsWanted, port),
            State::Cancelling => {
                // A server that waits for rows does not look for cancellations.
                let using = self.clients[client].using;
                let (statement, reason) = (StatementId::UNCOUNTED, "the run is over");
                port.send(client, using, &Request::CopyFail { statement, reason });
            }
            _ => {}
        }
    }

    /// One statement is answered: the last one that the script waits for, or a queued one.
    pub(super) fn part_answered(
        &mut self,
        now: Nanos,
        client: usize,
        reply: &Reply<'_>,
        flow: Flow,
    ) {
        let own = &mut self.clients[client];
        let Some(asked) = own.outstanding.pop_front() else { return };
        let Asked { statement, sent, words, copy } = asked;
        own.note_block(words, reply, flow);
        if let Some(error) = reply.error {
            // In a pipeline the first error is the cause; a script that handles its own errors
            // sends further requests.
            if own.error.is_none() || own.session.handles_own_errors() {
                own.error = Some(error.clone());
                own.failing = statement;
            }
            return;
        }
        own.timings.push((statement, now - sent));
        if let Some(direction) = copy {
            own.copied.add(direction, reply);
        }
        let counts = own.transaction.is_some_and(|transaction| transaction.measured)
            || self.timeline.as_ref().is_some_and(|line| line.phase(now) == Phase::Warmup);
        if counts {
            self.tally.record_statement(statement, now - sent, reply.rows_touched);
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
        let waits = self.clients[client].state == State::InShell;
        if waits && self.clients[client].generation == ticket {
            self.run(now, client, Resume::Shell(output), port);
        }
    }
}
