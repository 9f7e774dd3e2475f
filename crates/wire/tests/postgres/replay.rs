//! Every recording replayed: whole, in pieces, cut short, corrupted, and with garbage after it.

use crate::common::recording::{Recording, Side};
use crate::common::replay::Replay;
use crate::common::{IDLE_BYTES_MAX, Story};
use crate::driver::{self, Scenario};
use crate::scenarios;
use dbdyno_wire::{MESSAGE_BYTES_MAX, ProtocolError};

const RECORDED: [&str; 2] = ["postgres/recordings/15", "postgres/recordings/18"];

fn each_recording(mut check: impl FnMut(&Scenario, &Recording)) {
    for folder in RECORDED {
        for scenario in scenarios::all() {
            check(&scenario, &Recording::load(folder, scenario.name));
        }
    }
}

fn play_careless(scenario: &Scenario, turns: &[(Side, Vec<u8>)]) -> Story {
    driver::play(scenario, &mut Replay::careless(turns))
}

/// The positions of the server's messages: turn, offset in it, and length field.
fn server_messages(recording: &Recording) -> Vec<(usize, usize, u32)> {
    let mut places = Vec::new();
    for (number, (side, turn)) in recording.turns.iter().enumerate() {
        let mut at = 0;
        while *side == Side::Server && at < turn.len() {
            let field = turn[at + 1..at + 5].try_into().expect("four bytes");
            let length = u32::from_be_bytes(field);
            places.push((number, at, length));
            at += 1 + length as usize;
        }
    }
    places
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
fn a_length_that_lies_is_an_error_and_costs_no_memory() {
    each_recording(|scenario, recording| {
        for (turn, at, _) in server_messages(recording) {
            for lie in [0, 3, u32::MAX, 0x8000_0000, 0x7fff_ffff, MESSAGE_BYTES_MAX as u32] {
                let mut spoilt = recording.turns.clone();
                spoilt[turn].1[at + 1..at + 5].copy_from_slice(&lie.to_be_bytes());
                let mut connection = driver::connection(scenario);
                let mut peer = Replay::careless(&spoilt);
                let story = driver::play_with(&mut connection, scenario, &mut peer);
                let expected = match lie {
                    0 | 3 => matches!(story.error, Some(ProtocolError::LengthTooSmall { .. })),
                    _ => matches!(story.error, Some(ProtocolError::TooLong { .. })),
                };
                assert!(expected, "{} at {turn}/{at}: {story:?}", scenario.name);
                assert!(connection.receive_space().len() <= IDLE_BYTES_MAX);
            }
        }
    });
}

#[test]
fn a_connection_cut_anywhere_ends_without_an_error_of_the_protocol() {
    each_recording(|scenario, recording| {
        let turns = &recording.turns;
        let last = turns.iter().rposition(|(side, _)| *side == Side::Server).expect("an answer");
        for end in 0..turns[last].1.len() {
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
            for at in 0..if *side == Side::Server { bytes.len() } else { 0 } {
                let mut spoilt = recording.turns.clone();
                spoilt[turn].1[at] ^= 1 << (at % 8);
                let mut connection = driver::connection(scenario);
                driver::play_with(&mut connection, scenario, &mut Replay::careless(&spoilt));
                assert!(connection.receive_space().len() <= IDLE_BYTES_MAX, "{}", scenario.name);
            }
        }
    });
}

#[test]
fn rubbish_after_a_good_exchange_is_an_error() {
    let rubbish: [&[u8]; 6] = [
        &[0; 64],
        &[0xff; 64],
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"D\0\0\0\x06\0\0",
        b"Z\0\0\0\x05I",
        b"?\0\0\0\x04",
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
        }
    });
}
