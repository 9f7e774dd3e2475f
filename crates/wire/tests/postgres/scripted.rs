//! Statements that a script prepares while running: what is sent, and what is remembered.

use dbdyno_model::{Keep, PreparedId, QueryMode, Request, StatementId, Value};
use dbdyno_wire::postgres::{Channel, Config, Connection, Event, Opening, Version};
use std::sync::Arc;

const LOGGED_IN: &[u8] = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";
/// Parsed, one parameter of type int4, no columns, synchronized.
const PREPARED: &[u8] = b"1\0\0\0\x04t\0\0\0\x0a\0\x01\0\0\0\x17n\0\0\0\x04Z\0\0\0\x05I";
const CLOSED: &[u8] = b"3\0\0\0\x04";
const REFUSED: &[u8] = b"E\0\0\0\x13SERROR\0C42P01\0\0Z\0\0\0\x05I";
const EXECUTED: &[u8] = b"2\0\0\0\x04C\0\0\0\x0dUPDATE 1\0Z\0\0\0\x05I";

fn established() -> Connection {
    let config = Config {
        user: "u".into(),
        database: "d".into(),
        password: None,
        parameters: vec![],
        query_mode: QueryMode::Prepared,
    };
    let mut connection = Connection::new(Arc::new(config), [].into());
    log_in(&mut connection);
    connection
}

fn log_in(connection: &mut Connection) {
    let opening = Opening { version: Version::V3_0, channel: Channel::Plain, nonce: [0; 18] };
    connection.start(opening, &mut Vec::new());
    connection.feed(LOGGED_IN);
    assert!(matches!(connection.poll(&mut Vec::new()), Ok(Some(Event::Ready(_)))));
}

/// Makes a request, answers it, and returns the messages that were sent and the error's code.
fn exchange(connection: &mut Connection, request: &Request<'_>, answer: &[u8]) -> (String, String) {
    let mut out = Vec::new();
    connection.request(request, &mut out);
    connection.feed(answer);
    match connection.poll(&mut Vec::new()) {
        Ok(Some(Event::Reply { reply, .. })) => {
            let code = reply.error.map(|error| error.code.clone());
            (messages(&out), code.unwrap_or_default())
        }
        other => panic!("a reply was expected, not {other:?}"),
    }
}

/// The tags of the messages, with the text of those that carry one.
fn messages(mut bytes: &[u8]) -> String {
    let mut described = String::new();
    while let [tag, a, b, c, d, rest @ ..] = bytes {
        let length = u32::from_be_bytes([*a, *b, *c, *d]) as usize - 4;
        let body = String::from_utf8_lossy(&rest[..length]);
        let words: Vec<&str> = body.split('\0').filter(|word| word.len() > 1).collect();
        described.push(*tag as char);
        described.push_str(&if *tag == b'B' { String::new() } else { words.join(" ") });
        bytes = &rest[length..];
        described.push_str(if bytes.is_empty() { "" } else { ", " });
    }
    described
}

fn prepare(sql: &str) -> Request<'_> {
    Request::Prepare { statement: StatementId::UNCOUNTED, prepared: PreparedId(0), sql }
}

fn execute<'a>(sql: &'a str, parameters: &'a [Value]) -> Request<'a> {
    let (statement, prepared, keep) = (StatementId(0), PreparedId(0), Keep::None);
    Request::Execute { statement, prepared, sql, parameters, keep }
}

#[test]
fn a_statement_is_prepared_once_and_then_executed() {
    let mut connection = established();
    let described = exchange(&mut connection, &prepare("update $1"), PREPARED);
    assert_eq!(described, ("Ps0 update $1, DSs0, S".into(), String::new()));
    for _ in 0..2 {
        let parameters = [Value::Int(1)];
        let described = exchange(&mut connection, &execute("update $1", &parameters), EXECUTED);
        assert_eq!(described, ("B, E, S".into(), String::new()));
    }
}

#[test]
fn another_text_under_the_same_number_closes_the_first() {
    let mut connection = established();
    exchange(&mut connection, &prepare("first"), PREPARED);
    let answer = [CLOSED, PREPARED].concat();
    let described = exchange(&mut connection, &prepare("second"), &answer);
    assert_eq!(described, ("CSs0, Ps0 second, DSs0, S".into(), String::new()));
}

#[test]
fn what_could_not_be_prepared_is_tried_again_by_its_use() {
    let mut connection = established();
    let described = exchange(&mut connection, &prepare("second"), REFUSED);
    assert_eq!(described.1, "42P01");
    let answer = [CLOSED, &PREPARED[..PREPARED.len() - 6], EXECUTED].concat();
    let described = exchange(&mut connection, &execute("second", &[]), &answer);
    assert_eq!(described, ("CSs0, Ps0 second, DSs0, B, E, S".into(), String::new()));
}

#[test]
fn a_new_session_prepares_again() {
    let mut connection = established();
    exchange(&mut connection, &prepare("first"), PREPARED);
    log_in(&mut connection);
    let answer = [&PREPARED[..PREPARED.len() - 6], EXECUTED].concat();
    let described = exchange(&mut connection, &execute("first", &[]), &answer);
    assert_eq!(described, ("Ps0 first, DSs0, B, E, S".into(), String::new()));
}
