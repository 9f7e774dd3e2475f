//! One thread's share of the load: its clients, its part of the schedule, its tally.
//!
//! The worker is told what happened and when ([`Worker::on`]), and says through its [`Port`]
//! what to do. It holds no socket and reads no clock. `connecting` makes and remakes
//! connections, `running` takes transactions through their scripts, `ending` stops the run,
//! `intervals` closes the books, `activity` looks at the clients now and then.

mod activity;
mod around;
mod connecting;
mod ending;
mod intervals;
mod running;

use crate::client::{Client, State};
use crate::timers::Timers;
use crate::{Phase, Schedule, Timeline};
use activity::Beat;
use dbdyno_hist::{Activity, Latencies, Shape, Tally};
use dbdyno_model::{Arrivals, Nanos, Plan, Reply, Request, ServerError, StatementId};
use dbdyno_script::{Fault, Session};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

pub use intervals::ClosedInterval;

/// What a worker wants done. Clients are numbered from 0 within the worker.
pub trait Port {
    /// Connect, log in and prepare; answered by `Connected` or `ConnectFailed`.
    fn connect(&mut self, client: usize);
    /// Close the connection; nothing of it is answered any more.
    fn close(&mut self, client: usize);
    /// Ask the server to cancel what the client waits for.
    fn cancel(&mut self, client: usize);
    /// Send a request.
    fn send(&mut self, client: usize, request: &Request<'_>);
    /// Run a command of the shell; answered by `Shell`.
    fn shell(&mut self, call: ShellCall);
}

/// A command of a script, for the shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellCall {
    /// Whose.
    pub client: usize,
    /// Which of the client's: a late end of one that is given up must not be taken for another's.
    pub ticket: u32,
    /// The command line.
    pub command: String,
    /// Whether its output is wanted.
    pub output: bool,
}

/// What happened.
#[derive(Debug)]
pub enum Event<'a> {
    /// Time passed.
    Wake,
    /// The client is connected, logged in, and its statements are prepared.
    Connected {
        /// Which client.
        client: usize,
        /// The server's process that serves it, or 0.
        backend: u32,
    },
    /// It could not be.
    ConnectFailed {
        /// Which client.
        client: usize,
        /// Why.
        error: &'a ServerError,
        /// Whether the server was merely too busy to take the connection.
        busy: bool,
    },
    /// The answer to what the script waits for.
    Reply {
        /// Which client.
        client: usize,
        /// The answer.
        reply: Reply<'a>,
    },
    /// The answer to a queued part of a pipeline.
    Part {
        /// Which client.
        client: usize,
        /// Its error, if it has one.
        error: Option<&'a ServerError>,
    },
    /// The connection is gone.
    Lost {
        /// Which client.
        client: usize,
        /// How.
        error: &'a ServerError,
    },
    /// The shell command ended.
    Shell {
        /// Which client.
        client: usize,
        /// The ticket of the call.
        ticket: u32,
        /// What it printed, or why it failed.
        output: Result<&'a str, &'a str>,
    },
    /// The run shall end earlier than planned.
    Stop {
        /// When: the same for all workers, and a little ahead, so that none has passed it.
        at: Nanos,
    },
}

/// A time without connections that were there before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outage {
    /// The first connection lost.
    pub begin: Nanos,
    /// The first one had again.
    pub end: Option<Nanos>,
    /// How many were lost.
    pub connections_lost: u64,
    /// The first loss's message.
    pub message: String,
}

/// What a worker is set up with.
pub struct Settings {
    /// The plan of the run.
    pub plan: Arc<Plan>,
    /// Which of the plan's threads this is, from 0.
    pub thread: u32,
    /// What there is to count.
    pub shape: Shape,
    /// The sessions of this thread's clients: client `i` here is client
    /// `thread + i · threads` of the run.
    pub sessions: Vec<Box<dyn Session>>,
    /// When any worker of the run last heard of the server, in nanoseconds: one client's long
    /// wait is no stall while others are answered.
    pub heard_by_all: Arc<AtomicU64>,
}

/// The schedule's arrivals that fall to this worker.
struct Pending {
    schedule: Schedule,
    /// The schedule's next arrival of ours, not due yet when last looked at.
    upcoming: Option<(u64, Nanos)>,
    /// Number of the run's first arrival after the warm-up, once it was drawn.
    first_measured: Option<u64>,
    /// Arrivals that are due and not begun.
    waiting: VecDeque<(u64, Nanos)>,
}

/// How the run ends.
enum Ending {
    /// Transactions under way may end until then.
    Grace(Nanos),
    /// The server was asked to cancel what still is under way; it may answer until then.
    Cancelling(Nanos),
    /// Nothing is awaited any more.
    Over,
}

