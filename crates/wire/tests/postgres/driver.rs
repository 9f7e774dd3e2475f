//! Drives a connection through a scenario and records its events.

use crate::common::{Peer, Story};
use dbdyno_model::{Flow, Keep, QueryMode, Request, Statement, StatementId, Value};
use dbdyno_wire::ProtocolError;
use dbdyno_wire::postgres::{Channel, Config, Connection, Event, Opening, Version, copy};
use std::sync::Arc;

/// A login and the steps after it.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) user: &'static str,
    pub(crate) password: Option<&'static str>,
    pub(crate) database: &'static str,
    pub(crate) query_mode: QueryMode,
    pub(crate) version: Version,
    pub(crate) channel: Channel,
    pub(crate) statements: Vec<&'static str>,
    pub(crate) steps: Vec<Step>,
}

/// Something the client does.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    PrepareAll,
    Text(&'static str, Keep),
    Run(u32, Vec<Value>, Keep),
    Queue(u32, Vec<Value>),
    Sync(Flow),
    CopyBegin(&'static str),
    CopyRows,
    CopyDone,
}

/// The statement that texts and synchronization points are counted under.
const OTHER: StatementId = StatementId(99);

pub(crate) fn connection(scenario: &Scenario) -> Connection {
    let config = Config {
        user: scenario.user.into(),
        database: scenario.database.into(),
        password: scenario.password.map(Into::into),
        parameters: vec![("application_name".into(), "dbdyno".into())],
        query_mode: scenario.query_mode,
    };
    let statements: Vec<Statement> = scenario.statements.iter().map(|sql| statement(sql)).collect();
    Connection::new(Arc::new(config), statements.into())
}

fn statement(sql: &str) -> Statement {
    let parameters = sql.matches('$').count() as u32;
    Statement { sql: sql.into(), parameters, ..Statement::default() }
}

pub(crate) fn opening(scenario: &Scenario) -> Opening {
    let nonce = *b"not a random nonce";
    Opening { version: scenario.version, channel: scenario.channel.clone(), nonce }
}

/// Runs the scenario to its end, or to the peer's.
pub(crate) fn play(scenario: &Scenario, peer: &mut dyn Peer) -> Story {
    play_with(&mut connection(scenario), scenario, peer)
}

/// The same, on a connection that the caller inspects afterwards.
pub(crate) fn play_with(
    connection: &mut Connection,
    scenario: &Scenario,
    peer: &mut dyn Peer,
) -> Story {
    let mut player = Player { connection, peer, events: Vec::new() };
    let error = player.play(scenario).err();
    Story { events: player.events, error }
}

struct Player<'a> {
    connection: &'a mut Connection,
    peer: &'a mut dyn Peer,
    events: Vec<String>,
}

impl Player<'_> {
    fn play(&mut self, scenario: &Scenario) -> Result<(), ProtocolError> {
        let mut out = Vec::new();
        self.connection.start(opening(scenario), &mut out);
        self.peer.send(&out);
        let mut alive = self.settle()?;
        for step in &scenario.steps {
            if !alive {
                return Ok(());
            }
            out.clear();
            let waits = self.take(step, &mut out);
            self.peer.send(&out);
            alive = !waits || self.settle()?;
        }
        Ok(())
    }

    /// Performs a step; returns whether an event must be waited for.
    fn take(&mut self, step: &Step, out: &mut Vec<u8>) -> bool {
        let connection = &mut *self.connection;
        match step {
            Step::PrepareAll => return connection.prepare_all(out),
            Step::Text(sql, keep) => {
                connection.request(&Request::Text { statement: OTHER, sql, keep: *keep }, out);
            }
            Step::Run(id, parameters, keep) => {
                connection.request(&parameterized(*id, parameters, *keep, Flow::Wait), out);
            }
            Step::Queue(id, parameters) => {
                connection.request(&parameterized(*id, parameters, Keep::None, Flow::Queue), out);
                return false;
            }
            Step::Sync(flow) => {
                connection.request(&Request::Sync { statement: OTHER, flow: *flow }, out);
                return *flow == Flow::Wait;
            }
            Step::CopyBegin(sql) => connection.rows_begin(OTHER, sql, out),
            Step::CopyRows => {
                write_rows(out);
                return false;
            }
            Step::CopyDone => connection.rows_done(out),
        }
        true
    }

    /// Continues until the client has something to do; false at the end of the connection.
    fn settle(&mut self) -> Result<bool, ProtocolError> {
        let mut out = Vec::new();
        loop {
            while let Some(event) = self.connection.poll(&mut out)? {
                let turn = turn(&event);
                self.events.push(describe(&event));
                match turn {
                    Turn::Server => {}
                    Turn::Client => return Ok(true),
                    Turn::Nobody => return Ok(false),
                }
            }
            if !out.is_empty() {
                self.peer.send(&out);
                out.clear();
            }
            let received = self.peer.receive();
            if received.is_empty() {
                self.events.push("end of the connection".into());
                return Ok(false);
            }
            assert_eq!(self.connection.feed(&received), received.len());
        }
    }
}

fn parameterized(id: u32, parameters: &[Value], keep: Keep, flow: Flow) -> Request<'_> {
    Request::Parameterized { statement: StatementId(id), parameters, keep, flow }
}

/// Three rows of (int4, int8, text, timestamp), the last one full of NULLs.
fn write_rows(out: &mut Vec<u8>) {
    copy::block(out, |block| {
        block.header();
        block.row(4).int4(1).int8(-2).text("one").timestamp(0);
        block.row(4).int4(2).int8(1 << 40).text("").timestamp(86_400_000_000);
    });
    copy::block(out, |block| {
        block.row(4).null().null().null().null();
        block.trailer();
    });
}

/// Who must act after an event.
enum Turn {
    Server,
    Client,
    Nobody,
}

fn turn(event: &Event<'_>) -> Turn {
    match event {
        Event::Ready(_)
        | Event::Prepared { .. }
        | Event::RowsWanted
        | Event::Reply { flow: Flow::Wait, .. } => Turn::Client,
        Event::Reply { flow: Flow::Queue, .. } | Event::Notice(_) => Turn::Server,
        Event::Fatal(_) | Event::VersionRefused(_) | Event::StartTls => Turn::Nobody,
    }
}

fn describe(event: &Event<'_>) -> String {
    match event {
        Event::Ready(session) => {
            let encoding = session.parameter("client_encoding").unwrap_or("unknown");
            format!("Ready {:?}, encoding {encoding}", session.version)
        }
        Event::Reply { statement, flow, reply } => {
            format!("Reply {} {flow:?} {reply:?}", statement.0)
        }
        Event::RowsWanted => "CopyInReady".into(), // as recorded
        other => format!("{other:?}"),
    }
}
