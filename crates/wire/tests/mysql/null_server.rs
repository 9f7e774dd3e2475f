//! Our client against our own server side: the two must agree on the protocol.

use crate::common::Peer;
use crate::driver::{self, Scenario, Step};
use crate::scenarios;
use dbdyno_model::{Flow, Keep, QueryMode, Value};
use dbdyno_wire::testserver::mysql::{CannedReply, Database, Server};

/// A server in memory.
struct InMemory {
    server: Server,
    database: Few,
    outgoing: Vec<u8>,
}

impl InMemory {
    fn new() -> Self {
        let mut outgoing = Vec::new();
        Self { server: Server::greet(&mut outgoing), database: Few::default(), outgoing }
    }
}

impl Peer for InMemory {
    fn send(&mut self, bytes: &[u8]) {
        self.server.receive(bytes, &mut self.database, &mut self.outgoing).expect("a good client");
    }

    fn receive(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.outgoing)
    }
}

/// Knows a few statements; everything else is a command.
struct Few {
    row: CannedReply,
    error: CannedReply,
    unprepared: CannedReply,
    command: CannedReply,
}

impl Default for Few {
    fn default() -> Self {
        Self {
            row: CannedReply::rows(&["abalance"], &[&[Some("42")], &[None]]),
            error: CannedReply::error(1213, "40001", "Deadlock found"),
            unprepared: CannedReply::error(1295, "HY000", "not supported yet"),
            command: CannedReply::command(7),
        }
    }
}

impl Database for Few {
    fn execute(&mut self, sql: &str) -> &CannedReply {
        match sql.split(' ').next() {
            Some("select") => &self.row,
            Some("fail") => &self.error,
            Some("unprepared") => &self.unprepared,
            _ => &self.command,
        }
    }
}

fn steps() -> Vec<Step> {
    let number = || vec![Value::Int(5)];
    vec![
        Step::PrepareAll,
        Step::Run(0, number(), Keep::AllRows),
        Step::Text("begin", Keep::None),
        Step::Run(1, number(), Keep::None),
        Step::Run(2, vec![], Keep::None),
        Step::Text("rollback", Keep::None),
        Step::Text("select 1", Keep::LastRow),
        Step::Queue(0, number()),
        Step::Queue(2, vec![]),
        Step::Queue(0, number()),
        Step::Sync(Flow::Wait),
        Step::Run(3, vec![], Keep::None),
        Step::Run(0, number(), Keep::None),
    ]
}

const EXPECTED: &str = r#"
Reply 0 Wait Reply { error: None, results: [ResultSet { columns: ["abalance"], row_count: 2, rows: [[Some("42")], [None]] }], rows_returned: 2, rows_affected: 0, rows_touched: 2, in_transaction: false, rolled_back: false, copied_bytes: 0 }
Reply 99 Wait Reply { error: None, results: [], rows_returned: 0, rows_affected: 7, rows_touched: 7, in_transaction: true, rolled_back: false, copied_bytes: 0 }
Reply 1 Wait Reply { error: None, results: [], rows_returned: 0, rows_affected: 7, rows_touched: 7, in_transaction: true, rolled_back: false, copied_bytes: 0 }
Reply 2 Wait Reply { error: Some(ServerError { class: Deadlock, code: "1213", sqlstate: "40001", message: "Deadlock found" }), results: [], rows_returned: 0, rows_affected: 0, rows_touched: 0, in_transaction: true, rolled_back: false, copied_bytes: 0 }
Reply 99 Wait Reply { error: None, results: [], rows_returned: 0, rows_affected: 7, rows_touched: 7, in_transaction: false, rolled_back: false, copied_bytes: 0 }
Reply 99 Wait Reply { error: None, results: [ResultSet { columns: ["abalance"], row_count: 2, rows: [[None]] }], rows_returned: 2, rows_affected: 0, rows_touched: 2, in_transaction: false, rolled_back: false, copied_bytes: 0 }
Reply 0 Queue Reply { error: None, results: [], rows_returned: 2, rows_affected: 0, rows_touched: 2, in_transaction: false, rolled_back: false, copied_bytes: 0 }
Reply 2 Queue Reply { error: Some(ServerError { class: Deadlock, code: "1213", sqlstate: "40001", message: "Deadlock found" }), results: [], rows_returned: 0, rows_affected: 0, rows_touched: 0, in_transaction: false, rolled_back: false, copied_bytes: 0 }
Reply 0 Queue Reply { error: None, results: [], rows_returned: 2, rows_affected: 0, rows_touched: 2, in_transaction: false, rolled_back: false, copied_bytes: 0 }
Reply 99 Wait Reply { error: None, results: [], rows_returned: 0, rows_affected: 0, rows_touched: 0, in_transaction: false, rolled_back: false, copied_bytes: 0 }
Reply 3 Wait Reply { error: Some(ServerError { class: Statement, code: "1295", sqlstate: "HY000", message: "not supported yet" }), results: [], rows_returned: 0, rows_affected: 0, rows_touched: 0, in_transaction: false, rolled_back: false, copied_bytes: 0 }
Reply 0 Wait Reply { error: None, results: [], rows_returned: 2, rows_affected: 0, rows_touched: 2, in_transaction: false, rolled_back: false, copied_bytes: 0 }"#;

#[test]
fn client_and_server_agree_in_every_query_mode() {
    let statements = vec!["select $1", "update $1", "fail", "unprepared"];
    for query_mode in [QueryMode::Prepared, QueryMode::Simple] {
        let login = scenarios::login("in memory", "anybody", "");
        // Without preparing before the run there is nothing to wait for.
        let skipped = usize::from(query_mode != QueryMode::Prepared);
        let steps = steps().split_off(skipped);
        let scenario = Scenario { query_mode, statements: statements.clone(), steps, ..login };
        let story = driver::play(&scenario, &mut InMemory::new());
        let first = if skipped == 0 { 2 } else { 1 };
        let expected: Vec<&str> = EXPECTED.trim().lines().collect();
        assert_eq!(story.events[first..], expected, "{query_mode:?}");
    }
}

#[test]
fn rubbish_is_an_error_for_the_server_too() {
    for rubbish in
        [&b"\x01\0\0\x02\xfe"[..], b"GET / HTTP/1.1\r\n", b"\x01\0\0\x01a\x01\0\0\x00\x99"]
    {
        let (mut command, mut out) = (CannedReply::command(0), Vec::new());
        let mut server = Server::greet(&mut out);
        assert!(server.receive(rubbish, &mut command, &mut out).is_err(), "{rubbish:?}");
    }
}

#[test]
fn a_client_that_leaves_is_gone() {
    let scenario = Scenario { steps: vec![], ..scenarios::login("in memory", "anybody", "") };
    let mut connection = driver::connection(&scenario);
    let mut peer = InMemory::new();
    driver::play_with(&mut connection, &scenario, &mut peer);
    let mut sent = Vec::new();
    connection.terminate(&mut sent);
    peer.send(&sent);
    assert!(peer.server.is_closed());
}