/// One thread's share of the load.
pub struct Worker {
    plan: Arc<Plan>,
    thread: u32,
    shape: Shape,
    total_weight: u64,
    clients: Vec<Client>,
    timeline: Option<Timeline>,
    next_activation: Nanos,
    timers: Timers,
    pending: Option<Pending>,
    /// Clients of an open loop that wait for an arrival, longest first.
    idle: VecDeque<usize>,
    connect_queue: VecDeque<usize>,
    connects_under_way: usize,
    /// Clients that are not finished.
    clients_left: usize,
    tally: Tally,
    spare: Option<Box<Tally>>,
    interval_begin: Nanos,
    interval_end: Nanos,
    closed: Vec<ClosedInterval>,
    /// When the clients are to be looked at, if at all.
    beat: Option<Beat>,
    /// What was seen of them, until it is taken.
    activity: Option<Activity>,
    responses: Latencies,
    /// When the server last said something.
    heard: Nanos,
    heard_by_all: Arc<AtomicU64>,
    /// When it last was asked nothing.
    unasked: Nanos,
    ending: Option<Ending>,
    last_end: Nanos,
    unfinished_ages: Vec<Nanos>,
    outage: Option<Outage>,
    outages: Vec<Outage>,
    faults: Vec<(u64, Fault)>,
    fatal: Option<ServerError>,
    stalled: Option<&'static str>,
}

impl Worker {
    /// A worker with nothing connected yet.
    pub fn new(settings: Settings) -> Self {
        let Settings { plan, thread, shape, sessions, heard_by_all } = settings;
        Self {
            total_weight: plan.scripts.iter().map(|script| u64::from(script.weight)).sum(),
            plan,
            thread,
            shape,
            clients: sessions.into_iter().map(Client::new).collect(),
            timeline: None,
            next_activation: Nanos::MAX,
            timers: Timers::default(),
            pending: None,
            idle: VecDeque::new(),
            connect_queue: VecDeque::new(),
            connects_under_way: 0,
            clients_left: 0,
            tally: Tally::new(shape),
            spare: None,
            interval_begin: Nanos::ZERO,
            interval_end: Nanos::MAX,
            closed: Vec::new(),
            beat: None,
            activity: None,
            responses: Latencies::default(),
            heard: Nanos::ZERO,
            heard_by_all,
            unasked: Nanos::ZERO,
            ending: None,
            last_end: Nanos::ZERO,
            unfinished_ages: Vec::new(),
            outage: None,
            outages: Vec::new(),
            faults: Vec::new(),
            fatal: None,
            stalled: None,
        }
    }

    /// Begins to connect the clients.
    pub fn connect_all<P: Port>(&mut self, now: Nanos, port: &mut P) {
        self.clients_left = self.clients.len();
        self.connect_queue.extend(0..self.clients.len());
        self.connect_from_queue(now, port);
    }

    /// How many clients it has.
    pub fn clients(&self) -> usize {
        self.clients.len()
    }

    /// Whether every client has its first connection, and its script is ready to run.
    pub fn is_connected(&self) -> bool {
        self.clients.iter().all(Client::is_inside)
    }

    /// Times of the connects so far, taken out of the tally.
    pub fn take_connects(&mut self) -> Latencies {
        std::mem::take(&mut self.tally.connects)
    }

    /// Sets the time of the load, which begins at the timeline's start.
    pub fn start(&mut self, timeline: Timeline) {
        self.interval_begin = timeline.start();
        self.interval_end = timeline.interval_end(timeline.start());
        self.next_activation = timeline.start();
        self.unasked = timeline.start();
        self.beat =
            self.plan.activity_interval_ns.map(|interval| Beat::new(timeline.start(), interval));
        if let Arrivals::Open { law } = self.plan.arrivals {
            let schedule = Schedule::new(self.plan.seed, law, &timeline);
            self.pending = Some(Pending {
                schedule,
                upcoming: None,
                first_measured: None,
                waiting: VecDeque::new(),
            });
        }
        self.timeline = Some(timeline);
        self.draw_upcoming();
    }

    /// Something happened at `now`.
    pub fn on<P: Port>(&mut self, now: Nanos, event: Event<'_>, port: &mut P) {
        if now >= self.next_wake() {
            self.wake(now, port);
        }
        match event {
            Event::Wake => {}
            Event::Reply { client, reply } => self.replied(now, client, &reply, port),
            Event::Part { client, error } => self.part_answered(now, client, error),
            Event::Connected { client, backend } => {
                self.clients[client].backend = backend;
                self.connected(now, client, port);
            }
            Event::ConnectFailed { client, error, busy } => {
                self.connect_failed(now, client, error, busy, port);
            }
            Event::Lost { client, error } => self.lost(now, client, error, port),
            Event::Shell { client, ticket, output } => {
                self.shell_ended(now, client, ticket, output, port);
            }
            Event::Stop { at } => self.stop(now, at, port),
        }
        self.dispatch(now, port);
    }

