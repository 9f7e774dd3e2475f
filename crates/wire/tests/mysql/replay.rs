//! Every recording replayed: whole, in pieces, cut short, corrupted, and with garbage after it.

use crate::common::recording::{Recording, Side};
use crate::common::replay::Replay;
use crate::common::{IDLE_BYTES_MAX, Story};
use crate::driver::{self, Scenario};
use crate::scenarios;
use dbdyno_wire::ProtocolError;

pub(crate) const MARIADB: &str = "mysql/recordings/mariadb-10.11";
pub(crate) const MYSQL: &str = "mysql/recordings/mysql-8.0";

/// A packet's header.
const HEADER_BYTES: usize = 4;

/// The longest recorded value, while it is received.
const LONG_VALUE_BYTES: usize = 128 << 10;

fn each_recording(mut check: impl FnMut(&Scenario, &Recording)) {
    for (folder, scenarios) in [(MARIADB, scenarios::of_mariadb()), (MYSQL, scenarios::of_mysql())]
    {
        for scenario in scenarios {
            check(&scenario, &Recording::load(folder, scenario.name));
        }
    }
}

fn play_careless(scenario: &Scenario, turns: &[(Side, Vec<u8>)]) -> Story {
    driver::play(scenario, &mut Replay::careless(turns))
}

/// The positions of the server's packets: turn, and offset in it.
fn server_packets(recording: &Recording) -> Vec<(usize, usize)> {
    let mut places = Vec::new();
    for (number, (side, turn)) in recording.turns.iter().enumerate() {
        let mut at = 0;
        while *side == Side::Server && at < turn.len() {
            places.push((number, at));
            at += HEADER_BYTES + length_at(turn, at);
        }
    }
    places
}

fn length_at(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], 0]) as usize
}

#[test]
fn in_pieces_of_any_size_the_events_and_the_answers_are_the_same() {
    each_recording(|scenario, recording| {
        for piece in [usize::MAX, 1, 2, 3, 4, 5, 6, 7, 11, 64, 333] {
            let story = driver::play(scenario, &mut Replay::faithful(recording, piece));
            assert_eq!(story.error, None, "{} in pieces of {piece}", scenario.name);
            assert_eq!(story.events, recording.events, "{} in pieces of {piece}", scenario.name);
        }
    });
}

#[test]
fn a_packet_out_of_its_turn_is_an_error_unless_it_is_one_itself() {
    each_recording(|scenario, recording| {
        for (turn, at) in server_packets(recording) {
            let mut spoilt = recording.turns.clone();
            spoilt[turn].1[at + 3] ^= 0x10;
            let story = play_careless(scenario, &spoilt);
            let is_farewell = spoilt[turn].1[at + HEADER_BYTES] == 0xff;
            let is_refused = matches!(story.error, Some(ProtocolError::OutOfOrder { .. }));
            assert_ne!(is_refused, is_farewell, "{} at {turn}/{at}: {story:?}", scenario.name);
        }
    });
}

/// A packet may well be as long as its length field says: with a wrong length the rest is waited
/// for, at no cost.
#[test]
fn a_length_that_lies_costs_no_memory() {
    each_recording(|scenario, recording| {
        for (turn, at) in server_packets(recording) {
            for lie in [[0, 0, 0], [1, 0, 0], [0xfe, 0xff, 0xff], [0xff, 0xff, 0xff]] {
                let mut spoilt = recording.turns.clone();
                spoilt[turn].1[at..at + 3].copy_from_slice(&lie);
                let mut connection = driver::connection(scenario);
                let mut peer = Replay::careless(&spoilt);
                driver::play_with(&mut connection, scenario, &mut peer);
                let room = connection.receive_space().len();
                assert!(room <= LONG_VALUE_BYTES, "{} at {turn}/{at}: {room}", scenario.name);
            }
        }
    });
}

#[test]
fn a_connection_cut_anywhere_ends_without_an_error_of_the_protocol() {
    each_recording(|scenario, recording| {
        let turns = &recording.turns;
        let last = turns.iter().rposition(|(side, _)| *side == Side::Server).expect("an answer");
        for end in few_of(turns[last].1.len()) {
            let mut cut = turns[..=last].to_vec();
            cut[last].1.truncate(end);
            assert_eq!(play_careless(scenario, &cut).error, None, "{} at {end}", scenario.name);
        }
    });
}

/// The server's corrupted bytes may mean anything; they may only cost as much memory as was
/// received.
#[test]
fn a_spoilt_byte_is_survived() {
    each_recording(|scenario, recording| {
        for (turn, (side, bytes)) in recording.turns.iter().enumerate() {
            for at in few_of(if *side == Side::Server { bytes.len() } else { 0 }) {
                let mut spoilt = recording.turns.clone();
                spoilt[turn].1[at] ^= 1 << (at % 8);
                let mut connection = driver::connection(scenario);
                driver::play_with(&mut connection, scenario, &mut Replay::careless(&spoilt));
                let room = connection.receive_space().len();
                assert!(room <= LONG_VALUE_BYTES, "{}: {room}", scenario.name);
            }
        }
    });
}

/// All positions of a short turn, and the ends of a long one.
fn few_of(bytes: usize) -> impl Iterator<Item = usize> {
    const ENDS_BYTES: usize = 2000;
    (0..bytes).filter(move |&at| at < ENDS_BYTES || at + ENDS_BYTES >= bytes)
}

#[test]
fn rubbish_after_a_good_exchange_is_an_error() {
    let rubbish: [&[u8]; 4] = [
        b"\x07\0\0\x01\0\0\0\x02\0\0\0",
        b"\x01\0\0\x2a\xfe",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        &[0; 64],
    ];
    each_recording(|scenario, recording| {
        for bytes in rubbish {
            let mut connection = driver::connection(scenario);
            let mut peer = Replay::careless(&recording.turns);
            let story = driver::play_with(&mut connection, scenario, &mut peer);
            connection.feed(bytes);
            let ended = story.events.last().is_some_and(|event| event.starts_with("Fatal"));
            let rest = connection.poll(&mut Vec::new());
            assert_eq!(rest.is_err(), !ended, "{}: {bytes:?} gave {rest:?}", scenario.name);
            drop(rest);
            assert!(ended || connection.receive_space().len() <= IDLE_BYTES_MAX * 16);
        }
    });
}
