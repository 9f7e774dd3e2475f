//! A fake server: receives an execution's requests, answers them, and records them.

use dbdyno_model::{
    ConnectionId, Keep, Nanos, PreparedId, Purpose, Reply, Request, ResultSet, Script, ServerError,
    Stream, Value,
};
use dbdyno_script::lua::{Driver, Program, Settings, compile};
use dbdyno_script::{Execution, Fault, Problem, Resume, Step};
use std::cell::RefCell;
use std::collections::BTreeMap;

thread_local! {
    static PRINTED: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

fn remember(line: &str) {
    PRINTED.with_borrow_mut(|lines| lines.push(line.to_owned()));
}

/// What scripts have printed on this thread since the last call.
pub(crate) fn printed() -> Vec<String> {
    PRINTED.take()
}

pub(crate) fn settings() -> Settings {
    Settings {
        command: "run".into(),
        path: "test.lua".into(),
        arguments: BTreeMap::new(),
        modules: BTreeMap::new(),
        driver: Driver::Mysql,
        prepares: true,
        clients: 1,
        servers: 1,
        seed: 7,
        allow_unsafe: false,
        print: remember,
    }
}

/// The same with options, given as `name=text`.
pub(crate) fn with_options(options: &[&str]) -> Settings {
    let parsed = options.iter().map(|option| match option.split_once('=') {
        Some((name, text)) => (name.into(), text.into()),
        None => ((*option).into(), String::new()),
    });
    Settings { arguments: parsed.collect(), ..settings() }
}

pub(crate) fn program_with(text: &str, settings: Settings) -> Result<Program, Vec<Problem>> {
    let script =
        Script { name: "test.lua".into(), weight: 1, text: text.into(), ..Script::default() };
    compile(&script, settings)
}

pub(crate) fn program(text: &str) -> Program {
    program_with(text, settings()).expect("a script without problems")
}

/// The one problem of a script.
pub(crate) fn problem_of(text: &str, settings: Settings) -> String {
    let problems = program_with(text, settings).expect_err("a problem");
    assert_eq!(problems.len(), 1);
    problems[0].to_string()
}

/// The server's answer to a request.
pub(crate) enum Answer {
    /// This many rows affected.
    Affected(u64),
    /// Rows of text.
    Rows(Vec<Vec<Option<&'static str>>>),
    /// Several results of rows.
    Results(Vec<Vec<Vec<Option<&'static str>>>>),
    /// The server's error.
    Error(ServerError),
}

/// An error of MySQL.
pub(crate) fn mysql_error(number: u16, state: &str) -> Answer {
    Answer::Error(ServerError::from_mysql(number, Some(state), format!("error {number}")))
}

/// Answers every request in the same way.
pub(crate) fn nothing(_: &str) -> Answer {
    Answer::Affected(0)
}

/// A client and its server.
pub(crate) struct Client<'a> {
    pub(crate) execution: Box<dyn Execution>,
    server: Box<dyn FnMut(&str) -> Answer + 'a>,
    /// All requests, as text.
    pub(crate) requests: Vec<String>,
    /// The request, as text, that [`stop_at`](Self::stop_at) refers to.
    number: u64,
}

impl<'a> Client<'a> {
    pub(crate) fn new(program: &Program, server: impl FnMut(&str) -> Answer + 'a) -> Self {
        let execution = program.executions([0].into_iter()).expect("a Lua state").remove(0);
        Self::of(execution, server)
    }

    pub(crate) fn of(
        execution: Box<dyn Execution>,
        server: impl FnMut(&str) -> Answer + 'a,
    ) -> Self {
        Self { execution, server: Box::new(server), requests: Vec::new(), number: 0 }
    }

    /// A thread of the command that the script was compiled for.
    pub(crate) fn of_command(program: &Program, thread: u32) -> Self {
        let execution = program.executions([thread].into_iter()).expect("a Lua state").remove(0);
        let mut client = Self::of(execution, nothing);
        assert!(!client.execution.set_up(chance(u64::MAX)));
        client.begin();
        client
    }

    /// Runs setup, this many events and teardown; returns the requests, but for the end of its
    /// connection if the teardown does nothing else.
    pub(crate) fn live(mut self, events: u64) -> Result<Vec<String>, Fault> {
        self.set_up()?;
        for _ in 0..events {
            self.event()?;
        }
        let before = self.requests.len();
        self.tear_down()?;
        if self.requests[before..] == ["disconnect 0"] {
            self.requests.truncate(before);
        }
        Ok(self.requests)
    }

    pub(crate) fn set_up(&mut self) -> Result<(), Fault> {
        assert!(self.execution.set_up(chance(u64::MAX)));
        self.run_to_end()
    }

    pub(crate) fn event(&mut self) -> Result<(), Fault> {
        self.begin();
        self.run_to_end()
    }

    pub(crate) fn begin(&mut self) {
        self.execution.begin(0, chance(self.number));
        self.number += 1;
    }

    pub(crate) fn tear_down(&mut self) -> Result<(), Fault> {
        assert!(self.execution.tear_down(chance(u64::MAX - 1)));
        self.run_to_end()
    }

    /// Resumes the execution until it is done.
    pub(crate) fn run_to_end(&mut self) -> Result<(), Fault> {
        let mut after = After::Goes(None);
        while let After::Goes(answer) = after {
            after = self.step(answer)?;
        }
        Ok(())
    }

    fn step(&mut self, answer: Option<(Answer, Keep)>) -> Result<After, Fault> {
        let step = resume(&mut *self.execution, answer)?;
        let Step::Request(connection, request) = step else {
            let ends = matches!(step, Step::Done | Step::Stop { .. });
            match step {
                Step::Done => {}
                Step::Sleep(Nanos(pause)) => self.requests.push(format!("sleep {pause} ns")),
                Step::Connect { connection: ConnectionId(number), server } => {
                    self.requests.push(format!("connect {number} to {server}"));
                }
                Step::Disconnect(ConnectionId(number)) => {
                    self.requests.push(format!("disconnect {number}"));
                }
                other => self.requests.push(format!("{other:?}").to_lowercase()),
            }
            return Ok(if ends { After::Over } else { After::Goes(None) });
        };
        let described = describe(connection, &request);
        let (sql, keep) = match request {
            Request::Prepare { sql, .. } => (sql, Keep::None),
            Request::Execute { sql, keep, .. } | Request::Text { sql, keep, .. } => (sql, keep),
            _ => unreachable!("no pipelines here"),
        };
        let answer = (self.server)(sql);
        self.requests.push(described);
        Ok(After::Goes(Some((answer, keep))))
    }

    /// The first request of a transaction that is then given up.
    pub(crate) fn first_request(&mut self) -> String {
        match self.execution.resume(Resume::Continue).expect("no fault") {
            Step::Request(connection, request) => describe(connection, &request),
            other => format!("{other:?}"),
        }
    }
}

/// What follows a step: nothing, or another with the answer that it needs, if any.
enum After {
    Over,
    Goes(Option<(Answer, Keep)>),
}

fn resume(
    execution: &mut dyn Execution,
    answer: Option<(Answer, Keep)>,
) -> Result<Step<'_>, Fault> {
    let Some((answer, keep)) = answer else { return execution.resume(Resume::Continue) };
    let error = match &answer {
        Answer::Error(error) => Some(error.clone()),
        _ => None,
    };
    let results = match &answer {
        Answer::Rows(rows) => vec![result_set(rows)],
        Answer::Results(results) => results.iter().map(|rows| result_set(rows)).collect(),
        Answer::Affected(_) | Answer::Error(_) => Vec::new(),
    };
    let rows_affected = if let Answer::Affected(count) = answer { count } else { 0 };
    execution.resume(Resume::Reply(&Reply {
        error: error.as_ref(),
        rows_returned: results.iter().map(|result| result.row_count).sum(),
        results: if keep == Keep::None { &[] } else { &results },
        rows_affected,
        ..Reply::default()
    }))
}

fn result_set(rows: &[Vec<Option<&str>>]) -> ResultSet {
    let width = rows.first().map_or(1, Vec::len);
    ResultSet {
        columns: (0..width).map(|column| format!("c{column}")).collect(),
        row_count: rows.len() as u64,
        rows: rows.iter().map(|row| row.iter().copied()).collect(),
    }
}

pub(crate) fn chance(number: u64) -> Stream {
    Stream::keyed(7, Purpose::Script, 0, number)
}

/// The request; on another connection than the first one after that one's number.
fn describe(connection: ConnectionId, request: &Request<'_>) -> String {
    let described = match request {
        Request::Text { sql, .. } => (*sql).to_owned(),
        Request::Prepare { prepared: PreparedId(number), sql, .. } => {
            format!("prepare {number}: {sql}")
        }
        Request::Execute { prepared: PreparedId(number), parameters, .. } => {
            let values: Vec<String> = parameters.iter().map(describe_value).collect();
            format!("execute {number} ({})", values.join(", "))
        }
        other => format!("{other:?}"),
    };
    match connection {
        ConnectionId::FIRST => described,
        ConnectionId(number) => format!("{number}: {described}"),
    }
}

fn describe_value(value: &Value) -> String {
    match value {
        Value::Null => "NULL".into(),
        Value::Bool(truth) => truth.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Double(number) => format!("{number:?}"),
        Value::Text(text) => format!("'{text}'"),
    }
}
