//! Runs the workers of a plan against a [`Server`], on a virtual clock.

use crate::Server;
use dbdyno_hist::frame::{FailureCount, Interval};
use dbdyno_hist::{Activity, Collector, Counters, EngineUse, Latencies, Shape, Tally};
use dbdyno_load::{
    Event, HopelessScript, Outage, OutageEvent, Phase, Port, RunShared, Settings, ShellCall,
    Timeline, Worker,
};
use dbdyno_model::{ConnectionId, Nanos, Plan, Reply, Request, ServerError};
use dbdyno_script::{Execution, Fault};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The outcome of a simulated run.
#[derive(Debug)]
pub struct Outcome {
    /// Its intervals, merged over the workers.
    pub intervals: Vec<Interval>,
    /// The last cumulative counts.
    pub counters: Counters,
    /// done − due of all measured transactions that succeeded.
    pub response: Latencies,
    /// done − sent of the same.
    pub service: Latencies,
    /// How late the worker itself was.
    pub lateness: Latencies,
    /// Tries that failed and were retried, by failure.
    pub tried_again: Vec<FailureCount>,
    /// Ages of the transactions that were cut off.
    pub unfinished_ages: Vec<Nanos>,
    /// The events of outages, worker after worker.
    pub outage_events: Vec<OutageEvent>,
    /// A script that can never work.
    pub hopeless: Option<HopelessScript>,
    /// Scripts that failed.
    pub faults: Vec<(u64, Fault)>,
    /// The error that kept the load from beginning.
    pub fatal: Option<ServerError>,
    /// How the server stopped answering, as seen by the workers.
    pub stalled: Option<String>,
    /// What the clients were doing at the plan's sampling instants, worker after worker.
    pub activities: Vec<Activity>,
    /// When the last worker was over, since the start of the load.
    pub over: Nanos,
}

impl Outcome {
    /// The outages.
    pub fn outages(&self) -> Vec<&Outage> {
        let known = self.outage_events.iter().filter_map(|event| match event {
            OutageEvent::Closed(outage) => Some(outage),
            OutageEvent::Begun { .. } => None,
        });
        known.collect()
    }
}

/// Future events in order of time; the number makes keys unique.
type Calendar = BTreeMap<(Nanos, u64), Coming>;

#[derive(Clone, Debug)]
enum Coming {
    Connected { client: usize, generation: u32 },
    Refused { client: usize, generation: u32 },
    Reply { client: usize, generation: u32, error: bool },
    Cut,
}

struct World<'a> {
    server: &'a Server,
    now: Nanos,
    calendar: Calendar,
    events: u64,
    requests: u64,
    /// The number of connections so far: each is served by a process of that number.
    connections: u32,
    /// Counts the connections of each client: events of older ones are void.
    generations: Vec<u32>,
    connected: Vec<bool>,
    in_transaction: Vec<bool>,
}

impl World<'_> {
    fn plan(&mut self, at: Nanos, coming: Coming) {
        self.events += 1;
        self.calendar.insert((at, self.events), coming);
    }
}

/// Simulated executions have one connection each.
impl Port for World<'_> {
    fn connect(&mut self, client: usize, _: ConnectionId, _: u32) {
        let at = self.now + self.server.connect;
        let generation = self.generations[client];
        let refused = self.server.refuses(self.now);
        self.plan(
            at,
            if refused {
                Coming::Refused { client, generation }
            } else {
                Coming::Connected { client, generation }
            },
        );
    }

    fn close(&mut self, client: usize, _: ConnectionId) {
        self.generations[client] += 1;
        self.connected[client] = false;
        self.in_transaction[client] = false;
    }

    fn cancel(&mut self, client: usize, _: ConnectionId) {
        if self.server.silent_from.is_none() {
            let generation = self.generations[client];
            self.plan(self.now, Coming::Reply { client, generation, error: true });
        }
    }

    fn send(&mut self, client: usize, _: ConnectionId, request: &Request<'_>) {
        self.requests += 1;
        let rollback = matches!(request, Request::Text { sql: "ROLLBACK", .. });
        let error = !rollback
            && self
                .server
                .error
                .as_ref()
                .is_some_and(|(each, _)| self.requests.is_multiple_of(*each));
        self.in_transaction[client] = error;
        if let Some(at) = self.server.answered(self.now) {
            let generation = self.generations[client];
            self.plan(at, Coming::Reply { client, generation, error });
        }
    }

    fn release(&mut self, _: usize) {
        unreachable!("nobody sends a simulated client away");
    }

    fn shell(&mut self, _: ShellCall) {
        unreachable!("simulated executions run no shell");
    }
}

/// Runs a plan whose load starts at time zero of the virtual clock, once connected.
pub fn simulate(
    plan: &Plan,
    server: &Server,
    mut execution: impl FnMut(u64) -> Box<dyn Execution>,
) -> Outcome {
    let plan = Arc::new(plan.clone());
    let service_differs = plan.service_differs();
    let shape = Shape { scripts: plan.scripts.len(), statements: 1, service_differs };
    let mut clients_left = plan.clients;
    let mut merged = Merged::default();
    for thread in 0..plan.threads {
        let clients = plan.clients_of(thread);
        let executions = clients.map(|client| execution(u64::from(client))).collect();
        let settings = Settings {
            plan: Arc::clone(&plan),
            thread,
            shape,
            block_words: Arc::default(),
            executions,
            // Workers run one after the other here, so they share no knowledge of the server.
            shared: Arc::new(RunShared::alone(&plan, clients_left)),
        };
        let (worker, activities) = run_worker(&plan, server, Worker::new(settings));
        clients_left -= worker.clients() as u32;
        merged.add(worker);
        merged.activities.extend(activities);
    }
    merged.outcome(shape)
}

