//! Handwritten exchanges that are legal but rare, or illegal.

use crate::common::{Monologue, Peer};
use crate::driver::{self, Scenario, Step};
use crate::scenarios;
use dbdyno_model::{Keep, Value};
use dbdyno_wire::mysql::{Channel, Event};

/// The newer end of result sets, as bits of a greeting's upper capabilities.
const DEPRECATE_EOF: u16 = 0x100;

const KEY: &str = include_str!("rsa_public.pem");

/// One body after the other, each as a packet, numbered from `first`.
fn packets(first: u8, bodies: &[&[u8]]) -> Vec<u8> {
    let numbered = (first..).zip(bodies);
    let packet = |(number, body): (u8, &&[u8])| {
        let length = (body.len() as u32).to_le_bytes();
        [&length[..3], &[number], body].concat()
    };
    numbered.flat_map(packet).collect()
}

/// A greeting with these lower and upper capabilities and this default method.
fn greeting(lower: u16, upper: u16, method: &str) -> Vec<u8> {
    let (lower, upper) = (lower.to_le_bytes(), upper.to_le_bytes());
    let head = b"\x0a8.0.0\0\x01\0\0\0challeng\0";
    let tail = b"\x15\0\0\0\0\0\0\0\0\0\0e of bytes!!\0";
    let method = [method.as_bytes(), b"\0"].concat();
    [head, &lower[..], b"\x2d\x02\0", &upper, tail, &method].concat()
}

/// The capabilities of every server since 5.5.
const LOWER: u16 = 0xa208;
const UPPER: u16 = 0x3f;
const TLS: u16 = 0x800;

const NATIVE: &str = "mysql_native_password";
const CONSENT: &[u8] = b"\0\0\0\x02\0\0\0";

/// Sends what it is given, and records what it receives.
struct Listener {
    sent: Vec<u8>,
    received: Vec<u8>,
}

impl Peer for Listener {
    fn send(&mut self, bytes: &[u8]) {
        self.received.extend_from_slice(bytes);
    }

    fn receive(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.sent)
    }
}

fn login() -> Scenario {
    Scenario { steps: vec![], ..scenarios::login("crafted", "anybody", "secret") }
}

/// The last event of a login, or the error that ended it, and what the server received.
fn outcome(scenario: &Scenario, sent: &[&[u8]]) -> (String, Vec<u8>) {
    let mut peer = Listener { sent: packets(0, &sent[..1]), received: Vec::new() };
    let number = if matches!(scenario.channel, Channel::WantsTls { .. }) { 3 } else { 2 };
    // Each later turn of the server is two packets later: the client has sent one in between.
    for (turn, body) in (0..).zip(&sent[1..]) {
        peer.sent.extend(packets(number + 2 * turn, &[body]));
    }
    let story = driver::play(scenario, &mut peer);
    let last = match story.error {
        Some(error) => error.to_string(),
        None => story.events.last().expect("something happens").clone(),
    };
    (last, peer.received)
}

#[test]
fn what_cannot_be_done_is_refused_by_name() {
    let modern = greeting(LOWER, UPPER, NATIVE);
    let required = Scenario { channel: Channel::WantsTls { required: true }, ..login() };
    for (scenario, sent, name) in [
        (login(), &[&modern[..], b"\xfeauth_gssapi_client\0"][..], "auth_gssapi_client"),
        (login(), &[&modern, b"\xfe"], "mysql_old_password"),
        (login(), &[&greeting(0x2208, UPPER, NATIVE)], "too old"),
        (required, &[&modern], "does not support TLS"),
        (login(), &[b"\xff\x10\x04Too many connections"], "\"1040\""),
    ] {
        let (outcome, _) = outcome(&scenario, sent);
        assert!(outcome.starts_with("Fatal") && outcome.contains(name), "{outcome}");
    }
}

#[test]
fn what_is_no_login_breaks_the_protocol() {
    let modern = greeting(LOWER, UPPER, NATIVE);
    for (sent, expected) in [
        (&[&b"\x09old"[..]][..], "greeting of another protocol"),
        (&[&modern, b"\x03"], "'\\x03' in state Proving"),
        (&[&modern, b"\x01more"], "continues after the final proof"),
        (&[&modern, b"\xfecaching_sha2_password\0short"], "a challenge that is too short"),
        (&[&modern, b""], "an empty packet"),
        (
            &[&modern, b"\xfecaching_sha2_password\0challenge of bytes!!", b"\x01\x07"],
            "continues after the final proof",
        ),
    ] {
        let (outcome, _) = outcome(&login(), sent);
        assert!(outcome.contains(expected), "{outcome}");
    }
}

