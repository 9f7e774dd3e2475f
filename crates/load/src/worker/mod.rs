//! One thread's share of the load: its clients, its part of the schedule, its tally.
//!
//! The worker is told what happened and when ([`Worker::on`]), and says through its [`Port`]
//! what to do. It holds no socket and reads no clock. `port` is what goes in and out,
//! `connecting` makes and remakes connections, `arrivals` says what is due, `running` takes
//! transactions through their scripts, `around` what scripts do before and after all of them,
//! `outcome` ends and counts them, `hopeless` judges their scripts, `ending` stops the run,
//! `intervals` closes the books,
//! `activity` looks at the clients now and then, `ahead` fetches what their turns will need,
//! `moving` lets them go to another thread.

mod activity;
mod ahead;
mod around;
mod arrivals;
mod connecting;
mod ending;
mod hopeless;
mod intervals;
mod moving;
mod outcome;
mod port;
mod running;

use crate::client::{Client, State};
use crate::timers::Timers;
use crate::{Phase, Prospects, Schedule, Timeline};
use activity::Beat;
use arrivals::Pending;
use dbdyno_hist::{Activity, Latencies, Shape, Tally};
use dbdyno_model::{Arrivals, Nanos, Plan, ServerError};
use dbdyno_script::Fault;
use ending::Ending;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

pub use intervals::ClosedInterval;
pub use port::{Event, Hopeless, Outage, OutageNews, Port, Settings, ShellCall};

/// One thread's share of the load.
pub struct Worker {
    plan: Arc<Plan>,
    thread: u32,
    shape: Shape,
    total_weight: u64,
    clients: Vec<Client>,
    /// Places among them whose clients have gone to another thread.
    vacant: Vec<usize>,
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
    prospects: Arc<Prospects>,
    /// When it last was asked nothing.
    unasked: Nanos,
    ending: Option<Ending>,
    last_end: Nanos,
    unfinished_ages: Vec<Nanos>,
    outage: Option<Outage>,
    outage_news: Vec<OutageNews>,
    met_by_all: Arc<AtomicU64>,
    faults: Vec<(u64, Fault)>,
    hopeless: Option<Hopeless>,
    fatal: Option<ServerError>,
    stalled: Option<&'static str>,
}

impl Worker {
    /// A worker with nothing connected yet.
    pub fn new(settings: Settings) -> Self {
        let Settings { plan, thread, shape, sessions, heard_by_all, met_by_all, prospects } =
            settings;
        let ids = (u64::from(thread)..).step_by(plan.threads.max(1) as usize);
        let clients = ids.zip(sessions).map(|(id, session)| Client::new(id, session)).collect();
        Self {
            total_weight: plan.scripts.iter().map(|script| u64::from(script.weight)).sum(),
            plan,
            thread,
            shape,
            clients,
            vacant: Vec::new(),
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
            prospects,
            unasked: Nanos::ZERO,
            ending: None,
            last_end: Nanos::ZERO,
            unfinished_ages: Vec::new(),
            outage: None,
            outage_news: Vec::new(),
            met_by_all,
            faults: Vec::new(),
            hopeless: None,
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
            self.pending = Some(Pending::new(schedule));
        }
        self.timeline = Some(timeline);
        self.draw_upcoming();
    }

    /// Something happened at `now`.
    pub fn on<P: Port>(&mut self, now: Nanos, event: Event<'_>, port: &mut P) {
        // First of all: a machine that stood still wakes with the answers of meanwhile, and the
        // server has not been silent for that long.
        if event.is_heard_of_the_server() {
            self.heard = now;
        }
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
        let measure_end = match (&self.timeline, &self.ending) {
            (Some(timeline), None) => timeline.measure_end(),
            _ => Nanos::MAX,
        };
        self.interval_end
            .min(self.timers.next())
            .min(self.next_activation)
            .min(self.next_look())
            .min(measure_end)
            .min(self.next_of_ending())
            .min(self.next_arrival())
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
            State::Thinking | State::Breathing => self.ready(now, client, port),
            State::Sleeping => self.run(now, client, dbdyno_script::Resume::Continue, port),
            _ => {}
        }
    }

    /// The number of a client over the whole run.
    fn global_id(&self, client: usize) -> u64 {
        self.clients[client].id
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

    /// What is new of outages; at the run's end the one that is not over is known as well.
    pub fn take_outage_news(&mut self) -> Vec<OutageNews> {
        if self.is_over() {
            self.outage_news.extend(self.outage.take().map(OutageNews::Known));
        }
        std::mem::take(&mut self.outage_news)
    }

    /// When the last measured transaction ended.
    pub fn last_end(&self) -> Nanos {
        self.last_end
    }

    /// Whether the end has begun: what clients let go of from now on, they need no more.
    pub fn is_ending(&self) -> bool {
        self.ending.is_some()
    }

    /// Whether nothing is left to do.
    pub fn is_over(&self) -> bool {
        matches!(self.ending, Some(Ending::Over))
    }
}
