//! Every scenario against a real server: its events must be those of the recordings.

use crate::common::Peer;
use crate::common::recording::{Recorder, Recording};
use crate::driver::{self, Scenario};
use crate::scenarios;
use crate::server::{Server, newest_binaries};
use dbdyno_model::{Keep, Request, StatementId};
use dbdyno_wire::Cancellation;
use dbdyno_wire::postgres::{Channel, Connection, Event, tls_server_end_point};
use std::path::PathBuf;

#[test]
fn a_real_server_gives_the_recorded_events() {
    let server = Server::start(&newest_binaries());
    // Versions between the recorded ones use the older one's messages.
    let recorded = folder(if server.major >= 18 { 18 } else { 15 });
    for scenario in scenarios::all() {
        let story = driver::play(&scenario, &mut server.connect());
        assert_eq!(story.error, None, "{}", scenario.name);
        let expected = Recording::load(&recorded, scenario.name).events;
        assert_eq!(story.events, expected, "{}", scenario.name);
    }
}

#[test]
fn a_login_is_bound_to_its_channel() {
    let server = Server::start(&newest_binaries());
    let bound = tls_server_end_point(&server.certificate()).expect("ECDSA names its hash");
    assert_eq!(bound.len(), 48, "the certificate is signed with SHA-384");
    let login = |server_end_point| {
        let channel = Channel::Encrypted { server_end_point };
        let scram = scenarios::login("encrypted", "scram_user", Some("secret"));
        let scenario = Scenario { channel, ..scram };
        driver::play(&scenario, &mut server.connect_encrypted()).events
    };
    assert!(login(Some(bound.clone()))[0].starts_with("Ready"));
    assert!(login(None)[0].starts_with("Ready"), "not bound, but not refused");
    let other = login(Some(bound.into_iter().rev().collect()));
    assert!(other[0].contains("28P01") || other[0].contains("channel binding"), "{other:?}");
}

#[test]
fn a_cancel_request_stops_the_statement() {
    let server = Server::start(&newest_binaries());
    let scenario = Scenario { steps: vec![], ..scenarios::login("sleeper", "postgres", None) };
    let (mut connection, mut socket) = (driver::connection(&scenario), server.connect());
    driver::play_with(&mut connection, &scenario, &mut socket);

    let mut out = Vec::new();
    let sql = "do $$begin raise notice 'asleep'; perform pg_sleep(60); end$$";
    let statement = StatementId(0);
    connection.request(&Request::Text { statement, sql, keep: Keep::None }, &mut out);
    socket.send(&out);
    assert_eq!(next_words(&mut connection, &mut socket), "asleep");
    let Cancellation::Message(cancel) = connection.cancellation() else {
        panic!("PostgreSQL cancels by a message");
    };
    server.connect().send(&cancel);
    assert_eq!(next_words(&mut connection, &mut socket), "57014");
}

/// The message of the next notice, or the code of the next error.
fn next_words(connection: &mut Connection, peer: &mut dyn Peer) -> String {
    loop {
        match connection.poll(&mut Vec::new()).expect("the server keeps to the protocol") {
            Some(Event::Notice(notice)) => return notice.message,
            Some(Event::Reply { reply, .. }) => {
                return reply.error.expect("the statement fails").code.clone();
            }
            Some(other) => panic!("{other:?}"),
            None => {}
        }
        let received = peer.receive();
        assert!(!received.is_empty(), "the server went away");
        connection.feed(&received);
    }
}

/// Records again. `PG_BIN` is the folder of the server's programs:
/// `PG_BIN=/usr/lib/postgresql/15/bin cargo test -p dbdyno-wire -- --ignored record`
#[test]
#[ignore = "writes the recordings"]
fn record_all_scenarios() {
    let binaries = std::env::var_os("PG_BIN").map(PathBuf::from).expect("PG_BIN is set");
    let server = Server::start(&binaries);
    for scenario in scenarios::all() {
        record(&scenario, &mut server.connect()).save(&folder(server.major), scenario.name);
    }
}

fn folder(major: u32) -> String {
    format!("postgres/recordings/{major}")
}

fn record(scenario: &Scenario, peer: &mut dyn Peer) -> Recording {
    let mut recorder = Recorder { peer, recording: Recording::default() };
    let story = driver::play(scenario, &mut recorder);
    assert_eq!(story.error, None, "{}", scenario.name);
    Recording { events: story.events, ..recorder.recording }
}
