//! One thread's share of the load: its clients, its part of the schedule, its tally.
//!
//! The worker is given events with their times ([`Worker::on`]), and requests actions through its
//! [`Port`]. It holds no socket and reads no clock. It composes parts that know nothing of each
//! other, and decides in what order they are asked; what one client does is its [`Turn`].

mod connecting;
mod outcome;
mod turn;

use crate::arrivals::{Arrivals, NO_CLIENT};
use crate::choice::Choices;
use crate::client::Client;
use crate::clients::Clients;
use crate::connector::{Connector, Outage, OutageEvent};
use crate::deferral::{Deferral, Deferred};
use crate::ending::{Due, Ending, GRACE_SHORTEST, Silence};
use crate::intervals::{ClosedInterval, Intervals};
use crate::sampler::Sampler;
use crate::state::{Input, State, Then};
use crate::timers::Timers;
use crate::{
    EndReport, Event, HopelessScript, Phase, Port, RunShared, Schedule, Settings, Timeline,
};
use dbdyno_hist::{Activity, Ended, Fate, Latencies, Tally};
use dbdyno_model::{self as model, BlockWords, Flow, Nanos, Plan, Reports, prefetch, server_of};
use dbdyno_script::Resume;
use std::sync::Arc;
use turn::Turn;

/// One thread's share of the load.
pub struct Worker {
    plan: Arc<Plan>,
    thread: u32,
    block_words: Arc<[BlockWords]>,
    choices: Choices,
    /// Whether scripts have pauses of their own.
    is_paced: bool,
    shared: Arc<RunShared>,
    clients: Clients,
    timers: Timers,
    timeline: Option<Timeline>,
    /// When the load really began, once it has, until it is taken.
    begun: Option<Nanos>,
    /// When the next stage begins.
    next_activation: Nanos,
    connector: Connector,
    arrivals: Arrivals,
    deferral: Deferral,
    intervals: Intervals,
    sampler: Sampler,
    silence: Silence,
    ending: Ending,
    /// Of all measured transactions that succeeded.
    responses: Latencies,
    hopeless: Option<HopelessScript>,
    /// As far as it is known.
    end_report: EndReport,
}

impl Worker {
    /// A worker with no client connected yet.
    pub fn new(settings: Settings) -> Self {
        let Settings { plan, thread, shape, block_words, executions, shared } = settings;
        let ids = plan.clients_of(thread).map(u64::from);
        let servers = plan.endpoint.servers();
        let client = |(id, execution)| Client::new(id, server_of(servers, id, 0), execution);
        Self {
            choices: Choices::new(&plan),
            is_paced: plan.scripts.iter().any(|script| script.pacing.is_some()),
            clients: Clients::new(ids.zip(executions).map(client).collect()),
            timers: Timers::default(),
            timeline: None,
            begun: None,
            next_activation: Nanos::MAX,
            connector: Connector::default(),
            arrivals: Arrivals::new(&plan, thread),
            deferral: Deferral::default(),
            intervals: Intervals::new(shape),
            sampler: Sampler::default(),
            silence: Silence::default(),
            ending: Ending::default(),
            responses: Latencies::default(),
            hopeless: None,
            end_report: EndReport::default(),
            plan,
            thread,
            block_words,
            shared,
        }
    }

    /// Starts to connect the clients.
    pub fn connect_all<P: Port>(&mut self, now: Nanos, port: &mut P) {
        self.connector.enqueue(0..self.clients.len());
        self.connect_from_queue(now, port);
    }

    /// Sets the timeline; the load begins at its start.
    pub fn start(&mut self, timeline: Timeline) {
        self.intervals.start(&timeline);
        self.intervals.tally.servers.clear(); // the connects before are no part of the load
        self.next_activation = timeline.start();
        self.silence.last_unasked = timeline.start();
        self.sampler.start(timeline.start(), self.plan.activity_interval_ns);
        if let model::Arrivals::Open { law } = self.plan.arrivals {
            let schedule = Schedule::new(self.plan.seed, law, &timeline);
            self.arrivals.start(schedule, &timeline);
        }
        self.timeline = Some(timeline);
    }