    /// When the worker wants to be woken, at the latest.
    pub fn next_wake(&self) -> Nanos {
        let ending = match self.ending {
            Some(Ending::Grace(until) | Ending::Cancelling(until)) => until,
            Some(Ending::Over) | None => Nanos::MAX,
        };
        let measure_end = match (&self.timeline, &self.ending) {
            (Some(timeline), None) => timeline.measure_end(),
            _ => Nanos::MAX,
        };
        self.interval_end
            .min(self.timers.next())
            .min(self.next_activation)
            .min(self.next_look())
            .min(measure_end)
            .min(ending)
            .min(self.next_arrival())
    }

    /// The next arrival, if a client stands ready for it.
    fn next_arrival(&self) -> Nanos {
        match &self.pending {
            Some(pending) if !self.idle.is_empty() => {
                pending.upcoming.map_or(Nanos::MAX, |(_, due)| due)
            }
            _ => Nanos::MAX,
        }
    }

    fn wake<P: Port>(&mut self, now: Nanos, port: &mut P) {
        self.look_at_clients(now);
        while self.interval_end <= now {
            self.close_interval(self.interval_end);
            self.look_for_stall(now, port);
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
        self.go_on_ending(now, port);
    }

    /// A client's alarm: the pause of its state is over.
    fn alarm<P: Port>(&mut self, now: Nanos, client: usize, port: &mut P) {
        match self.clients[client].state {
            State::Unconnected => {
                self.connect_queue.push_back(client);
                self.connect_from_queue(now, port);
            }
            State::Connecting(_) => self.connect_timed_out(now, client, port),
            State::Thinking => self.ready(now, client, port),
            State::Sleeping => self.run(now, client, dbdyno_script::Resume::Continue, port),
            _ => {}
        }
    }

    /// The number of a client over the whole run.
    fn global_id(&self, client: usize) -> u64 {
        u64::from(self.thread) + client as u64 * u64::from(self.plan.threads)
    }

    /// Whether a client takes part in the present stage.
    fn is_active(&self, now: Nanos, client: usize) -> bool {
        self.timeline.as_ref().is_some_and(|timeline| {
            now >= timeline.start()
                && self.global_id(client)
                    < u64::from(timeline.active_clients(now, self.plan.clients))
        })
    }

    /// A stage begins: clients that stood aside may take part now.
    fn activate<P: Port>(&mut self, now: Nanos, port: &mut P) {
        let Some(timeline) = &self.timeline else { return };
        self.next_activation = timeline.next_stage(now);
        self.idle.clear();
        for client in 0..self.clients.len() {
            if matches!(self.clients[client].state, State::Idle(_)) {
                self.ready(now, client, port);
            }
        }
    }

    /// Counts bytes that went over the wire.
    pub fn count_bytes(&mut self, sent: u64, received: u64) {
        self.tally.bytes_sent += sent;
        self.tally.bytes_received += received;
    }

    /// An error before the load began: there is nothing to run.
    pub fn fatal(&self) -> Option<&ServerError> {
        self.fatal.as_ref()
    }

    /// Whether the server stopped answering, and what was seen of it.
    pub fn stalled(&self) -> Option<&'static str> {
        self.stalled
    }

    /// Clients whose scripts went wrong: (client over the whole run, what went wrong).
    pub fn faults(&self) -> &[(u64, Fault)] {
        &self.faults
    }

    /// Ages, at the end of the grace, of the measured transactions that were cut off.
    pub fn unfinished_ages(&self) -> &[Nanos] {
        &self.unfinished_ages
    }

    /// Outages that are over, and at the run's end the one that is not.
    pub fn take_outages(&mut self) -> Vec<Outage> {
        if self.is_over() {
            self.outages.extend(self.outage.take());
        }
        std::mem::take(&mut self.outages)
    }

    /// When the last measured transaction ended.
    pub fn last_end(&self) -> Nanos {
        self.last_end
    }

    /// Whether nothing is left to do.
    pub fn is_over(&self) -> bool {
        matches!(self.ending, Some(Ending::Over))
    }
}

/// Stands for a statement of ours, which no statistics know.
const NO_STATEMENT: StatementId = StatementId(u32::MAX);
