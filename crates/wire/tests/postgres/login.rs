//! Logins that none of our servers produces: refusals, protocol violations, and wrong proofs.

use crate::common::Monologue;
use crate::common::recording::{Recording, Side};
use crate::crafted::message;
use crate::driver::{self, Scenario};
use crate::scenarios;
use dbdyno_wire::postgres::Version;

fn authentication(method: u32, rest: &[u8]) -> Vec<u8> {
    message(b'R', &[&method.to_be_bytes(), rest].concat())
}

fn version(offered: u32, options: u32) -> Vec<u8> {
    message(b'v', &[offered.to_be_bytes(), options.to_be_bytes()].concat())
}

fn error(code: &str) -> Vec<u8> {
    message(b'E', format!("SFATAL\0VFATAL\0C{code}\0Mno\0\0").as_bytes())
}

const SETTLED: &[u8] = b"K\0\0\0\x0c\0\0\0\x01\0\0\0\x02Z\0\0\0\x05I";

/// The last event of a login, or the error that ended it.
fn outcome(requested: Version, sent: &[Vec<u8>]) -> String {
    let login = scenarios::login("crafted", "scram_user", Some("secret"));
    let scenario = Scenario { version: requested, steps: vec![], ..login };
    let story = driver::play(&scenario, &mut Monologue(sent.concat()));
    match story.error {
        Some(error) => error.to_string(),
        None => story.events.last().expect("something happens").clone(),
    }
}

#[test]
fn what_cannot_be_done_is_refused_by_name() {
    for (method, rest, name) in [
        (2, &b""[..], "Kerberos V5"),
        (7, b"", "GSSAPI"),
        (9, b"", "SSPI"),
        (77, b"", "authentication method 77"),
        (10, b"OAUTHBEARER\0\0", "OAUTHBEARER"),
        (10, b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0", "unencrypted"),
    ] {
        let outcome = outcome(Version::V3_2, &[authentication(method, rest)]);
        assert!(outcome.starts_with("Fatal") && outcome.contains(name), "{outcome}");
    }
}

#[test]
fn an_older_version_is_taken_a_newer_one_is_not() {
    let ok = || authentication(0, b"");
    for (offered, expected) in [
        (3 << 16, "Ready V3_0"),
        (0, "Ready V3_0"),
        (3 << 16 | 1, "Ready V3_0"),
        (3 << 16 | 2, "Ready V3_2"),
        (3 << 16 | 3, "malformed message: an offer of a newer version"),
    ] {
        let outcome = outcome(Version::V3_2, &[version(offered, 0), ok(), SETTLED.to_vec()]);
        assert!(outcome.starts_with(expected), "{offered:x}: {outcome}");
    }
    let outcome = outcome(Version::V3_2, &[version(3 << 16, 1), ok(), SETTLED.to_vec()]);
    assert!(outcome.starts_with("malformed"), "{outcome}");
}

#[test]
fn a_refused_version_is_distinguished_from_a_refused_login() {
    for (requested, code, expected) in [
        (Version::V3_2, "08P01", "VersionRefused"),
        (Version::V3_2, "0A000", "VersionRefused"),
        (Version::V3_2, "28000", "Fatal"),
        (Version::V3_0, "08P01", "Fatal"),
    ] {
        let outcome = outcome(requested, &[error(code)]);
        assert!(outcome.starts_with(expected), "{requested:?} {code}: {outcome}");
    }
}

#[test]
fn a_cancel_key_has_4_to_256_bytes() {
    for (bytes, taken) in [(3, false), (4, true), (32, true), (256, true), (257, false)] {
        let key = message(b'K', &vec![1; 4 + bytes]);
        let sent = [authentication(0, b""), key, message(b'Z', b"I")];
        let outcome = outcome(Version::V3_2, &sent);
        assert_eq!(outcome.starts_with("Ready"), taken, "{bytes}: {outcome}");
    }
}

#[test]
fn parameters_beyond_the_bound_are_not_kept() {
    let parameter = |number| format!("name{number}\0{}\0", "x".repeat(1000));
    let reports = (0..1000).map(|number| message(b'S', parameter(number).as_bytes()));
    let sent = [authentication(0, b""), reports.flatten().collect(), SETTLED.to_vec()].concat();
    let login = scenarios::login("crafted", "postgres", None);
    let scenario = Scenario { steps: vec![], ..login };
    let mut connection = driver::connection(&scenario);
    driver::play_with(&mut connection, &scenario, &mut Monologue(sent));
    let is_kept = |number: &i32| connection.session().parameter(&format!("name{number}")).is_some();
    assert_eq!((0..1000).filter(is_kept).count(), 8);
}

/// The recorded SCRAM login, with the server's last message replaced.
fn scram_ending_with(end: &[u8]) -> String {
    let recording = Recording::load("postgres/recordings/18", "scram");
    let servers = recording.turns.into_iter().filter(|(side, _)| *side == Side::Server);
    let mut sent: Vec<Vec<u8>> = servers.map(|(_, turn)| turn).collect();
    sent.truncate(2);
    sent.push(end.to_vec());
    outcome(Version::V3_2, &sent)
}

#[test]
fn a_server_that_cannot_authenticate_itself_is_refused() {
    let wrong = b"v=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    let outcome = scram_ending_with(&authentication(12, wrong));
    assert_eq!(outcome, "malformed message: SCRAM: the server's signature is wrong");
    let outcome = scram_ending_with(&authentication(0, b""));
    assert_eq!(outcome, "unexpected message 'R' in state Proving");
}

#[test]
fn secrets_are_not_printed() {
    let scenario = scenarios::login("crafted", "scram_user", Some("secret"));
    let mut connection = driver::connection(&scenario);
    let sent = [authentication(0, b""), SETTLED.to_vec()].concat();
    driver::play_with(&mut connection, &scenario, &mut Monologue(sent));
    let printed = format!("{connection:?}");
    assert!(printed.contains("password: Some(…)"), "{printed}");
    assert!(printed.contains("cancel_key: …"), "{printed}");
}