#[test]
fn encryption_that_is_only_preferred_is_done_without() {
    let preferring = Scenario { channel: Channel::WantsTls { required: false }, ..login() };
    let modern = greeting(LOWER, UPPER, NATIVE);
    let mut peer = Monologue(packets(0, &[&modern]));
    peer.0.extend(packets(2, &[CONSENT]));
    assert_eq!(driver::play(&preferring, &mut peer).events, ["Ready, MariaDB: false"]);
}

#[test]
fn unencrypted_bytes_are_never_taken_for_encrypted() {
    let modern = greeting(LOWER | TLS, UPPER, NATIVE);
    let required = Scenario { channel: Channel::WantsTls { required: true }, ..login() };
    let (outcome, received) = outcome(&required, &[&modern, CONSENT]);
    assert!(outcome.contains("unencrypted bytes"), "{outcome}");
    assert!(received.is_empty(), "nobody logs in");
}

/// Whether the password is readable in what the server received.
fn contains_password(received: &[u8]) -> bool {
    received.windows(6).any(|window| window == b"secret")
}

#[test]
fn the_password_leaves_only_over_a_secret_channel_or_encrypted() {
    let sha2 = greeting(LOWER, UPPER, "caching_sha2_password");
    let full: &[u8] = b"\x01\x04";
    let key = [b"\x01", KEY.as_bytes()].concat();
    let plain = Scenario { channel: Channel::Plain, ..login() };
    let leaks = |scenario: &Scenario, sent: &[&[u8]]| {
        let (outcome, received) = outcome(scenario, sent);
        assert!(
            outcome.starts_with("Ready") || outcome.contains("an invalid public key"),
            "{outcome}"
        );
        contains_password(&received)
    };
    assert!(leaks(&login(), &[&sha2, full, CONSENT]));
    assert!(!leaks(&plain, &[&sha2, full, &key, CONSENT]));
    assert!(!leaks(&plain, &[&sha2, full, b"\x01no key", CONSENT]));
}

/// The events after the login, in short, and what the server received.
fn after_login(upper: u16, scenario: &Scenario, sent: &[Vec<u8>]) -> (Vec<String>, Vec<u8>) {
    let opening = [packets(0, &[&greeting(LOWER, upper, NATIVE)]), packets(2, &[CONSENT])];
    let mut peer =
        Listener { sent: [opening.concat(), sent.concat()].concat(), received: Vec::new() };
    let story = driver::play(scenario, &mut peer);
    let events = story.events.into_iter().skip(1).chain(story.error.map(|e| e.to_string()));
    (events.map(|event| in_short(&event)).collect(), peer.received)
}

/// The kind of an event and the error's code in it.
fn in_short(event: &str) -> String {
    let Some((_, rest)) = event.split_once("code: \"") else {
        return event.replace(", in_transaction: false, rolled_back: false, copied_bytes: 0 }", "");
    };
    let kind = event.split([' ', '(']).next().unwrap_or(event);
    format!("{kind} {}", rest.split('"').next().unwrap_or(rest))
}

const DEFINITION: &[u8] = b"\x03def\0\0\0\x01a\0\x0c\x3f\0\x01\0\0\0\x08\x81\0\0\0\0";
const EOF: &[u8] = b"\xfe\0\0\x02\0";
const EOF_AND_MORE: &[u8] = b"\xfe\0\0\x0a\0";
const PREPARED: &[u8] = b"\0\x01\0\0\0\x01\0\x01\0\0\0\0";

#[test]
fn older_servers_close_columns_and_rows_with_an_eof() {
    let steps =
        vec![Step::Text("two", Keep::AllRows), Step::Run(0, vec![Value::Int(1)], Keep::AllRows)];
    let scenario = Scenario { statements: vec!["select $1"], steps, ..login() };
    let first: &[&[u8]] = &[b"\x01", DEFINITION, EOF, b"\x017", b"\xfb", EOF_AND_MORE];
    let second: &[&[u8]] = &[b"\x01", DEFINITION, EOF, EOF];
    let row: &[u8] = b"\0\0\x09\0\0\0\0\0\0\0";
    let sent = [
        packets(1, &[first, second].concat()),
        packets(1, &[PREPARED, DEFINITION, EOF, DEFINITION, EOF]),
        packets(1, &[b"\x01", DEFINITION, EOF, row, EOF]),
    ];
    let (events, _) = after_login(UPPER, &scenario, &sent);
    let nines = "[ResultSet { columns: [\"a\"], row_count: 1, rows: [[Some(\"9\")]] }]";
    assert!(events[0].contains("rows: [[Some(\"7\")], [None]]"), "{events:?}");
    assert!(events[0].contains("row_count: 0, rows: []"), "{events:?}");
    assert!(events[1].contains(nines), "{events:?}");
}

