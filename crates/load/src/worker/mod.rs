//! One thread's share of the load: its clients, its part of the schedule, its tally.
//!
//! The worker is given events with their times ([`Worker::on`]), and requests actions through its
//! [`Port`]. It holds no socket and reads no clock. `port` defines its inputs and outputs,
//! `connecting` makes and remakes connections, `arrivals` decides what is due, `running` executes
//! transactions, `lifecycle` the scripts' setup and teardown, `outcome` ends and counts
//! transactions, `hopeless` detects scripts that can never work, `ending` ends the run, `intervals`
//! closes intervals, `activity` samples what the clients are doing, `prefetch` prefetches what
//! their turns will need, `moving` moves them to other threads.

mod activity;
mod arrivals;
mod connecting;
mod ending;
mod hopeless;
mod intervals;
mod lifecycle;
mod moving;
mod outcome;
mod port;
mod prefetch;
mod running;

use crate::client::{Client, State};
use crate::timers::Timers;
use crate::{Phase, Schedule, ScriptViability, Timeline};
use activity::SampleTimes;
use arrivals::Pending;
use dbdyno_hist::{Activity, Latencies, Shape, Tally};
use dbdyno_model::{Arrivals, BlockWords, Flow, Nanos, Plan, ServerError, server_of};
use dbdyno_script::Fault;
use ending::Ending;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64};

pub use connecting::WAITED_BESIDE_OTHERS;
pub use intervals::ClosedInterval;
pub use port::{Event, HopelessScript, Outage, OutageEvent, Port, Settings, ShellCall};

/// One thread's share of the load.
pub struct Worker {
    plan: Arc<Plan>,
    thread: u32,
    shape: Shape,
    block_words: Arc<[BlockWords]>,
    total_weight: u64,
    clients: Vec<Client>,
    /// Indexes in it whose clients have moved to another thread.
    vacant: Vec<usize>,
    timeline: Option<Timeline>,
    next_activation: Nanos,
    timers: Timers,
    pending: Option<Pending>,
    /// Clients of an open loop that wait for an arrival, longest first.
    idle: VecDeque<usize>,
    connect_queue: VecDeque<usize>,
    connects_in_flight: usize,
    /// Clients that are not finished.
    clients_left: usize,
    clients_left_in_all: Arc<AtomicU32>,
    tally: Tally,
    spare: Option<Box<Tally>>,
    interval_begin: Nanos,
    interval_end: Nanos,
    closed: Vec<ClosedInterval>,
    /// When the clients are sampled, if at all.
    sample_times: Option<SampleTimes>,
    /// Samples that have not been taken, in the order of time.
    activities: Vec<Activity>,
    responses: Latencies,
    /// When the server was last heard from.
    last_heard: Nanos,
    last_heard_by_all: Arc<AtomicU64>,
    viability: Arc<ScriptViability>,
    /// When last no answer was awaited.
    last_unasked: Nanos,
    ending: Option<Ending>,
    last_end: Nanos,
    unfinished_ages: Vec<Nanos>,
    outage: Option<Outage>,
    outage_events: Vec<OutageEvent>,
    last_reached_by_all: Arc<AtomicU64>,
    faults: Vec<(u64, Fault)>,
    hopeless: Option<HopelessScript>,
    fatal: Option<ServerError>,
    stalled: Option<String>,
    /// Why the last connect failed, if none has succeeded since.
    connect_error: Option<String>,
}

impl Worker {
    /// A worker with no client connected yet.
    pub fn new(settings: Settings) -> Self {
        let Settings {
            plan,
            thread,
            shape,
            block_words,
            sessions,
            last_heard_by_all,
            last_reached_by_all,
            clients_left_in_all,
            viability,
        } = settings;
        let ids = (u64::from(thread)..).step_by(plan.threads.max(1) as usize);
        let servers = plan.endpoint.servers();
        let client = |(id, session)| Client::new(id, server_of(servers, id, 0), session);
        let clients = ids.zip(sessions).map(client).collect();
        Self {
            total_weight: plan.scripts.iter().map(|script| u64::from(script.weight)).sum(),
            plan,
            thread,
            shape,
            block_words,
            clients,
            vacant: Vec::new(),
            timeline: None,
            next_activation: Nanos::MAX,
            timers: Timers::default(),
            pending: None,
            idle: VecDeque::new(),
            connect_queue: VecDeque::new(),
            connects_in_flight: 0,
            clients_left: 0,
            clients_left_in_all,
            tally: Tally::new(shape),
            spare: None,
            interval_begin: Nanos::ZERO,
            interval_end: Nanos::MAX,
            closed: Vec::new(),
            sample_times: None,
            activities: Vec::new(),
            responses: Latencies::default(),
            last_heard: Nanos::ZERO,
            last_heard_by_all,
            viability,
            last_unasked: Nanos::ZERO,
            ending: None,
            last_end: Nanos::ZERO,
            unfinished_ages: Vec::new(),
            outage: None,
            outage_events: Vec::new(),
            last_reached_by_all,
            faults: Vec::new(),
            hopeless: None,
            fatal: None,
            stalled: None,
            connect_error: None,
        }
    }

    /// Starts to connect the clients.
    pub fn connect_all<P: Port>(&mut self, now: Nanos, port: &mut P) {
        self.clients_left = self.clients.len();
        self.connect_queue.extend(0..self.clients.len());
        self.connect_from_queue(now, port);
    }

    /// The number of its clients.
    pub fn clients(&self) -> usize {
        self.clients.len()
    }

    /// Whether every client is connected and its script is set up, or wants to run nothing.
    pub fn is_connected(&self) -> bool {
        let is_ready = |client: &Client| client.is_set_up() || client.state == State::Finished;
        self.fatal.is_none() && self.clients.iter().all(is_ready)
    }

