//! Drives a connection through a scenario and records its events.

use crate::common::{Peer, Story};
use dbdyno_model::{Flow, Keep, PreparedId, QueryMode, Request, Statement, StatementId, Value};
use dbdyno_wire::ProtocolError;
use dbdyno_wire::mysql::{Channel, Config, Connection, Event, Opening};
use std::sync::Arc;

/// A login and the steps after it.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) user: &'static str,
    pub(crate) password: Option<String>,
    pub(crate) database: &'static str,
    pub(crate) query_mode: QueryMode,
    pub(crate) channel: Channel,
    pub(crate) local_infile: bool,
    pub(crate) session_commands: Vec<&'static str>,
    pub(crate) statements: Vec<&'static str>,
    pub(crate) steps: Vec<Step>,
}

/// Something the client does.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    PrepareAll,
    Text(&'static str, Keep),
    /// A text of this many bytes, most of them a comment.
    LongText(usize),
    Run(u32, Vec<Value>, Keep),
    Queue(u32, Vec<Value>),
    Sync(Flow),
    Prepare(u32, &'static str),
    Execute(u32, &'static str, Vec<Value>),
    InfileBegin(&'static str),
    InfileRows(&'static [u8]),
    InfileDone,
}

/// The statement that texts and synchronization points are counted under.
const OTHER: StatementId = StatementId(99);

pub(crate) fn connection(scenario: &Scenario) -> Connection {
    let config = Config {
        user: scenario.user.into(),
        database: scenario.database.into(),
        password: scenario.password.clone(),
        query_mode: scenario.query_mode,
        attributes: vec![("program_name".into(), "dbdyno".into())],
        local_infile: scenario.local_infile,
        session_commands: scenario.session_commands.iter().map(|&sql| sql.into()).collect(),
    };
    let statements: Vec<Statement> = scenario.statements.iter().map(|sql| statement(sql)).collect();
    Connection::new(Arc::new(config), statements.into())
}

fn statement(sql: &str) -> Statement {
    let parameters = sql.matches('$').count() as u32;
    Statement { sql: sql.into(), parameters, ..Statement::default() }
}

pub(crate) fn opening(scenario: &Scenario) -> Opening {
    Opening { channel: scenario.channel, nonce: *b"not a random nonce, not a secret" }
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
        assert!(out.is_empty(), "the server speaks first");
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
        let statement = OTHER;
        match step {
            Step::PrepareAll => return connection.prepare_all(out),
            Step::InfileBegin(sql) => connection.rows_begin(OTHER, sql, out),
            Step::InfileRows(rows) => {
                connection.rows(rows, out);
                return false;
            }
            Step::InfileDone => connection.rows_done(out),
            Step::Text(sql, keep) => {
                connection.request(&Request::Text { statement, sql, keep: *keep }, out);
            }
            Step::LongText(bytes) => {
                let sql = format!("select 1 /*{}*/", "x".repeat(bytes - 13));
                let keep = Keep::None;
                connection.request(&Request::Text { statement, sql: &sql, keep }, out);
            }
            Step::Run(id, parameters, keep) => {
                connection.request(&parameterized(*id, parameters, *keep, Flow::Wait), out);
            }
            Step::Queue(id, parameters) => {
                connection.request(&parameterized(*id, parameters, Keep::None, Flow::Queue), out);
                return false;
            }
            Step::Sync(flow) => {
                connection.request(&Request::Sync { statement, flow: *flow }, out);
                return *flow == Flow::Wait;
            }
            Step::Prepare(id, sql) => {
                let prepared = PreparedId(*id);
                connection.request(&Request::Prepare { statement, prepared, sql }, out);
            }
            Step::Execute(id, sql, parameters) => {
                let (prepared, keep) = (PreparedId(*id), Keep::AllRows);
                let request = Request::Execute { statement, prepared, sql, parameters, keep };
                connection.request(&request, out);
            }
        }
        true
    }

    /// Continues until the client has something to do; false at the end of the connection.
    fn settle(&mut self) -> Result<bool, ProtocolError> {
        let mut out = Vec::new();
        loop {
            let turn = match self.connection.poll(&mut out)? {
                Some(event) => {
                    self.events.push(describe(&event));
                    turn(&event)
                }
                None => Turn::Network,
            };
            self.peer.send(&out);
            out.clear();
            match turn {
                Turn::Server => {}
                Turn::Client => return Ok(true),
                Turn::Encryption => self.go_on_encrypted(),
                Turn::Network if self.receive() => {}
                Turn::Network | Turn::Nobody => return Ok(false),
            }
        }
    }

    /// False at the end of the connection.
    fn receive(&mut self) -> bool {
        let received = self.peer.receive();
        if received.is_empty() {
            self.events.push("end of the connection".into());
        }
        assert_eq!(self.connection.feed(&received), received.len());
        !received.is_empty()
    }

    /// A recording contains unencrypted what was sent encrypted.
    fn go_on_encrypted(&mut self) {
        let mut out = Vec::new();
        self.connection.encrypted(&mut out);
        self.peer.send(&out);
    }
}

fn parameterized(id: u32, parameters: &[Value], keep: Keep, flow: Flow) -> Request<'_> {
    Request::Parameterized { statement: StatementId(id), parameters, keep, flow }
}

/// Who must act after an event.
enum Turn {
    Server,
    /// Nothing has happened.
    Network,
    Client,
    Encryption,
    Nobody,
}

fn turn(event: &Event<'_>) -> Turn {
    match event {
        Event::Ready(_)
        | Event::Prepared { .. }
        | Event::RowsWanted
        | Event::Reply { flow: Flow::Wait, .. } => Turn::Client,
        Event::Reply { flow: Flow::Queue, .. } => Turn::Server,
        Event::StartTls => Turn::Encryption,
        Event::Fatal(_) | Event::VersionRefused(_) | Event::Notice(_) => Turn::Nobody,
    }
}

fn describe(event: &Event<'_>) -> String {
    match event {
        Event::Ready(session) => {
            format!("Ready, MariaDB: {}", session.server_version.contains("MariaDB"))
        }
        Event::Reply { statement, flow, reply } => {
            format!("Reply {} {flow:?} {reply:?}", statement.0)
        }
        Event::RowsWanted => "InfileReady".into(), // as recorded
        other => format!("{other:?}"),
    }
}
