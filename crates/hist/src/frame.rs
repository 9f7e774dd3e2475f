//! Frames: the engine's reports during a run, one MessagePack map each.
//!
//! The fields are documented in `python/dbdyno/model/frame/`, which mirrors this file.
#![allow(missing_docs, reason = "documented in the Python mirror")]

use crate::{
    Copied, Counters, Distribution, Doing, EngineUse, Latencies, Rows, Samples, ServerTally, Tally,
};
use dbdyno_model::Nanos;
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;
use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FailureCount {
    pub failure_class: dbdyno_model::FailureClass,
    pub code: String,
    pub count: u64,
    pub took_ns: u64,
    pub message: String,
    pub statement: Option<u32>,
    pub scripts: Vec<u64>,
    pub statements: Vec<(u32, u64)>,
    pub unknown: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ScriptInterval {
    pub ok: u64,
    pub committed: u64,
    pub failed: u64,
    pub skipped: u64,
    pub retried: u64,
    pub response: Distribution,
    pub service: Option<Distribution>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct EngineInterval {
    pub cpu_us: u64,
    pub lateness: Distribution,
    pub bytes_sent: u64,
    pub bytes_received: u64,
    pub round_trips: u64,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
    pub paused_us: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SlowTransaction {
    pub script: u32,
    pub client: u64,
    pub number: u64,
    pub due_ns: u64,
    pub sent_ns: u64,
    pub done_ns: u64,
    pub tries: u32,
    pub statements: Vec<(u32, u64)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StatementInfo {
    pub script: u32,
    pub index: u32,
    pub line: u32,
    pub sql: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WindowScript {
    pub response: ByteBuf,
    pub service: Option<ByteBuf>,
}

/// Who an agent is that may run on another machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Greeting {
    pub build: String,
    pub host: String,
    pub boot: String,
    pub architecture: &'static str,
    pub pid: u32,
    pub pid_namespace: String,
    pub cpus: u32,
    pub cpus_allowed: Vec<u32>,
    pub cgroup: String,
    pub clock_source: String,
    pub open_files_max: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hello {
    pub pid: u32,
    pub io: &'static str,
    pub io_reason: String,
    pub threads: u32,
    pub processors: u32,
    pub statements: Vec<StatementInfo>,
    pub warnings: Vec<String>,
    pub counters: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Connected {
    pub clients: u32,
    pub connect: Distribution,
    pub server_version: String,
    pub tls: String,
    pub backend_pids: Vec<u32>,
}

/// What a part reports instead of [`Connected`]: an engine that shares the load with others.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PartConnected {
    pub server_version: String,
    pub tls: String,
    pub connects: Latencies,
    pub backends: Vec<(u64, u32)>,
}

impl Connected {
    /// Of all clients of the run, as their parts report.
    pub fn of(clients: u32, parts: &[PartConnected]) -> Self {
        let mut backend_pids = vec![0; clients as usize];
        let mut connects = Latencies::default();
        for part in parts {
            connects.merge(&part.connects);
            for &(client, pid) in &part.backends {
                if let Some(place) = backend_pids.get_mut(client as usize) {
                    *place = pid;
                }
            }
        }
        let first = parts.iter().find(|part| !part.server_version.is_empty());
        Self {
            clients,
            connect: connects.distribution(),
            server_version: first.map(|part| part.server_version.clone()).unwrap_or_default(),
            tls: first.map(|part| part.tls.clone()).unwrap_or_default(),
            backend_pids,
        }
    }
}

/// By how much the last thread of a part was late when it let its first clients go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PartBegun {
    pub late_ns: u64,
}

/// What a part reports instead of [`Interval`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PartInterval<L = Latencies> {
    pub phase: String,
    pub begin_ns: u64,
    pub end_ns: u64,
    pub tally: Tally<L>,
    pub used: EngineUse,
    pub waited_us: u64,
    pub paused_us: u64,
}

/// What one part counted in an interval, in short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WorkerInterval {
    pub worker: usize,
    pub begin_ns: u64,
    pub end_ns: u64,
    pub completed_ok: u64,
    pub completed_committed: u64,
    pub completed_failed: u64,
    pub in_flight: u64,
    pub response: Distribution,
    pub lateness_p99_ns: Option<u64>,
    pub cpu_us: u64,
    pub waited_us: u64,
    pub paused_us: u64,
}

impl WorkerInterval {
    /// Of a part with this number, between instants of the clock of the whole.
    pub fn of<L: Samples>(worker: usize, begin: Nanos, end: Nanos, part: &PartInterval<L>) -> Self {
        let tally = &part.tally;
        let mut all = Latencies::default();
        for script in &tally.scripts {
            script.response.add_to(&mut all);
        }
        let mut response = all.distribution();
        response.buckets = ByteBuf::new();
        let lateness_p99 = (tally.lateness.count() > 0).then(|| {
            let mut lateness = Latencies::default();
            tally.lateness.add_to(&mut lateness);
            lateness.quantile(0.99)
        });
        Self {
            worker,
            begin_ns: begin.0,
            end_ns: end.0,
            completed_ok: tally.completed_ok,
            completed_committed: tally.completed_committed,
            completed_failed: tally.completed_failed,
            in_flight: tally.counters.in_flight,
            response,
            lateness_p99_ns: lateness_p99.map(|Nanos(ns)| ns),
            cpu_us: part.used.cpu_us,
            waited_us: part.waited_us,
            paused_us: part.paused_us,
        }
    }
}

/// An instant of a part's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Clock {
    pub question: u64,
    pub received_ns: u64,
    pub sent_ns: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Started {
    pub monotonic_ns: u64,
    pub unix_ns: u64,
    pub measure_begin_ns: u64,
    pub measure_end_ns: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Interval {
    pub index: u64,
    pub phase: &'static str,
    pub begin_ns: u64,
    pub end_ns: u64,
    pub completed_ok: u64,
    pub completed_committed: u64,
    pub completed_failed: u64,
    pub copied: Copied,
    pub counters: Counters,
    pub failures: Vec<FailureCount>,
    pub scripts: Vec<ScriptInterval>,
    pub statements: Vec<Distribution>,
    pub rows: Vec<Rows>,
    pub failed_response: Distribution,
    pub connects: Distribution,
    pub engine: EngineInterval,
    pub slowest: Vec<SlowTransaction>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<ServerTally>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<WorkerInterval>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Window {
    pub begin_ns: u64,
    pub end_ns: u64,
    pub scripts: Vec<WindowScript>,
    pub statements: Vec<ByteBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Activity {
    pub at_ns: u64,
    pub statements: ByteBuf,
    pub backends: ByteBuf,
}

impl Activity {
    /// Of these clients, in the order of their numbers: all of the run, or all of a part.
    pub fn new(at: Nanos, clients: &[(Doing, u32)]) -> Self {
        let statements = clients.iter().flat_map(|(doing, _)| doing.0.to_le_bytes());
        let backends = clients.iter().flat_map(|(_, backend)| backend.to_le_bytes());
        Self {
            at_ns: at.0,
            statements: ByteBuf::from(statements.collect::<Vec<u8>>()),
            backends: ByteBuf::from(backends.collect::<Vec<u8>>()),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Transactions {
    pub rows: ByteBuf,
    pub counted: Vec<u64>,
}

impl Transactions {
    /// Of rows that a tally has packed.
    pub fn new(rows: Vec<u8>) -> Self {
        Self { rows: ByteBuf::from(rows), counted: Vec::new() }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OutageBegun {
    pub at_ns: u64,
    pub message: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Outage {
    pub begin_ns: u64,
    pub end_ns: Option<u64>,
    pub connections_lost: u64,
    pub message: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Note {
    pub at_ns: u64,
    pub source: &'static str,
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Done {
    pub end: &'static str,
    pub reason: String,
    pub measured_ns: u64,
    pub counters: Counters,
    pub failures: Vec<FailureCount>,
    pub tried_again: Vec<FailureCount>,
    pub response: ByteBuf,
    pub service: ByteBuf,
    pub scripts: Vec<WindowScript>,
    pub statements: Vec<ByteBuf>,
    pub failed_response: ByteBuf,
    pub unfinished_ages_ns: Vec<u64>,
    pub cpu_us: u64,
    pub lateness: ByteBuf,
    pub clients_moved: u64,
    pub counted: BTreeMap<String, u64>,
    pub invalid_reasons: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Statement {
    pub statement: u32,
    pub script: u32,
    pub connection: u32,
    pub server: u32,
    pub sql: String,
    pub example: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Survey {
    pub problem: Option<ScriptProblem>,
    pub commands: Vec<String>,
    pub is_parallel: bool,
    pub has_init: bool,
    pub has_done: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ScriptProblem {
    pub line: u32,
    pub message: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Progress {
    pub table: String,
    pub rows: u64,
    pub rows_total: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Loaded {
    pub rows: u64,
    pub elapsed_ns: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failed {
    pub code: String,
    pub message: String,
    pub hint: String,
}

/// A report of the engine.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Frame {
    Greeting(Greeting),
    Clock(Clock),
    Hello(Hello),
    Connecting,
    Connected(Connected),
    PartConnected(PartConnected),
    Started(Started),
    PartBegun(PartBegun),
    Interval(Box<Interval>),
    PartInterval(Box<PartInterval>),
    Activity(Activity),
    Window(Window),
    Transactions(Transactions),
    OutageBegun(OutageBegun),
    Outage(Outage),
    Note(Note),
    Statement(Statement),
    Survey(Survey),
    Done(Box<Done>),
    Progress(Progress),
    Loaded(Loaded),
    Failed(Failed),
}

impl Frame {
    /// The encoded frame: a little-endian u32 length and a MessagePack map.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![0; 4];
        let mut serializer = rmp_serde::Serializer::new(&mut bytes).with_struct_map();
        self.serialize(&mut serializer).expect("plain data always serializes");
        let length = (bytes.len() - 4) as u32;
        bytes[..4].copy_from_slice(&length.to_le_bytes());
        bytes
    }
}
