//! The cost of a prepared one-row select on either side, without a socket.
//!
//! Prints the best of several rounds: on a shared machine the others measure other programs.

#![allow(clippy::disallowed_methods)] // A bench needs a clock.

use dbdyno_model::{Flow, Keep, QueryMode, Request, Statement, StatementId, Value};
use dbdyno_wire::postgres::{Channel, Config, Connection, Event, Opening, Version};
use dbdyno_wire::testserver::postgres::{CannedReply, Server};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

const ROUNDS: usize = 15;
const REQUESTS: u32 = 200_000;

struct Bench {
    connection: Connection,
    server: Server,
    answer: CannedReply,
    parameters: [Value; 1],
    sent: Vec<u8>,
    received: Vec<u8>,
}

impl Bench {
    fn prepared() -> Self {
        let config = Config {
            user: "bench".into(),
            database: "bench".into(),
            password: None,
            parameters: vec![],
            query_mode: QueryMode::Prepared,
        };
        let sql = "SELECT abalance FROM pgbench_accounts WHERE aid = $1".to_owned();
        let statement = Statement { sql, parameters: 1, ..Statement::default() };
        let mut bench = Self {
            connection: Connection::new(Arc::new(config), [statement].into()),
            server: Server::default(),
            answer: CannedReply::rows(&["abalance"], &[&[Some("-4711")]]),
            parameters: [Value::Int(4_242_424)],
            sent: Vec::new(),
            received: Vec::new(),
        };
        let opening = Opening { version: Version::V3_0, channel: Channel::Plain, nonce: [0; 18] };
        bench.connection.start(opening, &mut bench.sent);
        bench.serve();
        bench.listen();
        bench.connection.prepare_all(&mut bench.sent);
        bench.serve();
        bench.listen();
        bench
    }

    fn exchange(&mut self) {
        let request = Request::Parameterized {
            statement: StatementId(0),
            parameters: black_box(&self.parameters),
            keep: Keep::None,
            flow: Flow::Wait,
        };
        self.connection.request(&request, &mut self.sent);
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
    let mut bench = Bench::prepared();
    bench.exchange();
    bench.serve();
    report("client: encode the request, walk the answer", || {
        bench.exchange();
        bench.sent.clear();
        assert_eq!(bench.listen(), 1);
    });
    report("client and null server", || {
        bench.exchange();
        bench.serve();
        assert_eq!(bench.listen(), 1);
    });
    println!("size of a connection, its buffer not counted: {} bytes", size_of::<Connection>());
}
