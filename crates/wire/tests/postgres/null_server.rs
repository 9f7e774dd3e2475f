//! Our client against our own server side: the two must agree on the protocol.

use crate::common::Peer;
use crate::driver::{self, Scenario, Step};
use crate::scenarios;
use dbdyno_model::{Flow, Keep, QueryMode, Value};
use dbdyno_wire::testserver::postgres::{CannedReply, Database, Server};

/// A server in memory.
struct InMemory {
    server: Server,
    database: Few,
    outgoing: Vec<u8>,
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
    command: CannedReply,
}

impl Default for Few {
    fn default() -> Self {
        Self {
            row: CannedReply::rows(&["abalance"], &[&[Some("42")], &[None]]),
            error: CannedReply::error("40001", "could not serialize access"),
            command: CannedReply::command("UPDATE 7"),
        }
    }
}

impl Database for Few {
    fn execute(&mut self, sql: &str) -> &CannedReply {
        if sql.starts_with("select") {
            &self.row
        } else if sql.starts_with("fail") {
            &self.error
        } else {
            &self.command
        }
    }

    fn describe(&mut self, sql: &str) -> &CannedReply {
        self.execute(sql)
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
        Step::Run(0, number(), Keep::None),
        Step::Text("rollback", Keep::None),
        Step::Text("select", Keep::LastRow),
        Step::Queue(0, number()),
        Step::Queue(2, vec![]),
        Step::Queue(0, number()),
        Step::Sync(Flow::Wait),
        Step::Run(0, number(), Keep::None),
    ]
}

const EXPECTED: &str = r#"
Reply 0 Wait Reply { error: None, results: [ResultSet { columns: ["abalance"], row_count: 2, rows: [[Some("42")], [None]] }], rows_returned: 2, rows_affected: 0, rows_touched: 2, in_transaction: false, rolled_back: false, copied_bytes: 0 }
Reply 99 Wait Reply { error: None, results: [], rows_returned: 0, rows_affected: 7, rows_touched: 7, in_transaction: true, rolled_back: false, copied_bytes: 0 }
Reply 1 Wait Reply { error: None, results: [], rows_returned: 0, rows_affected: 7, rows_touched: 7, in_transaction: true, rolled_back: false, copied_bytes: 0 }
Reply 2 Wait Reply { error: Some(ServerError { class: Serialization, code: "40001", sqlstate: "40001", message: "could not serialize access" }), results: [], rows_returned: 0, rows_affected: 0, rows_touched: 0, in_transaction: true, rolled_back: false, copied_bytes: 0 }
Reply 0 Wait Reply { error: Some(ServerError { class: Other, code: "25P02", sqlstate: "25P02", message: "current transaction is aborted" }), results: [], rows_returned: 0, rows_affected: 0, rows_touched: 0, in_transaction: true, rolled_back: false, copied_bytes: 0 }
Reply 99 Wait Reply { error: None, results: [], rows_returned: 0, rows_affected: 7, rows_touched: 7, in_transaction: false, rolled_back: false, copied_bytes: 0 }
Reply 99 Wait Reply { error: None, results: [ResultSet { columns: ["abalance"], row_count: 2, rows: [[None]] }], rows_returned: 2, rows_affected: 0, rows_touched: 2, in_transaction: false, rolled_back: false, copied_bytes: 0 }
Reply 0 Queue Reply { error: None, results: [], rows_returned: 2, rows_affected: 0, rows_touched: 2, in_transaction: false, rolled_back: false, copied_bytes: 0 }
Reply 2 Queue Reply { error: Some(ServerError { class: Serialization, code: "40001", sqlstate: "40001", message: "could not serialize access" }), results: [], rows_returned: 0, rows_affected: 0, rows_touched: 0, in_transaction: false, rolled_back: false, copied_bytes: 0 }
Reply 0 Queue Reply { error: Some(ServerError { class: Other, code: "skipped", sqlstate: "", message: "skipped after an earlier error in the same pipeline" }), results: [], rows_returned: 0, rows_affected: 0, rows_touched: 0, in_transaction: false, rolled_back: false, copied_bytes: 0 }
Reply 99 Wait Reply { error: None, results: [], rows_returned: 0, rows_affected: 0, rows_touched: 0, in_transaction: false, rolled_back: false, copied_bytes: 0 }
Reply 0 Wait Reply { error: None, results: [], rows_returned: 2, rows_affected: 0, rows_touched: 2, in_transaction: false, rolled_back: false, copied_bytes: 0 }"#;

#[test]
fn client_and_server_agree_in_every_query_mode() {
    let statements = vec!["select $1", "update $1", "fail"];
    for query_mode in [QueryMode::Prepared, QueryMode::Extended, QueryMode::Simple] {
        let login = scenarios::login("in memory", "anybody", None);
        // Without preparing before the run there is nothing to wait for.
        let skipped = usize::from(query_mode != QueryMode::Prepared);
        let steps = steps().split_off(skipped);
        let scenario = Scenario { query_mode, statements: statements.clone(), steps, ..login };
        let (server, database) = (Server::default(), Few::default());
        let mut peer = InMemory { server, database, outgoing: Vec::new() };
        let story = driver::play(&scenario, &mut peer);
        let first = if skipped == 0 { 2 } else { 1 };
        let expected: Vec<&str> = EXPECTED.trim().lines().collect();
        assert_eq!(story.events[first..], expected, "{query_mode:?}");
    }
}

#[test]
fn rubbish_is_an_error_for_the_server_too() {
    for rubbish in [&b"\0\0\0\x04"[..], b"\xff\xff\xff\xff", b"GET / HTTP/1.1\r\n"] {
        let mut command = CannedReply::command("OK");
        let mut out = Vec::new();
        assert!(Server::default().receive(rubbish, &mut command, &mut out).is_err(), "{rubbish:?}");
    }
}

#[test]
fn a_client_that_leaves_is_gone() {
    let mut connection = driver::connection(&scenarios::login("in memory", "anybody", None));
    let opening = driver::opening(&scenarios::login("in memory", "anybody", None));
    let (mut server, mut command, mut sent) =
        (Server::default(), CannedReply::command("OK"), vec![]);
    connection.start(opening, &mut sent);
    connection.terminate(&mut sent);
    server.receive(&sent, &mut command, &mut Vec::new()).expect("a good client");
    assert!(server.is_closed());
}