#[test]
fn a_statement_that_is_not_prepared_is_sent_as_text() {
    let run = || Step::Run(0, vec![], Keep::None);
    let scenario = Scenario { statements: vec!["lock"], steps: vec![run(), run()], ..login() };
    let refused = packets(1, &[b"\xff\x0f\x05#HY000no"]);
    let done = packets(1, &[CONSENT]);
    let (events, received) =
        after_login(UPPER | DEPRECATE_EOF, &scenario, &[refused, done.clone(), done]);
    assert_eq!(events.len(), 2, "{events:?}");
    assert!(events.iter().all(|event| event.contains("error: None")), "{events:?}");
    let texts = received.windows(9).filter(|&bytes| bytes == b"\x05\0\0\0\x03lock").count();
    assert_eq!(texts, 2);
}

#[test]
fn an_answer_must_run_its_course() {
    let text = || Step::Text("select", Keep::AllRows);
    let run = || Step::Run(0, vec![Value::Int(1)], Keep::None);
    let miscounted: &[u8] = b"\0\x01\0\0\0\0\0\x02\0\0\0\0";
    for (step, bodies, expected) in [
        (text(), &[&b"\xfd\x01\0\x10"[..]][..], "malformed message: an invalid number of columns"),
        (text(), &[b"\x01\x01"], "malformed message: an invalid number of columns"),
        (text(), &[b"\0\0\0"], "malformed message: a field reaches beyond its packet"),
        (text(), &[b"\x01", b"\x03de"], "malformed message: a field reaches beyond its packet"),
        (text(), &[b"\x01", DEFINITION, b"\xff\xbd\x04#40001no"], "Reply 1213"),
        (text(), &[b"\x01", DEFINITION, b"\xff\x1d\x04#08S01no"], "Fatal 1053"),
        (run(), &[b"\xfe"], "unexpected message '\\xfe' in state Preparing"),
        (run(), &[miscounted, DEFINITION, DEFINITION], "Reply parameters"),
        (run(), &[PREPARED, b"\xff\xbd\x04#40001no"], "Reply 1213"),
    ] {
        let scenario = Scenario { statements: vec!["update $1"], steps: vec![step], ..login() };
        let sent = [packets(1, bodies)];
        let (events, _) = after_login(UPPER | DEPRECATE_EOF, &scenario, &sent);
        assert_eq!(events.last().map(String::as_str), Some(expected), "{bodies:?}");
    }
}

#[test]
fn a_server_that_requests_a_file_gets_an_empty_one() {
    let steps = vec![Step::Text("select", Keep::None)];
    let sent = [packets(1, &[b"\xfb/etc/passwd"]), packets(3, &[CONSENT])];
    let (events, received) = after_login(UPPER, &Scenario { steps, ..login() }, &sent);
    assert_eq!(events, ["Reply infile_refused"]);
    assert!(received.ends_with(b"\x03select\0\0\0\x02"), "{}", received.escape_ascii());
}

#[test]
fn an_error_without_a_request_ends_the_session() {
    let mut connection = driver::connection(&login());
    let opening = [packets(0, &[&greeting(LOWER, UPPER, NATIVE)]), packets(2, &[CONSENT])];
    driver::play_with(&mut connection, &login(), &mut Monologue(opening.concat()));
    connection.feed(&packets(0, &[b"\xff\xbf\x0f#HY000away too long"]));
    let event = connection.poll(&mut Vec::new()).expect("it is of the protocol");
    assert!(matches!(event, Some(Event::Fatal(error)) if error.code == "4031"));
}

#[test]
fn secrets_are_not_printed() {
    let printed = format!("{:?}", driver::connection(&login()));
    assert!(printed.contains("password: Some(…)") && !printed.contains("secret"), "{printed}");
}
