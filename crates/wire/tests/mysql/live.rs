//! Every scenario against a real server: its events must be those of the recordings.

use crate::common::Peer;
use crate::common::recording::{Recorder, Recording};
use crate::driver::{self, Scenario};
use crate::replay::{MARIADB, MYSQL};
use crate::scenarios;
use crate::server::Server;
use dbdyno_model::{Keep, Request, StatementId};
use dbdyno_wire::Cancellation;
use dbdyno_wire::mysql::{Channel, Event};
use std::path::PathBuf;
use std::time::Duration;

/// The transport of the scenario.
fn connect(server: &Server, scenario: &Scenario) -> Box<dyn Peer> {
    match scenario.channel {
        Channel::Unix => Box::new(server.connect()),
        Channel::Plain | Channel::WantsTls { .. } => Box::new(server.connect_tcp()),
    }
}

#[test]
fn a_real_server_gives_the_recorded_events() {
    agrees_with_recordings(&Server::mariadb(), MARIADB, &scenarios::of_mariadb());
}

/// The same with a MySQL that is already installed: no distribution packages it beside MariaDB.
/// `MYSQL_BASE` is the folder of its `bin`: `MYSQL_BASE=/opt/mysql cargo test -p dbdyno-wire --
/// --ignored real_mysql`
#[test]
#[ignore = "needs a MySQL: MYSQL_BASE"]
fn a_real_mysql_gives_the_recorded_events() {
    agrees_with_recordings(&mysql_at_hand(), MYSQL, &scenarios::of_mysql());
}

fn mysql_at_hand() -> Server {
    let base = std::env::var_os("MYSQL_BASE").map(PathBuf::from);
    Server::mysql(&base.expect("MYSQL_BASE is the folder of a MySQL's bin"))
}

fn agrees_with_recordings(server: &Server, folder: &str, scenarios: &[Scenario]) {
    for scenario in scenarios {
        let story = driver::play(scenario, connect(server, scenario).as_mut());
        assert_eq!(story.error, None, "{}", scenario.name);
        let expected = Recording::load(folder, scenario.name).events;
        assert_eq!(story.events, expected, "{}", scenario.name);
    }
    packets_of_16_mib_go_both_ways(server);
    another_session_kills_a_statement(server);
}

fn packets_of_16_mib_go_both_ways(server: &Server) {
    let scenario = scenarios::long_packets();
    let story = driver::play(&scenario, &mut server.connect());
    assert_eq!(story.error, None);
    let (last, others) = story.events.split_last().expect("answers");
    assert!(others[1..].iter().all(|event| event.contains("error: None")), "{others:?}");
    assert!(others[1..].iter().all(|event| event.contains("rows_returned: 1")), "{others:?}");
    assert!(last.contains("Some(\"17825792\")"), "{last}");
}

fn another_session_kills_a_statement(server: &Server) {
    let scenario = Scenario { steps: vec![], ..scenarios::login("sleeper", "root", "") };
    let (mut connection, mut socket) = (driver::connection(&scenario), server.connect());
    driver::play_with(&mut connection, &scenario, &mut socket);
    let (mut killer, mut other) = (driver::connection(&scenario), server.connect());
    driver::play_with(&mut killer, &scenario, &mut other);

    let text = |sql| Request::Text { statement: StatementId(0), sql, keep: Keep::None };
    let mut out = Vec::new();
    connection.request(&text("select sleep(60) from mysql.user"), &mut out);
    socket.send(&out);
    std::thread::sleep(Duration::from_secs(1)); // it is asleep by then
    out.clear();
    let Cancellation::Statement(kill) = connection.cancellation() else {
        panic!("MySQL cancels by a statement");
    };
    killer.request(&text(&kill), &mut out);
    other.send(&out);
    loop {
        let received = socket.receive();
        assert!(!received.is_empty(), "the server went away");
        connection.feed(&received);
        if let Some(Event::Reply { reply, .. }) = connection.poll(&mut out).expect("good packets") {
            assert_eq!(reply.error.expect("it was killed").code, "1317");
            return;
        }
    }
}

/// Records MariaDB again.
#[test]
#[ignore = "writes the recordings"]
fn record_mariadb() {
    record_all(&Server::mariadb(), MARIADB, &scenarios::of_mariadb());
}

/// Records MySQL again, likewise with `--ignored record_mysql`.
#[test]
#[ignore = "writes the recordings"]
fn record_mysql() {
    record_all(&mysql_at_hand(), MYSQL, &scenarios::of_mysql());
}

fn record_all(server: &Server, folder: &str, scenarios: &[Scenario]) {
    for scenario in scenarios {
        record(scenario, connect(server, scenario).as_mut()).save(folder, scenario.name);
    }
}

fn record(scenario: &Scenario, peer: &mut dyn Peer) -> Recording {
    let mut recorder = Recorder { peer, recording: Recording::default() };
    let story = driver::play(scenario, &mut recorder);
    assert_eq!(story.error, None, "{}", scenario.name);
    Recording { events: story.events, ..recorder.recording }
}
