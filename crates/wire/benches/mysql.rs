//! The cost of a one-row select on either side, without a socket.
//!
//! Prints the best of several rounds: on a shared machine the others measure other programs.

#![allow(clippy::disallowed_methods)] // A bench needs a clock.

use dbdyno_model::{Flow, Keep, QueryMode, Request, Statement, StatementId, Value};
use dbdyno_wire::mysql::{Channel, Config, Connection, Event, Opening};
use dbdyno_wire::testserver::mysql::{CannedReply, Server};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

const ROUNDS: usize = 15;
const REQUESTS: u32 = 200_000;

const PARAMETERS: &[Value] = &[Value::Int(4_242_424)];
const PREPARED: Request<'static> = Request::Parameterized {
    statement: StatementId(0),
    parameters: PARAMETERS,
    keep: Keep::None,
    flow: Flow::Wait,
};
const TEXT: Request<'static> = Request::Text {
    statement: StatementId(0),
    sql: "SELECT abalance FROM pgbench_accounts WHERE aid = 4242424",
    keep: Keep::None,
};

struct Bench {
    connection: Connection,
    server: Server,
    answer: CannedReply,
    sent: Vec<u8>,
    received: Vec<u8>,
}

impl Bench {
    fn new() -> Self {
        let config = Config {
            user: "bench".into(),
            database: "bench".into(),
            password: None,
            query_mode: QueryMode::Prepared,
            attributes: vec![],
            local_infile: false,
            session_commands: vec![],
        };
        let sql = "SELECT abalance FROM pgbench_accounts WHERE aid = $1".to_owned();
        let statement = Statement { sql, parameters: 1, ..Statement::default() };
        let mut received = Vec::new();
        let mut bench = Self {
            connection: Connection::new(Arc::new(config), [statement].into()),
            server: Server::greet(&mut received),
            answer: CannedReply::rows(&["abalance"], &[&[Some("-4711")]]),
            sent: Vec::new(),
            received,
        };
        let opening = Opening { channel: Channel::Unix, nonce: [0; 32] };
        bench.connection.start(opening, &mut bench.sent);
        bench.listen();
        bench.serve();
        bench.listen();
        bench.connection.prepare_all(&mut bench.sent);
        bench.serve();
        bench.listen();
        bench
    }

    fn exchange(&mut self, request: &Request<'_>) {
        self.connection.request(black_box(request), &mut self.sent);
    }

    fn serve(&mut self) {
        self.received.clear();
        let received = self.server.receive(&self.sent, &mut self.answer, &mut self.received);
        received.expect("a good client");
        self.sent.clear();
    }

    /// Receives the server's last message again, as if it had just arrived.
    fn listen(&mut self) -> u64 {
        self.connection.feed(&self.received);
        let mut rows = 0;
        while let Some(event) = self.connection.poll(&mut self.sent).expect("a good server") {
            if let Event::Reply { reply, .. } = event {
                rows += reply.rows_returned;
            }
        }
        rows
    }
}

fn report(what: &str, mut once: impl FnMut()) {
    let round = || {
        let start = Instant::now();
        (0..REQUESTS).for_each(|_| once());
        start.elapsed().as_secs_f64() * 1e9 / f64::from(REQUESTS)
    };
    let best = std::iter::repeat_with(round).take(ROUNDS).fold(f64::INFINITY, f64::min);
    println!("{what:<48} {best:7.1} ns");
}

fn main() {
    let mut bench = Bench::new();
    for (name, request) in [("prepared", PREPARED), ("text", TEXT)] {
        bench.exchange(&request);
        bench.serve();
        bench.listen();
        report(&format!("client, {name}: encode, walk the answer"), || {
            bench.exchange(&request);
            bench.sent.clear();
            assert_eq!(bench.listen(), 1);
        });
    }
    report("client and null server, prepared", || {
        bench.exchange(&PREPARED);
        bench.serve();
        assert_eq!(bench.listen(), 1);
    });
    println!("size of a connection, its buffer not counted: {} bytes", size_of::<Connection>());
}