/// Runs one worker alone.
fn run_worker(plan: &Plan, server: &Server, mut worker: Worker) -> (Worker, Vec<Activity>) {
    let clients = worker.clients();
    let mut world = World {
        server,
        now: Nanos::ZERO,
        calendar: Calendar::new(),
        events: 0,
        requests: 0,
        connections: 0,
        generations: vec![0; clients],
        connected: vec![false; clients],
        in_transaction: vec![false; clients],
    };
    if let Some((begin, _)) = server.outage {
        world.plan(begin, Coming::Cut);
    }
    let mut activities = Vec::new();
    worker.connect_all(Nanos::ZERO, &mut world);
    while !worker.is_connected() && worker.end_report().fatal.is_none() {
        happen(&mut worker, &mut world);
    }
    if worker.end_report().fatal.is_none() {
        worker.start(Timeline::new(plan, world.now));
        while !worker.is_over() {
            happen(&mut worker, &mut world);
            activities.extend(worker.take_activities());
        }
        worker.close_last(world.now);
    }
    (worker, activities)
}

/// Jumps to the next event and passes it to the worker.
fn happen(worker: &mut Worker, world: &mut World<'_>) {
    let wake = worker.next_wake();
    let Some((&(at, number), _)) =
        world.calendar.first_key_value().filter(|((at, _), _)| *at < wake)
    else {
        assert_ne!(wake, Nanos::MAX, "nothing will ever happen");
        assert!(wake >= world.now, "a worker that wants to have been woken before spins");
        world.now = wake;
        return worker.on(world.now, Event::Wake, world);
    };
    world.now = at;
    let coming = world.calendar.remove(&(at, number)).expect("it was just seen");
    deliver(worker, world, &coming);
}

fn deliver(worker: &mut Worker, world: &mut World<'_>, coming: &Coming) {
    let now = world.now;
    match *coming {
        Coming::Connected { client, generation } if generation == world.generations[client] => {
            world.connections += 1;
            world.connected[client] = true;
            let backend = world.connections;
            worker.on(now, Event::Connected { client, backend }, world);
        }
        Coming::Refused { client, generation } if generation == world.generations[client] => {
            let error = ServerError::connection_lost("refused");
            worker.on(now, Event::ConnectFailed { client, error: &error, busy: false }, world);
        }
        Coming::Reply { client, generation, error } if generation == world.generations[client] => {
            let planned = world.server.error.as_ref().filter(|_| error).map(|(_, error)| error);
            let in_transaction = world.in_transaction[client];
            let reply =
                Reply { error: planned, rows_returned: 1, in_transaction, ..Reply::default() };
            worker.on(now, Event::Reply { client, reply }, world);
        }
        Coming::Cut => {
            let error = ServerError::connection_lost("cut");
            for client in 0..world.generations.len() {
                if world.connected[client] {
                    world.close(client, ConnectionId::FIRST);
                    let connection = ConnectionId::FIRST;
                    worker.on(now, Event::Lost { client, connection, error: &error }, world);
                }
            }
        }
        _ => {}
    }
}

/// Intervals of all workers, by (begin, end).
#[derive(Default)]
struct Merged {
    tallies: BTreeMap<(Nanos, Phase0), (Nanos, Phase, Tally)>,
    workers: Vec<Worker>,
    activities: Vec<Activity>,
}

/// Orders the intervals of one instant: an empty one comes before the one that begins there.
type Phase0 = u8;

impl Merged {
    fn add(&mut self, mut worker: Worker) {
        for closed in worker.take_closed() {
            let key = (closed.begin, closed.phase as Phase0);
            self.tallies
                .entry(key)
                .and_modify(|(end, _, tally)| {
                    *end = closed.end.max(*end);
                    tally.merge(&closed.tally);
                })
                .or_insert_with(|| (closed.end, closed.phase, *closed.tally));
        }
        self.workers.push(worker);
    }

    fn outcome(mut self, shape: Shape) -> Outcome {
        let mut collector = Collector::new(shape, Nanos::ZERO);
        let mut response = Latencies::default();
        let mut service = Latencies::default();
        let mut intervals: Vec<Interval> = Vec::new();
        for (&(begin, _), (end, phase, tally)) in &self.tallies {
            if *phase != Phase::Warmup {
                tally.scripts.iter().for_each(|script| response.merge(&script.response));
                tally.scripts.iter().for_each(|script| service.merge(&script.service));
            }
            let interval = collector.interval(
                phase.name(),
                begin,
                *end,
                tally,
                EngineUse::default(),
                Nanos::ZERO,
            );
            intervals.push(interval.expect("the identities of the counters hold"));
        }
        Outcome {
            counters: intervals.last().map(|interval| interval.counters).unwrap_or_default(),
            over: self.tallies.values().map(|(end, _, _)| *end).max().unwrap_or_default(),
            intervals,
            activities: self.activities,
            response,
            service,
            lateness: collector.lateness().clone(),
            tried_again: collector.tried_again(),
            unfinished_ages: self
                .workers
                .iter()
                .flat_map(|worker| worker.end_report().unfinished_ages.clone())
                .collect(),
            outage_events: self.workers.iter_mut().flat_map(Worker::take_outage_events).collect(),
            hopeless: self.workers.iter().find_map(|worker| worker.hopeless().cloned()),
            faults: self
                .workers
                .iter()
                .flat_map(|worker| worker.end_report().faults.clone())
                .collect(),
            fatal: self.workers.iter().find_map(|worker| worker.end_report().fatal.clone()),
            stalled: self.workers.iter().find_map(|worker| worker.end_report().stalled.clone()),
        }
    }
}
