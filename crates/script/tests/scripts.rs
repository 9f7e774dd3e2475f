//! Whole scripts send here what the real pgbench sends: statements and parameters as a server
//! logged them, made by `data/make_scripts.py`.
//!
//! Two liberties are taken: the semicolon that ends a command and the blanks before it are not
//! sent, and numbers are compared as numbers, since the server logged them by its own types.

mod common;

use common::{chance, compiled, reply};
use dbdyno_model::{Keep, QueryMode, Request, ResultSet, Scalar, Statement, Value};
use dbdyno_script::{PgbenchSession, Resume, Session, Step};
use serde_json::Value as Json;
use std::collections::BTreeMap;

const CASES: &str = include_str!("data/scripts.json");

/// A statement and its parameters.
type Sent = (String, Vec<String>);

fn without_closing(sql: &str) -> String {
    sql.trim_end().trim_end_matches(';').trim_end().into()
}

/// What the server got from pgbench.
fn expected(case: &Json) -> Vec<Sent> {
    let sent = |entry: &Json| {
        let parameters = entry["parameters"].as_array().unwrap().iter();
        let sql = without_closing(entry["sql"].as_str().unwrap());
        (sql, parameters.map(|value| value.as_str().unwrap().into()).collect())
    };
    case["sent"].as_array().unwrap().iter().map(sent).collect()
}

/// The answers to queries whose rows are stored.
fn answers(case: &Json) -> Vec<Vec<ResultSet>> {
    let result = |row: &Json| {
        let row = row.as_object().unwrap();
        let fields = row.values().map(|field| field.as_str().map(Into::into)).collect();
        ResultSet {
            columns: row.keys().cloned().collect(),
            row_count: u64::from(!row.is_empty()),
            rows: if row.is_empty() { vec![] } else { vec![fields] },
        }
    };
    let results = |answer: &Json| answer.as_array().unwrap().iter().map(result).collect();
    case["answers"].as_array().unwrap().iter().map(results).collect()
}

/// A parameter as the server logs it.
fn logged(value: &Value) -> String {
    match value {
        Value::Null => "NULL".into(),
        Value::Bool(truth) => if *truth { "t" } else { "f" }.into(),
        Value::Int(number) => number.to_string(),
        Value::Double(number) => format!("{number:?}"),
        Value::Text(text) => text.clone(),
    }
}

fn sent(request: &Request<'_>, statements: &[Statement]) -> Option<Sent> {
    match request {
        Request::Text { sql, .. } => Some(((*sql).into(), vec![])),
        Request::Parameterised { statement, parameters, .. } => {
            let sql = statements[statement.0 as usize].sql.clone();
            Some((sql, parameters.iter().map(logged).collect()))
        }
        Request::Sync { .. } => None,
        // What comes up while a script runs is of other languages.
        Request::Prepare { .. } | Request::Execute { .. } => unreachable!("{request:?}"),
    }
}

fn keep(request: &Request<'_>) -> Keep {
    match request {
        Request::Text { keep, .. } | Request::Parameterised { keep, .. } => *keep,
        _ => Keep::None,
    }
}

/// Runs one transaction against the case's answers.
fn run(session: &mut PgbenchSession, statements: &[Statement], case: &Json) -> Vec<Sent> {
    let mut answers = answers(case).into_iter();
    let mut answer = vec![];
    let mut found = Vec::new();
    session.begin(0, chance(0));
    loop {
        let results = std::mem::take(&mut answer);
        let step = session.resume(Resume::Reply(&reply(&results))).unwrap();
        match step {
            Step::Done => return found,
            Step::Request(request) => {
                found.extend(sent(&request, statements));
                if keep(&request) == Keep::LastRow {
                    answer = answers.next().unwrap();
                }
            }
            Step::Sleep(_) => {}
            Step::Shell { .. } => return shell(session, statements, found),
            other => unreachable!("not of this language: {other:?}"),
        }
    }
}

/// The rest of a transaction whose shell command printed 42.
fn shell(
    session: &mut PgbenchSession,
    statements: &[Statement],
    mut found: Vec<Sent>,
) -> Vec<Sent> {
    if let Step::Request(request) = session.resume(Resume::Shell(Ok("42\n"))).unwrap() {
        found.extend(sent(&request, statements));
    }
    found
}

fn is_same(found: &Sent, expected: &Sent) -> bool {
    found.0 == expected.0
        && found.1.len() == expected.1.len()
        && found.1.iter().zip(&expected.1).all(|(found, expected)| is_near(found, expected))
}

/// Whether two values are the same, as texts or as numbers of 15 digits.
fn is_near(found: &str, expected: &str) -> bool {
    match (found.parse::<f64>(), expected.parse::<f64>()) {
        (Ok(a), Ok(b)) if found != expected => (a - b).abs() <= a.abs() * 1e-14,
        _ => found == expected,
    }
}

#[test]
fn all_scripts_send_what_pgbench_sends() {
    let variables = BTreeMap::from([("given".to_owned(), Scalar::Text("0050".into()))]);
    let cases: Vec<Json> = serde_json::from_str(CASES).unwrap();
    assert!(!cases.is_empty());
    for case in &cases {
        let mode: QueryMode = serde_json::from_value(case["mode"].clone()).unwrap();
        let script = case["script"].as_str().unwrap();
        let program = compiled(&[script], &variables, mode).unwrap();
        let found = run(&mut program.session(0), program.statements(), case);
        let expected = expected(case);
        let is_all_same = found.len() == expected.len()
            && found.iter().zip(&expected).all(|(found, expected)| is_same(found, expected));
        assert!(is_all_same, "{mode:?} {script}\n{found:#?}\n{expected:#?}");
    }
}