    /// Handles an event that happened at `now`.
    pub fn on<P: Port>(&mut self, now: Nanos, event: Event<'_>, port: &mut P) {
        // First of all: after a standstill of the machine the replies that arrived meanwhile are
        // there, and the server was not silent for that long.
        if event.is_from_server() {
            self.silence.last_heard = now;
        }
        if now >= self.next_wake() {
            self.wake(now, port);
        }
        match event {
            Event::Wake => {}
            Event::Reply { client, reply } => self.turn(now, client, port).replied(&reply),
            Event::RowsWanted { client } => self.turn(now, client, port).rows_wanted(),
            Event::Part { client, reply } => {
                self.turn(now, client, port).part_answered(&reply, Flow::Queue);
            }
            Event::Connected { client, backend } => self.turn(now, client, port).connected(backend),
            Event::ConnectFailed { client, error, busy } => {
                self.turn(now, client, port).connect_failed(error, busy);
            }
            Event::Lost { client, connection, error } => {
                self.turn(now, client, port).lost(connection, error);
            }
            Event::Shell { client, ticket, output } => {
                self.turn(now, client, port).shell_ended(ticket, output);
            }
            Event::Stop { at } => self.stop(now, at, port),
            Event::Abandon => self.abandon(now, port),
        }
        self.dispatch(now, port);
    }

    #[inline]
    fn turn<'a, P: Port>(&'a mut self, now: Nanos, client: usize, port: &'a mut P) -> Turn<'a, P> {
        Turn { worker: self, port, now, client }
    }

    /// When the worker has to be woken, at the latest.
    pub fn next_wake(&self) -> Nanos {
        let measure_end = match &self.timeline {
            Some(timeline) if !self.ending.has_begun() => timeline.measure_end(),
            _ => Nanos::MAX,
        };
        let next_arrival =
            if self.is_winding_down() { Nanos::MAX } else { self.arrivals.next_due() };
        self.intervals
            .end()
            .min(self.timers.next())
            .min(self.next_activation)
            .min(self.sampler.next())
            .min(measure_end)
            .min(self.ending.next_wake())
            .min(next_arrival)
    }

    fn wake<P: Port>(&mut self, now: Nanos, port: &mut P) {
        self.sampler.sample(now, &self.clients);
        while self.intervals.end() <= now {
            self.close_interval(self.intervals.end());
            self.detect_stall(now, port);
        }
        if self.arrivals.are_left() {
            self.end_without_clients(); // those of the other workers may have ended meanwhile
        }
        if !self.ending.has_begun() && self.is_in(Phase::Drain, now) {
            self.begin_ending(now, port);
        }
        while let Some((_, client, generation)) = self.timers.take_due(now) {
            if self.clients[client].generation == generation {
                self.turn(now, client, port).pause_over();
            }
        }
        if self.next_activation <= now {
            self.activate(now, port);
        }
        match self.ending.due(now) {
            Some(Due::Cancel) => self.cancel_all(now, port),
            Some(Due::GiveUp) => {
                self.end_report.stalled = Some("did not answer a cancellation".into());
                self.finish_all(now, port);
            }
            None => {}
        }
    }

    /// A stage begins: clients that were inactive may become active now.
    fn activate<P: Port>(&mut self, now: Nanos, port: &mut P) {
        let Some(timeline) = &self.timeline else { return };
        let is_first = self.next_activation == timeline.start();
        self.next_activation = timeline.next_stage(now);
        self.arrivals.forget_all_idle();
        self.deferral.forget_all_idle();
        for client in 0..self.clients.len() {
            if matches!(self.clients[client].state, State::Idle { .. }) {
                self.clients[client].enter(Input::StageBegins);
                self.turn(now, client, port).go_on();
            }
        }
        if is_first {
            self.begun = Some(now);
            self.shared.viability().worker_begun();
        }
    }

