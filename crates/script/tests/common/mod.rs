//! Compiling and running scripts in tests, without a server.

#![allow(dead_code, reason = "each test file uses its part")]

use dbdyno_model::{
    FailureClass, Purpose, QueryMode, Reply, Request, ResultSet, Scalar, Script, ServerError,
    Stream,
};
use dbdyno_script::pgbench::{Compilation, Options, PgbenchExecution, Program, compile};
use dbdyno_script::{Execution, Fault, Problem, Resume, Step};
use dbdyno_sql::Dialect;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

thread_local! {
    static PRINTED: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Options that allow everything and record what is printed on this thread.
pub(crate) const OPTIONS: Options = Options {
    seed: 7,
    allow_shell: true,
    dialect: Dialect::Postgresql,
    has_copy: true,
    print: remember,
};

fn remember(line: &str) {
    PRINTED.with_borrow_mut(|lines| lines.push(line.to_owned()));
}

/// Scripts of weight 1 with the names `s0`, `s1`, …
pub(crate) fn scripts(texts: &[&str]) -> Vec<Script> {
    let script = |(index, text): (usize, &&str)| Script {
        name: format!("s{index}"),
        weight: 1,
        text: (*text).into(),
        ..Script::default()
    };
    texts.iter().enumerate().map(script).collect()
}

/// The program, or its problems.
pub(crate) fn compiled(
    texts: &[&str],
    variables: &BTreeMap<String, Scalar>,
    mode: QueryMode,
) -> Result<Arc<Program>, Vec<Problem>> {
    let Compilation { program, problems } = compile(&scripts(texts), variables, mode, OPTIONS);
    program.map(Arc::new).ok_or(problems)
}

/// The program of scripts, without variables of the plan.
pub(crate) fn program(texts: &[&str], mode: QueryMode) -> Arc<Program> {
    compiled(texts, &BTreeMap::new(), mode).unwrap()
}

/// Problems as lines.
pub(crate) fn problems(texts: &[&str], mode: QueryMode, options: Options) -> Vec<String> {
    let found = compile(&scripts(texts), &BTreeMap::new(), mode, options);
    found.problems.iter().map(ToString::to_string).collect()
}

/// The stream of transaction `number`.
pub(crate) fn chance(number: u64) -> Stream {
    Stream::keyed(OPTIONS.seed, Purpose::Script, 0, number)
}

/// What one transaction of the first script prints; no request is answered.
pub(crate) fn printed(program: &Arc<Program>) -> Vec<String> {
    PRINTED.take();
    let mut execution = program.execution(0);
    execution.begin(0, chance(0));
    while let Ok(step) = execution.resume(Resume::Continue) {
        if step == Step::Done {
            break;
        }
    }
    PRINTED.take()
}

/// An answer with one row, and its columns.
pub(crate) fn row(columns: &[&str], fields: &[Option<&str>]) -> ResultSet {
    ResultSet {
        columns: columns.iter().map(|&name| name.into()).collect(),
        row_count: 1,
        rows: [fields.iter().copied()].into_iter().collect(),
    }
}

/// A reply with these answers, outside a transaction.
pub(crate) fn reply(results: &[ResultSet]) -> Reply<'_> {
    Reply { error: None, results, rows_returned: 0, rows_affected: 0, ..Reply::default() }
}

/// A retryable failure.
pub(crate) fn serialization_failure() -> ServerError {
    ServerError::new(FailureClass::Serialization, "40001", "could not serialize")
}

/// The text of a request in the simple protocol.
pub(crate) fn text(step: Step<'_>) -> String {
    match step {
        Step::Request(_, Request::Text { sql, .. }) => sql.into(),
        other => panic!("{other:?}"),
    }
}

/// The texts of all requests that one transaction of a script sends, each answered with nothing.
pub(crate) fn texts(execution: &mut PgbenchExecution, script: usize, number: u64) -> Vec<String> {
    execution.begin(script, chance(number));
    let mut sent = Vec::new();
    let mut input = Resume::Continue;
    let answer = reply(&[]);
    loop {
        match execution.resume(input).unwrap() {
            Step::Done => return sent,
            step => sent.push(text(step)),
        }
        input = Resume::Reply(&answer);
    }
}

/// The fault with which a transaction of the first script ends, when no request is answered.
pub(crate) fn fault(program: &Arc<Program>) -> Option<Fault> {
    let mut execution = program.execution(0);
    execution.begin(0, chance(0));
    loop {
        match execution.resume(Resume::Continue) {
            Ok(Step::Done) => return None,
            Ok(_) => {}
            Err(fault) => return Some(fault),
        }
    }
}
