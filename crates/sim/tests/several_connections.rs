//! A client whose script opens a second connection, by hand: what is made, closed, counted and
//! regained, and how a transaction ended that used both.

mod common;

use common::{closed, ms, plan, stage};
use dbdyno_hist::{Counters, ServerTally, Shape};
use dbdyno_load::{
    Event, Outage, OutageEvent, Port, RunShared, Settings, ShellCall, Timeline, Worker,
};
use dbdyno_model::{
    Address, ConnectionId, Keep, Nanos, Plan, Reply, Request, ServerError, StatementId, Stream,
};
use dbdyno_script::{Execution, Fault, Resume, Step};
use std::sync::Arc;

const WRITER: ConnectionId = ConnectionId::FIRST;
const READER: ConnectionId = ConnectionId(1);

/// Opens the reader, and sends these statements in each transaction.
struct WriterAndReader {
    statements: Vec<(ConnectionId, &'static str)>,
    left: Vec<(ConnectionId, &'static str)>,
    is_to_connect: bool,
}

impl WriterAndReader {
    fn boxed(statements: &[(ConnectionId, &'static str)]) -> Box<dyn Execution> {
        let statements = statements.iter().rev().copied().collect();
        Box::new(Self { statements, left: Vec::new(), is_to_connect: false })
    }
}

impl Execution for WriterAndReader {
    fn handles_own_errors(&self) -> bool {
        true
    }

    fn set_up(&mut self, _: Stream) -> bool {
        self.is_to_connect = true;
        self.left.clear();
        true
    }

    fn begin(&mut self, _: usize, _: Stream) {
        self.left.clone_from(&self.statements);
    }

    fn restart(&mut self) {}

    fn resume(&mut self, _: Resume<'_>) -> Result<Step<'_>, Fault> {
        if std::mem::take(&mut self.is_to_connect) {
            return Ok(Step::Connect { connection: READER, server: 1 });
        }
        let Some((connection, sql)) = self.left.pop() else { return Ok(Step::Done) };
        let (statement, keep) = (StatementId(0), Keep::None);
        Ok(Step::Request(connection, Request::Text { statement, sql, keep }))
    }
}

/// Notes what is asked of it: the test decides what happens.
#[derive(Default)]
struct Notes(Vec<String>);

impl Notes {
    fn take(&mut self) -> Vec<String> {
        std::mem::take(&mut self.0)
    }
}

impl Port for Notes {
    fn connect(&mut self, _: usize, connection: ConnectionId, server: u32) {
        self.0.push(format!("connect {} to {server}", connection.0));
    }
    fn close(&mut self, _: usize, connection: ConnectionId) {
        self.0.push(format!("close {}", connection.0));
    }
    fn cancel(&mut self, _: usize, connection: ConnectionId) {
        self.0.push(format!("cancel {}", connection.0));
    }
    fn send(&mut self, _: usize, connection: ConnectionId, request: &Request<'_>) {
        let Request::Text { sql, .. } = request else { panic!("{request:?}") };
        self.0.push(format!("{}: {sql}", connection.0));
    }
    fn release(&mut self, _: usize) {}
    fn shell(&mut self, _: ShellCall) {}
}

fn two_servers() -> Plan {
    let mut plan = Plan { warmup_ns: Nanos::ZERO, ..plan(1, 1, closed(), vec![stage(10, None)]) };
    plan.endpoint.further_addresses.push(Address::Unix { path: "/b".into() });
    plan
}

/// A worker with one client, whose load begins at zero.
fn begun(statements: &[(ConnectionId, &'static str)], notes: &mut Notes) -> Worker {
    let plan = Arc::new(two_servers());
    let mut worker = Worker::new(Settings {
        plan: Arc::clone(&plan),
        thread: 0,
        shape: Shape { scripts: 1, statements: 1, service_differs: false },
        block_words: Arc::default(),
        executions: vec![WriterAndReader::boxed(statements)],
        shared: Arc::new(RunShared::new(&plan)),
    });
    worker.connect_all(Nanos::ZERO, notes);
    assert_eq!(notes.take(), ["connect 0 to 0"]);
    worker.on(Nanos::ZERO, Event::Connected { client: 0, backend: 1 }, notes);
    assert_eq!(notes.take(), ["close 1", "connect 1 to 1"]);
    assert!(!worker.is_connected(), "its setup is not done");
    worker.on(Nanos::ZERO, Event::Connected { client: 0, backend: 2 }, notes);
    assert!(worker.is_connected());
    worker.start(Timeline::new(&plan, Nanos::ZERO));
    worker.on(Nanos::ZERO, Event::Wake, notes);
    worker
}

fn answer(worker: &mut Worker, at: Nanos, reply: Reply<'_>, notes: &mut Notes) {
    worker.on(at, Event::Reply { client: 0, reply }, notes);
}

/// The counters when the run is over.
fn counted(worker: &mut Worker, notes: &mut Notes) -> Counters {
    worker.on(ms(60_000), Event::Wake, notes);
    worker.on(ms(120_000), Event::Wake, notes);
    worker.close_last(ms(120_000));
    worker.take_closed().last().expect("intervals").tally.counters
}

#[test]
fn a_client_that_loses_one_connection_makes_both_anew() {
    let mut notes = Notes::default();
    let mut worker = begun(&[(WRITER, "insert"), (READER, "select")], &mut notes);
    assert_eq!(notes.take(), ["0: insert"]);
    let error = ServerError::connection_lost("gone");
    let lost = Event::Lost { client: 0, connection: READER, error: &error };
    worker.on(ms(10), lost, &mut notes);
    assert_eq!(notes.take(), ["close 0", "close 1"]);
    worker.on(ms(30), Event::Wake, &mut notes);
    assert_eq!(notes.take(), ["connect 0 to 0"]);
    worker.on(ms(31), Event::Connected { client: 0, backend: 3 }, &mut notes);
    assert_eq!(notes.take(), ["close 1", "connect 1 to 1"]);
    // The writer's server was never gone: the outage is the reader's.
    let begun = worker.take_outage_events();
    assert!(matches!(&begun[..], [OutageEvent::Begun { .. }]), "{begun:?}");
    let failed = Event::ConnectFailed { client: 0, error: &error, busy: false };
    worker.on(ms(32), failed, &mut notes);
    assert_eq!(notes.take(), ["close 0", "close 1"]);
    worker.on(ms(90), Event::Wake, &mut notes);
    worker.on(ms(91), Event::Connected { client: 0, backend: 4 }, &mut notes);
    worker.on(ms(92), Event::Connected { client: 0, backend: 5 }, &mut notes);
    let made = ["connect 0 to 0", "close 1", "connect 1 to 1", "0: insert"];
    assert_eq!(notes.take(), made);
    let events = worker.take_outage_events();
    let [OutageEvent::Closed(Outage { begin, end, connections_lost, .. })] = &events[..] else {
        panic!("{events:?}")
    };
    assert_eq!((*begin, *end, *connections_lost), (ms(10), Some(ms(92)), 1));
    let counters = counted(&mut worker, &mut notes);
    assert_eq!((counters.failed, counters.ok), (1, 0));
}

/// A worker with this one client of two servers, which asks for nothing before its transactions.
fn of_two_servers(id: u32, notes: &mut Notes) -> Worker {
    let mut two = two_servers();
    two.clients = id + 1;
    two.threads = id + 1;
    let plan = Arc::new(two);
    let mut worker = Worker::new(Settings {
        plan: Arc::clone(&plan),
        thread: id,
        shape: Shape { scripts: 1, statements: 1, service_differs: false },
        block_words: Arc::default(),
        executions: vec![Box::new(Writes(false))],
        shared: Arc::new(RunShared::new(&plan)),
    });
    worker.connect_all(Nanos::ZERO, notes);
    worker
}

/// One statement in each transaction.
struct Writes(bool);

impl Execution for Writes {
    fn begin(&mut self, _: usize, _: Stream) {
        self.0 = true;
    }

    fn restart(&mut self) {}

    fn resume(&mut self, _: Resume<'_>) -> Result<Step<'_>, Fault> {
        if !std::mem::take(&mut self.0) {
            return Ok(Step::Done);
        }
        let (statement, keep) = (StatementId(0), Keep::None);
        Ok(Step::Request(WRITER, Request::Text { statement, sql: "insert", keep }))
    }
}

#[test]
fn a_client_moves_on_from_a_server_that_fails_and_stays_where_it_is_taken() {
    let mut notes = Notes::default();
    let mut worker = of_two_servers(1, &mut notes);
    assert_eq!(notes.take(), ["connect 0 to 1"], "clients begin with the servers in turn");
    let error = ServerError::connection_lost("gone");
    let failed = || Event::ConnectFailed { client: 0, error: &error, busy: false };
    worker.on(ms(1), failed(), &mut notes);
    assert!(!worker.is_over(), "the other server is left");
    worker.on(ms(20), Event::Wake, &mut notes);
    assert_eq!(notes.take(), ["connect 0 to 0"]);
    worker.on(ms(21), Event::Connected { client: 0, backend: 1 }, &mut notes);
    worker.start(Timeline::new(&two_servers(), ms(30)));
    worker.on(ms(30), Event::Wake, &mut notes);
    assert_eq!(notes.take(), ["0: insert"]);
    // Lost in a transaction: one failed there. Then neither can be reached.
    let lost = Event::Lost { client: 0, connection: WRITER, error: &error };
    worker.on(ms(40), lost, &mut notes);
    worker.on(ms(60), Event::Wake, &mut notes);
    worker.on(ms(61), failed(), &mut notes);
    worker.on(ms(80), Event::Wake, &mut notes);
    worker.on(ms(81), failed(), &mut notes);
    worker.on(ms(200), Event::Wake, &mut notes);
    worker.on(ms(201), Event::Connected { client: 0, backend: 2 }, &mut notes);
    let tried = ["close 0", "connect 0 to 1", "connect 0 to 0", "connect 0 to 1", "0: insert"];
    assert_eq!(notes.take(), tried);
    worker.close_last(ms(300));
    let servers = worker.take_closed().pop().expect("intervals").tally.servers;
    let first = ServerTally {
        completed_failed: 1,
        connects_failed: 1,
        connections_lost: 1,
        ..ServerTally::default()
    };
    let second = ServerTally { connects: 1, connects_failed: 1, ..ServerTally::default() };
    assert_eq!(servers, [first, second]);
}

#[test]
fn a_load_with_no_server_that_takes_it_does_not_begin() {
    let mut notes = Notes::default();
    let mut worker = of_two_servers(0, &mut notes);
    let error = ServerError::connection_lost("gone");
    for at in [1, 100] {
        let failed = Event::ConnectFailed { client: 0, error: &error, busy: false };
        worker.on(ms(at), failed, &mut notes);
        worker.on(ms(at + 50), Event::Wake, &mut notes);
    }
    assert!(worker.is_over());
}

#[test]
fn a_server_that_only_reads_any_more_is_left() {
    for (message, expected) in [
        ("running with the --read-only option", &["close 0", "close 0"][..]),
        ("running with the --secure-file-priv option", &["0: insert"]),
    ] {
        let mut notes = Notes::default();
        let mut plan = two_servers();
        plan.endpoint.read_only_query = Some("asked".into());
        let plan = Arc::new(plan);
        let mut worker = Worker::new(Settings {
            plan: Arc::clone(&plan),
            thread: 0,
            shape: Shape { scripts: 1, statements: 1, service_differs: false },
            block_words: Arc::default(),
            executions: vec![Box::new(Writes(false))],
            shared: Arc::new(RunShared::new(&plan)),
        });
        worker.connect_all(Nanos::ZERO, &mut notes);
        worker.on(Nanos::ZERO, Event::Connected { client: 0, backend: 1 }, &mut notes);
        worker.start(Timeline::new(&plan, Nanos::ZERO));
        worker.on(Nanos::ZERO, Event::Wake, &mut notes);
        notes.take();
        let error = ServerError::from_mysql(1290, Some("HY000"), message);
        let reply = Reply { error: Some(&error), ..Reply::default() };
        answer(&mut worker, ms(1), reply, &mut notes);
        assert_eq!(notes.take(), expected);
    }
}

#[test]
fn a_transaction_ended_as_the_worst_of_its_blocks() {
    for (ends, name) in [
        (["commit", "commit"], "committed"),
        (["commit", "rollback"], "rolled back"),
        (["rollback", "commit"], "rolled back"),
        (["rollback", "select"], "left open"),
    ] {
        let mut notes = Notes::default();
        let statements =
            [(WRITER, "begin"), (READER, "begin"), (WRITER, ends[0]), (READER, ends[1])];
        let mut worker = begun(&statements, &mut notes);
        for (place, in_transaction) in [true, true, false, ends[1] == "select"].iter().enumerate() {
            let reply = Reply { in_transaction: *in_transaction, ..Reply::default() };
            answer(&mut worker, ms(1 + place as u64), reply, &mut notes);
        }
        let counters = counted(&mut worker, &mut notes);
        let counted = match name {
            "committed" => counters.committed,
            "rolled back" => counters.rolled_back,
            _ => counters.left_open,
        };
        assert_eq!((counters.ok, counted), (1, 1), "{ends:?} {counters:?}");
    }
}

#[test]
fn at_the_end_what_the_client_waits_for_is_cancelled_and_both_are_closed() {
    let mut notes = Notes::default();
    let mut worker = begun(&[(READER, "select")], &mut notes);
    worker.on(ms(10_000), Event::Wake, &mut notes);
    worker.on(ms(11_000), Event::Wake, &mut notes); // the grace is over
    assert_eq!(notes.take(), ["1: select", "cancel 1"]);
    answer(&mut worker, ms(11_001), Reply::default(), &mut notes);
    assert_eq!(notes.take(), ["close 0", "close 1"]);
    assert!(worker.is_over());
}