    /// Assigns due arrivals to idle clients, and what was deferred to idle executors.
    fn dispatch<P: Port>(&mut self, now: Nanos, port: &mut P) {
        if self.is_winding_down() {
            return;
        }
        self.dispatch_deferred(now, port);
        if !self.arrivals.is_open_loop() {
            return;
        }
        self.take_arrivals(now);
        while let Some(client) = self.arrivals.first_idle() {
            let Some((number, due)) = self.next_waiting(now) else { break };
            self.arrivals.take_idle();
            if let State::Idle { since } = self.clients[client].state {
                self.intervals.tally.lateness.record(now - due.max(since));
            }
            let mut turn = self.turn(now, client, port);
            if turn.begin(NO_CLIENT, (number, due)) == Then::GoOn {
                turn.run(Resume::Continue);
            }
        }
        // A run with a fixed number of transactions is over when the last arrival has been served.
        let is_exhausted = self.plan.transactions_per_client.is_some() && !self.arrivals.are_left();
        while is_exhausted && let Some(client) = self.arrivals.take_idle() {
            self.turn(now, client, port).end();
        }
    }

    fn dispatch_deferred<P: Port>(&mut self, now: Nanos, port: &mut P) {
        while let Some((Deferred { who, number, due }, executor)) = self.deferral.take() {
            let measured = u64::from(self.is_measured(due));
            self.intervals.tally.counters.waiting -= measured;
            let mut turn = self.turn(now, executor, port);
            if turn.begin(who, (number, due)) == Then::GoOn {
                turn.run(Resume::Continue);
            }
        }
        // With a fixed number of transactions, executors are done when all others are.
        if self.plan.transactions_per_client.is_some()
            && self.deferral.is_idle()
            && self.clients.iter().all(|one| self.is_executor(one) || one.state.is_finished())
        {
            while let Some(executor) = self.deferral.take_idle() {
                self.turn(now, executor, port).end();
            }
        }
    }

    /// Whether this transaction of a client is left to an executor.
    fn is_deferred(&self, who: u64, number: u64) -> bool {
        let script = || &self.plan.scripts[self.choices.script(who, number)];
        self.plan.executors > 0 && script().is_deferred
    }

    /// Whether the client only executes what others defer.
    fn is_executor(&self, client: &Client) -> bool {
        client.id >= u64::from(self.plan.clients - self.plan.executors)
    }

    fn take_arrivals(&mut self, now: Nanos) {
        let Some(timeline) = &self.timeline else { return };
        self.arrivals.take_due(now, timeline, &mut self.intervals.tally.counters);
    }

    /// The next arrival that a client is to serve; those that are too old are skipped.
    fn next_waiting(&mut self, now: Nanos) -> Option<(u64, Nanos)> {
        let (timeline, tally) = (self.timeline.as_ref()?, &mut self.intervals.tally);
        let (choices, is_reported) = (&self.choices, self.plan.reports == Reports::Transactions);
        let mut skipped = Vec::new();
        let next =
            self.arrivals.next_waiting(now, timeline, &mut tally.counters, |(number, due)| {
                let script = choices.script(NO_CLIENT, number);
                tally.scripts[script].skipped += 1;
                if is_reported {
                    skipped.push((script, due));
                }
            });
        for (script, due) in skipped {
            let fate = Fate::Skipped;
            let ended = Ended { client: None, script, fate, tries: 1, due, sent: due, done: now };
            tally.report(&ended);
        }
        next
    }

    /// Ends the run at `at`, unless it ends before.
    fn stop<P: Port>(&mut self, now: Nanos, at: Nanos, port: &mut P) {
        if let Some(timeline) = &mut self.timeline {
            timeline.stop_at(at);
            self.intervals.adapt(timeline);
        } else if !self.ending.has_begun() {
            self.begin_ending(now, port);
        }
    }

    /// Nobody wants to know how what is in flight ends.
    fn abandon<P: Port>(&mut self, now: Nanos, port: &mut P) {
        self.stop(now, now, port);
        if self.timeline.is_some() && !self.ending.has_begun() {
            self.begin_ending(now, port);
        }
        self.ending.end_grace(now);
    }

    fn begin_ending<P: Port>(&mut self, now: Nanos, port: &mut P) {
        self.take_arrivals(now);
        self.ending.begin(now, &self.responses);
        // An outage that has only just begun may end in time.
        let is_out = |outage: &Outage| now - outage.begin >= GRACE_SHORTEST;
        if self.connector.outage().is_some_and(is_out)
            && self.clients.iter().all(|client| !client.is_connected())
        {
            let why = "closed its connections and accepted no new ones";
            self.end_report.stalled = Some(why.into());
        }
        for client in 0..self.clients.len() {
            let state = &self.clients[client].state;
            if state.transaction().is_none() && !state.awaits_server() {
                self.turn(now, client, port).end();
            }
        }
        if !self.clients.are_left() {
            self.ending = Ending::Over; // the last ones have moved to other threads
        }
    }

