//! Our encoding compared with that of an independent encoder, for any input.

use bytes::{BufMut, BytesMut};
use dbdyno_model::{Flow, Keep, QueryMode, Request, Statement, StatementId, Value};
use dbdyno_wire::postgres::{Channel, Config, Connection, Event, Opening, Version, copy};
use postgres_protocol::IsNull;
use postgres_protocol::message::frontend;
use proptest::prelude::*;
use std::sync::Arc;

const LOGGED_IN: &[u8] = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";
/// Answers to Parse and Describe of one statement, around its types.
const PARSED: &[u8] = b"1\0\0\0\x04";
const NO_DATA: &[u8] = b"n\0\0\0\x04Z\0\0\0\x05I";

/// A connection that is logged in and has one statement.
fn established(query_mode: QueryMode, sql: &str) -> Connection {
    established_with(query_mode, Statement { sql: sql.to_owned(), ..Statement::default() })
}

fn established_with(query_mode: QueryMode, statement: Statement) -> Connection {
    let config = Config {
        user: "u".into(),
        database: "d".into(),
        password: None,
        parameters: vec![],
        query_mode,
    };
    let mut connection = Connection::new(Arc::new(config), [statement].into());
    let opening = Opening { version: Version::V3_0, channel: Channel::Plain, nonce: [0; 18] };
    connection.start(opening, &mut Vec::new());
    connection.feed(LOGGED_IN);
    assert!(matches!(connection.poll(&mut Vec::new()), Ok(Some(Event::Ready(_)))));
    connection
}

/// The same, prepared, with parameters of these types.
fn prepared(types: &[u32]) -> Connection {
    let mut connection = established(QueryMode::Prepared, "select");
    assert!(connection.prepare_all(&mut Vec::new()));
    connection.feed(PARSED);
    connection.feed(&parameter_description(types));
    connection.feed(NO_DATA);
    assert!(matches!(connection.poll(&mut Vec::new()), Ok(Some(Event::Prepared { .. }))));
    connection
}

fn parameter_description(types: &[u32]) -> Vec<u8> {
    let mut message = vec![b't'];
    message.put_u32(6 + 4 * types.len() as u32);
    message.put_u16(types.len() as u16);
    for &type_oid in types {
        message.put_u32(type_oid);
    }
    message
}

fn encode(connection: &mut Connection, parameters: &[Value], keep: Keep, flow: Flow) -> Vec<u8> {
    let mut out = Vec::new();
    let request = Request::Parameterized { statement: StatementId(0), parameters, keep, flow };
    connection.request(&request, &mut out);
    out
}

/// The types whose binary format we use, each with the other encoder's way to write it.
fn other_binary(type_oid: u32, value: &Value, out: &mut BytesMut) -> bool {
    use postgres_protocol::types;
    match (type_oid, value) {
        (16, Value::Bool(truth)) => types::bool_to_sql(*truth, out),
        (20, Value::Int(number)) => types::int8_to_sql(*number, out),
        (21, Value::Int(number)) => match i16::try_from(*number) {
            Ok(small) => types::int2_to_sql(small, out),
            Err(_) => return false,
        },
        (23, Value::Int(number)) => match i32::try_from(*number) {
            Ok(small) => types::int4_to_sql(small, out),
            Err(_) => return false,
        },
        (701, Value::Double(number)) => types::float8_to_sql(*number, out),
        _ => return false,
    }
    true
}

fn other_text(value: &Value) -> String {
    match value {
        Value::Null => unreachable!("NULL has no text"),
        Value::Bool(truth) => truth.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Double(number) => number.to_string(),
        Value::Text(text) => text.clone(),
    }
}

fn other_bind(name: &str, types: &[u32], parameters: &[Value], out: &mut BytesMut) {
    let typed: Vec<(u32, &Value)> = parameters
        .iter()
        .enumerate()
        .map(|(index, value)| (types.get(index).copied().unwrap_or(0), value))
        .collect();
    let formats: Vec<i16> = typed
        .iter()
        .map(|(type_oid, value)| other_binary(*type_oid, value, &mut BytesMut::new()).into())
        .collect();
    let write = |(type_oid, value): (u32, &Value), out: &mut BytesMut| {
        if *value == Value::Null {
            return Ok(IsNull::Yes);
        }
        if !other_binary(type_oid, value, out) {
            out.put_slice(other_text(value).as_bytes());
        }
        Ok(IsNull::No)
    };
    assert!(frontend::bind("", name, formats, typed, write, [], out).is_ok());
}

fn other_execute(flow: Flow, out: &mut BytesMut) {
    frontend::execute("", 0, out).expect("short");
    if flow == Flow::Wait {
        frontend::sync(out);
    }
}