    /// Removes the connect times so far from the tally.
    pub fn take_connects(&mut self) -> Latencies {
        std::mem::take(&mut self.tally.connects)
    }

    /// Sets the timeline; the load begins at its start.
    pub fn start(&mut self, timeline: Timeline) {
        self.interval_begin = timeline.start();
        self.interval_end = timeline.interval_end(timeline.start());
        self.next_activation = timeline.start();
        self.last_unasked = timeline.start();
        self.sample_times = self
            .plan
            .activity_interval_ns
            .map(|interval| SampleTimes::new(timeline.start(), interval));
        if let Arrivals::Open { law } = self.plan.arrivals {
            let schedule = Schedule::new(self.plan.seed, law, &timeline);
            self.pending = Some(Pending::new(schedule));
        }
        self.timeline = Some(timeline);
        self.draw_upcoming();
    }

    /// Handles an event that happened at `now`.
    pub fn on<P: Port>(&mut self, now: Nanos, event: Event<'_>, port: &mut P) {
        // First of all: after a standstill of the machine the replies that arrived meanwhile are
        // there, and the server was not silent for that long.
        if event.is_from_server() {
            self.last_heard = now;
        }
        if now >= self.next_wake() {
            self.wake(now, port);
        }
        match event {
            Event::Wake => {}
            Event::Reply { client, reply } => self.replied(now, client, &reply, port),
            Event::RowsWanted { client } => self.rows_wanted(now, client, port),
            Event::Part { client, reply } => self.part_answered(now, client, &reply, Flow::Queue),
            Event::Connected { client, backend } => {
                self.connected(now, client, backend, port);
            }
            Event::ConnectFailed { client, error, busy } => {
                self.connect_failed(now, client, error, busy, port);
            }
            Event::Lost { client, connection, error } => {
                self.lost(now, client, connection, error, port);
            }
            Event::Shell { client, ticket, output } => {
                self.shell_ended(now, client, ticket, output, port);
            }
            Event::Stop { at } => self.stop(now, at, port),
        }
        self.dispatch(now, port);
    }

    /// When the worker has to be woken, at the latest.
    pub fn next_wake(&self) -> Nanos {
        let measure_end = match (&self.timeline, &self.ending) {
            (Some(timeline), None) => timeline.measure_end(),
            _ => Nanos::MAX,
        };
        self.interval_end
            .min(self.timers.next())
            .min(self.next_activation)
            .min(self.next_sample())
            .min(measure_end)
            .min(self.next_ending_wake())
            .min(self.next_arrival())
    }

    fn wake<P: Port>(&mut self, now: Nanos, port: &mut P) {
        self.sample_clients(now);
        while self.interval_end <= now {
            self.close_interval(self.interval_end);
            self.detect_stall(now, port);
        }
        if self.has_arrivals_left() {
            self.end_without_clients(); // those of the other workers may have ended meanwhile
        }
        if self.ending.is_none()
            && self.timeline.as_ref().is_some_and(|line| line.phase(now) == Phase::Drain)
        {
            self.begin_ending(now, port);
        }
        while let Some((_, client, generation)) = self.timers.take_due(now) {
            if self.clients[client].generation == generation {
                self.alarm(now, client, port);
            }
        }
        if self.next_activation <= now {
            self.activate(now, port);
        }
        self.continue_ending(now, port);
    }

    /// A client's alarm: the pause of its state is over.
    fn alarm<P: Port>(&mut self, now: Nanos, client: usize, port: &mut P) {
        match self.clients[client].state {
            State::Unconnected => {
                self.connect_queue.push_back(client);
                self.connect_from_queue(now, port);
            }
            State::Connecting(_) => self.connect_timed_out(now, client, port),
            State::Thinking | State::Yielding => self.ready(now, client, port),
            State::Sleeping => self.run(now, client, dbdyno_script::Resume::Continue, port),
            _ => {}
        }
    }

    /// The number of a client over the whole run.
    fn global_id(&self, client: usize) -> u64 {
        self.clients[client].id
    }

    /// Counts bytes sent and received.
    pub fn count_bytes(&mut self, sent: u64, received: u64) {
        self.tally.bytes_sent += sent;
        self.tally.bytes_received += received;
    }

    /// An error before the load began, which makes the run impossible.
    pub fn fatal(&self) -> Option<&ServerError> {
        self.fatal.as_ref()
    }

    /// How the server stopped answering, if it did.
    pub fn stalled(&self) -> Option<&str> {
        self.stalled.as_deref()
    }

    /// Clients whose scripts failed: (client over the whole run, error).
    pub fn faults(&self) -> &[(u64, Fault)] {
        &self.faults
    }

    /// Ages, at the end of the grace period, of the measured transactions that were cut off.
    pub fn unfinished_ages(&self) -> &[Nanos] {
        &self.unfinished_ages
    }

    /// New outage events; at the run's end, also an outage that is not over.
    pub fn take_outage_events(&mut self) -> Vec<OutageEvent> {
        if self.is_over() {
            self.outage_events.extend(self.outage.take().map(OutageEvent::Closed));
        }
        std::mem::take(&mut self.outage_events)
    }

    /// When the last measured transaction ended.
    pub fn last_end(&self) -> Nanos {
        self.last_end
    }

    /// Whether a client needs no connection any more, because the end has begun.
    pub fn has_ended(&self, client: usize) -> bool {
        self.ending.is_some() && self.clients[client].state == State::Finished
    }

    /// Whether nothing is left to do.
    pub fn is_over(&self) -> bool {
        matches!(self.ending, Some(Ending::Over))
    }
}