    fn cancel_all<P: Port>(&mut self, now: Nanos, port: &mut P) {
        for client in 0..self.clients.len() {
            let mut turn = self.turn(now, client, port);
            turn.cut_off();
            let own = turn.own();
            if own.state.awaits_server() {
                own.enter(Input::Cancels);
                let using = own.using;
                port.cancel(client, using);
            } else {
                turn.finish();
            }
        }
    }

    /// If no worker received anything for the stall limit, though answers were awaited, the server
    /// has stopped for good.
    fn detect_stall<P: Port>(&mut self, now: Nanos, port: &mut P) {
        let waits =
            |client: &Client| client.state.awaits_server() || client.state.awaits_connection();
        if !self.clients.iter().any(waits) {
            self.silence.last_unasked = now;
        }
        let silent_since = self.silence.since(self.shared.heard(self.silence.last_heard));
        if !self.ending.has_begun() && now - silent_since >= self.plan.stall_limit_ns {
            self.end_report.stalled = Some(match self.connector.latest_error() {
                None => "stopped answering".into(),
                Some(why) => format!("stopped answering; new connections failed: {why}"),
            });
            self.take_arrivals(now);
            (0..self.clients.len()).for_each(|client| self.turn(now, client, port).cut_off());
            self.finish_all(now, port);
        }
    }

    /// A worker whose clients have all ended is over, but not while other workers of an open loop
    /// have clients: its own arrivals still become due, and are counted as waiting.
    fn end_without_clients(&mut self) {
        let stays =
            self.shared.has_clients_left() && self.arrivals.are_left() && !self.is_winding_down();
        if !self.clients.are_left() && !stays {
            self.ending = Ending::Over;
        }
    }

    fn finish_all<P: Port>(&mut self, now: Nanos, port: &mut P) {
        (0..self.clients.len()).for_each(|client| self.turn(now, client, port).finish());
        self.ending = Ending::Over;
    }

    /// Whether clients begin no further transaction.
    fn is_winding_down(&self) -> bool {
        self.ending.has_begun() || self.hopeless.is_some()
    }

    /// Whether an instant is in a phase of the run.
    #[inline]
    fn is_in(&self, phase: Phase, at: Nanos) -> bool {
        self.timeline.as_ref().is_some_and(|timeline| timeline.phase(at) == phase)
    }

    /// Whether what is due then counts.
    #[inline]
    fn is_measured(&self, due: Nanos) -> bool {
        self.is_in(Phase::Measure, due)
    }

    fn count_due(&mut self, due: Nanos) {
        self.intervals.tally.counters.due += u64::from(self.is_measured(due));
    }

    fn close_interval(&mut self, end: Nanos) {
        // Part of a long answer counts, too; logins that fail do not, whatever they exchange.
        let has_received = self.intervals.tally.bytes_received > 0;
        if has_received && self.clients.iter().any(Client::is_connected) {
            self.silence.last_heard = self.silence.last_heard.max(end);
        }
        if !self.ending.has_begun() {
            // An arrival exactly on the boundary belongs to the next interval.
            self.take_arrivals(end - Nanos(1));
        }
        if let Some(timeline) = &self.timeline {
            self.intervals.close(end, timeline);
        }
    }
}

/// What the engine asks of a worker, and tells it.
impl Worker {
    /// The number of its clients.
    pub fn clients(&self) -> usize {
        self.clients.len()
    }

    /// Whether every client is connected and its script is set up, or wants to run nothing.
    pub fn is_connected(&self) -> bool {
        let is_ready = |client: &Client| client.is_set_up() || client.state.is_finished();
        self.end_report.fatal.is_none() && self.clients.iter().all(is_ready)
    }

    /// Removes the connect times so far from the tally.
    pub fn take_connects(&mut self) -> Latencies {
        std::mem::take(&mut self.intervals.tally.connects)
    }