/// Doubles whose shortest text needs no exponent: there the two encoders agree on it.
fn plain_double() -> impl Strategy<Value = f64> {
    (-1_000_000_i32..1_000_000).prop_map(|thousandths| f64::from(thousandths) / 1024.0)
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Int),
        any::<i32>().prop_map(|number| Value::Int(number.into())),
        any::<i16>().prop_map(|number| Value::Int(number.into())),
        plain_double().prop_map(Value::Double),
        "\\PC{0,20}".prop_map(Value::Text),
    ]
}

fn values() -> impl Strategy<Value = Vec<Value>> {
    prop::collection::vec(value(), 0..12)
}

fn types() -> impl Strategy<Value = Vec<u32>> {
    // 701 (float8) is left to the unit tests: there an integer may be bound as a double.
    prop::collection::vec(prop::sample::select(vec![16, 20, 21, 23, 25, 1700]), 0..12)
}

fn fits(type_oid: u32, value: &Value) -> bool {
    match (type_oid, value) {
        (21, Value::Int(number)) => i16::try_from(*number).is_ok(),
        (23, Value::Int(number)) => i32::try_from(*number).is_ok(),
        (20 | 21 | 23, Value::Double(_)) => false,
        _ => true,
    }
}

fn keep() -> impl Strategy<Value = Keep> {
    prop::sample::select(vec![Keep::None, Keep::LastRow, Keep::AllRows])
}

fn flow() -> impl Strategy<Value = Flow> {
    prop::sample::select(vec![Flow::Wait, Flow::Queue])
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_prepared_request(types in types(), values in values(), keep in keep(), flow in flow()) {
        // What does not fit is prepared anew with another type: see the unit tests of `parameter`.
        let mut types = types;
        for (oid, value) in types.iter_mut().zip(&values) {
            *oid = if fits(*oid, value) { *oid } else { 25 };
        }
        let own = encode(&mut prepared(&types), &values, keep, flow);
        let mut reference = BytesMut::new();
        other_bind("s0", &types, &values, &mut reference);
        other_execute(flow, &mut reference);
        prop_assert_eq!(own, reference.to_vec());
    }

    #[test]
    fn an_extended_request(
        sql in "[^\0]{0,100}", values in values(), keep in keep(), flow in flow(),
    ) {
        let own = encode(&mut established(QueryMode::Extended, &sql), &values, keep, flow);
        let mut reference = BytesMut::new();
        frontend::parse("", &sql, [], &mut reference).expect("no zero byte");
        other_bind("", &[], &values, &mut reference);
        if keep != Keep::None {
            frontend::describe(b'P', "", &mut reference).expect("short");
        }
        other_execute(flow, &mut reference);
        prop_assert_eq!(own, reference.to_vec());
    }

    #[test]
    fn an_extended_request_with_a_number_too_wide_for_its_inferred_type(wide in (1_i64 << 31)..) {
        let statement = Statement {
            sql: "select $1 + $2".to_owned(),
            parameter_types: vec![23, 21],
            ..Statement::default()
        };
        let values = [Value::Int(wide), Value::Int(7)];
        let (keep, flow) = (Keep::None, Flow::Wait);
        let mut connection = established_with(QueryMode::Extended, statement);
        let own = encode(&mut connection, &values, keep, flow);
        let mut reference = BytesMut::new();
        frontend::parse("", "select $1 + $2", [20, 21], &mut reference).expect("no zero byte");
        other_bind("", &[], &values, &mut reference);
        other_execute(flow, &mut reference);
        prop_assert_eq!(own, reference.to_vec());
    }

    #[test]
    fn a_text_request(sql in "[^\0]{0,100}") {
        let mut own = Vec::new();
        let request = Request::Text { statement: StatementId(0), sql: &sql, keep: Keep::None };
        established(QueryMode::Simple, "").request(&request, &mut own);
        let mut reference = BytesMut::new();
        frontend::query(&sql, &mut reference).expect("no zero byte");
        prop_assert_eq!(own, reference.to_vec());
    }

    #[test]
    fn a_block_of_rows(rows in prop::collection::vec((any::<i32>(), any::<i64>(), ".{0,9}"), 0..9)) {
        let mut own = Vec::new();
        copy::block(&mut own, |block| {
            for (a, b, c) in &rows {
                block.row(4).int4(*a).int8(*b).text(c).null();
            }
        });
        let mut body = BytesMut::new();
        for (a, b, c) in &rows {
            body.put_u16(4);
            body.put_u32(4);
            body.put_i32(*a);
            body.put_u32(8);
            body.put_i64(*b);
            body.put_u32(c.len() as u32);
            body.put_slice(c.as_bytes());
            body.put_i32(-1);
        }
        let mut reference = BytesMut::new();
        frontend::CopyData::new(body).expect("short").write(&mut reference);
        prop_assert_eq!(own, reference.to_vec());
    }
}
