//! Handwritten exchanges that are legal but rare, or illegal.

use crate::common::Monologue;
use crate::driver::{self, Scenario, Step};
use crate::scenarios;
use dbdyno_model::Keep;
use dbdyno_wire::postgres::Event;

pub(crate) fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32 + 4).to_be_bytes();
    [&[tag], &length[..], body].concat()
}

fn error(severity: &str, code: &str) -> Vec<u8> {
    message(b'E', format!("S{severity}\0V{severity}\0C{code}\0M{code}\0\0").as_bytes())
}

const LOGGED_IN: &[u8] = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";
const READY: &[u8] = b"Z\0\0\0\x05I";
const PARSED: &[u8] = b"1\0\0\0\x04t\0\0\0\x06\0\0n\0\0\0\x04";
const BOUND: &[u8] = b"2\0\0\0\x04";
const DONE: &[u8] = b"C\0\0\0\x0dUPDATE 1\0";

/// The events after the login, in short, and the error if there is one.
fn events(steps: Vec<Step>, sent: &[&[u8]]) -> Vec<String> {
    let login = scenarios::login("crafted", "postgres", None);
    let scenario = Scenario { statements: vec!["update t"], steps, ..login };
    let sent = [LOGGED_IN, &sent.concat()].concat();
    let story = driver::play(&scenario, &mut Monologue(sent));
    let events = story.events.into_iter().skip(1).chain(story.error.map(|e| e.to_string()));
    events.map(|event| in_short(&event)).collect()
}

/// The kind of an event and the error's code in it.
fn in_short(event: &str) -> String {
    let Some((_, rest)) = event.split_once("code: \"") else {
        return event.split(" Reply {").next().unwrap_or(event).to_owned();
    };
    let kind = event.split([' ', '(']).next().unwrap_or(event);
    format!("{kind} {}", rest.split('"').next().unwrap_or(rest))
}

fn text() -> Step {
    Step::Text("select", Keep::None)
}

fn run() -> Step {
    Step::Run(0, vec![], Keep::None)
}

#[test]
fn an_error_without_a_request_ends_the_session() {
    let login = Scenario { steps: vec![], ..scenarios::login("crafted", "postgres", None) };
    for severity in ["ERROR", "FATAL"] {
        let mut connection = driver::connection(&login);
        driver::play_with(&mut connection, &login, &mut Monologue(LOGGED_IN.into()));
        connection.feed(&error(severity, "57P05"));
        let event = connection.poll(&mut Vec::new()).expect("it is of the protocol");
        assert!(matches!(event, Some(Event::Fatal(error)) if error.code == "57P05"));
    }
}

#[test]
fn the_end_may_come_after_an_error() {
    let sent = [error("ERROR", "40001"), error("FATAL", "57P01")].concat();
    assert_eq!(events(vec![text()], &[&sent]), ["Fatal 57P01"]);
}

#[test]
fn a_second_error_in_one_answer_breaks_the_protocol() {
    let twice = error("ERROR", "40001").repeat(2);
    let expected = ["unexpected message 'E' in state Failed"];
    assert_eq!(events(vec![text()], &[&twice]), expected);
}

#[test]
fn an_answer_must_run_its_course() {
    for (sent, state) in [
        (&[PARSED, READY][..], "unexpected message 'Z' in state Planned"),
        (&[PARSED, BOUND, READY], "unexpected message 'Z' in state Bound"),
        (&[BOUND], "unexpected message '2' in state Parsing"),
        (&[PARSED, BOUND, DONE, DONE], "unexpected message 'C' in state Executed"),
        (
            &[PARSED, BOUND, DONE, b"Z\0\0\0\x05?"],
            "malformed message: an unknown transaction status",
        ),
    ] {
        assert_eq!(events(vec![run()], sent), [state]);
    }
}

#[test]
fn a_replication_stream_is_declined() {
    let both = message(b'W', &[0, 0, 0]);
    let end = [message(b'c', b""), message(b'C', b"COPY 0\0"), READY.to_vec()].concat();
    assert_eq!(events(vec![text()], &[&both, &end]), ["Reply copy_refused"]);
}

#[test]
fn parameters_and_notifications_may_come_at_any_time() {
    let news = [message(b'S', b"TimeZone\0UTC\0"), message(b'A', b"\0\0\0\x01bell\0\0")].concat();
    let sent = [&news[..], PARSED, &news, BOUND, &news, DONE, &news, READY];
    assert_eq!(events(vec![run()], &sent), ["Reply 0 Wait"]);
}