    /// Counts bytes sent and received.
    pub fn count_bytes(&mut self, sent: u64, received: u64) {
        let tally = &mut self.intervals.tally;
        tally.bytes_sent += sent;
        tally.bytes_received += received;
    }

    /// The intervals closed since the last call.
    pub fn take_closed(&mut self) -> Vec<ClosedInterval> {
        self.intervals.take_closed()
    }

    /// Returns a tally's memory for reuse.
    pub fn reuse_tally(&mut self, tally: Box<Tally>) {
        self.intervals.reuse(tally);
    }

    /// Closes the last interval; the worker is over and counts nothing more.
    pub fn close_last(&mut self, now: Nanos) {
        self.close_interval(now.max(self.intervals.begin()));
    }

    /// The samples of the last second, once it is over or the worker is; until then none.
    pub fn take_activities(&mut self) -> Vec<Activity> {
        self.sampler.take(self.ending.is_over())
    }

    /// When the first clients were let go, once: the beginning, or later if the thread was late.
    pub fn take_begun(&mut self) -> Option<Nanos> {
        self.begun.take()
    }

    /// New outage events; at the run's end, also an outage that is not over.
    pub fn take_outage_events(&mut self) -> Vec<OutageEvent> {
        self.connector.take_outage_events(self.ending.is_over())
    }

    /// A script that can never work, if there is one.
    pub fn hopeless(&self) -> Option<&HopelessScript> {
        self.hopeless.as_ref()
    }

    /// What it has to say at its end, as far as it is known.
    pub fn end_report(&self) -> &EndReport {
        &self.end_report
    }

    /// Whether a client needs no connection any more, because the end has begun.
    pub fn has_ended(&self, client: usize) -> bool {
        self.ending.has_begun() && self.clients[client].state.is_finished()
    }

    /// Whether nothing is left to do, or an error has made the run impossible.
    pub fn is_over(&self) -> bool {
        self.ending.is_over() || self.end_report.fatal.is_some()
    }
}

/// Moves clients to other threads, between two transactions of a closed loop.
///
/// A client that is to move begins no further transaction: its connection is released, and client
/// and connection leave together.
impl Worker {
    /// The client of this number over the whole run is to move to another thread, if it is here.
    pub fn move_client(&mut self, id: u64, thread: u32) {
        // Each thread keeps its executors.
        let stays = id >= u64::from(self.plan.clients - self.plan.executors);
        let can_go = !self.ending.has_begun() && !stays;
        let own = self.clients.iter_mut().find(|client| client.id == id);
        if let Some(client) = own.filter(|client| can_go && client.is_movable()) {
            client.moving_to = (thread != self.thread).then_some(thread);
        }
    }

    /// Whether a client waits for its connection to be released.
    pub fn wants_to_move(&self, client: usize) -> bool {
        let own = &self.clients[client];
        matches!(own.state, State::Moving) && own.moving_to.is_some()
    }

    /// Removes a client whose connection has been released; also returns the thread it moves to.
    pub fn take_client(&mut self, client: usize) -> Option<(Client, u32)> {
        let thread = self.clients[client].moving_to.take()?;
        Some((self.clients.take(client), thread))
    }

    /// Adds a client from another thread; returns its number here.
    pub fn add_client(&mut self, client: Client) -> usize {
        self.clients.add(client)
    }

    /// The client goes on: it has been added, or its connection cannot be released after all.
    pub fn cancel_move<P: Port>(&mut self, now: Nanos, client: usize, port: &mut P) {
        self.turn(now, client, port).arrives();
    }
}

/// Prefetches what the next clients' turns will need, in steps: the address of a client's execution
/// is in the client, and that of its variables in the execution.
impl Worker {
    /// For a client whose turn comes soon.
    #[inline]
    pub fn prefetch_client(&self, client: usize) {
        prefetch(&self.clients[client]);
    }

    /// For the client after the next one.
    #[inline]
    pub fn prefetch_execution(&self, client: usize) {
        let client = &self.clients[client];
        prefetch(&*client.execution);
        prefetch(&client.timings[..]);
    }

    /// For the next client.
    #[inline]
    pub fn prefetch_variables(&self, client: usize) {
        self.clients[client].execution.prefetch();
    }
}
