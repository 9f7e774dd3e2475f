//! Recorded exchanges: the bytes sent each way, and the resulting events.
//!
//! A recording is a text file: `>` before what the client sent, `<` before what the server
//! sent (both escaped), `=` before an event.

use super::Peer;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Client,
    Server,
}

/// An exchange of bytes, in turns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Recording {
    pub(crate) turns: Vec<(Side, Vec<u8>)>,
    pub(crate) events: Vec<String>,
}

impl Recording {
    /// Adds bytes; consecutive bytes of one side form one turn.
    fn note(&mut self, side: Side, bytes: &[u8]) {
        match self.turns.last_mut() {
            Some((last, turn)) if *last == side => turn.extend_from_slice(bytes),
            _ if bytes.is_empty() => {}
            _ => self.turns.push((side, bytes.to_vec())),
        }
    }

    pub(crate) fn to_text(&self) -> String {
        let mut text = String::new();
        for (side, bytes) in &self.turns {
            let mark = if *side == Side::Client { '>' } else { '<' };
            writeln!(text, "{mark} {}", bytes.escape_ascii()).expect("a string takes all");
        }
        for event in &self.events {
            writeln!(text, "= {event}").expect("a string takes all");
        }
        text
    }

    pub(crate) fn from_text(text: &str) -> Self {
        let mut recording = Self::default();
        for line in text.lines() {
            match line.split_at(2) {
                ("> ", bytes) => recording.turns.push((Side::Client, unescape(bytes))),
                ("< ", bytes) => recording.turns.push((Side::Server, unescape(bytes))),
                ("= ", event) => recording.events.push(event.into()),
                _ => panic!("not a line of a recording: {line}"),
            }
        }
        recording
    }

    /// A recording by its folder, which names a server, and the name of its scenario.
    pub(crate) fn load(folder: &str, name: &str) -> Self {
        let path = path(folder, name);
        let text = std::fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Self::from_text(&text)
    }

    pub(crate) fn save(&self, folder: &str, name: &str) {
        std::fs::write(path(folder, name), self.to_text()).expect("the folder is writable");
    }
}

fn path(folder: &str, name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder).join(format!("{name}.txt"))
}

/// The inverse of [`u8::escape_ascii`].
fn unescape(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes().iter().copied();
    while let Some(byte) = rest.next() {
        bytes.push(if byte == b'\\' { unescape_one(&mut rest) } else { byte });
    }
    bytes
}

fn unescape_one(rest: &mut impl Iterator<Item = u8>) -> u8 {
    match rest.next().expect("something is escaped") {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'x' => {
            let digits = [rest.next(), rest.next()].map(|digit| digit.expect("two digits"));
            let digits = std::str::from_utf8(&digits).expect("hexadecimal");
            u8::from_str_radix(digits, 16).expect("hexadecimal")
        }
        other => other,
    }
}

/// A peer whose exchange is recorded.
pub(crate) struct Recorder<'a> {
    pub(crate) peer: &'a mut dyn Peer,
    pub(crate) recording: Recording,
}

impl Peer for Recorder<'_> {
    fn send(&mut self, bytes: &[u8]) {
        self.recording.note(Side::Client, bytes);
        self.peer.send(bytes);
    }

    fn receive(&mut self) -> Vec<u8> {
        let bytes = self.peer.receive();
        self.recording.note(Side::Server, &bytes);
        bytes
    }
}

#[test]
fn a_recording_survives_its_file() {
    let turns = vec![
        (Side::Client, (0..=255).collect()),
        (Side::Server, b"a \\x41 \"quoted\" text\n".to_vec()),
    ];
    let recording = Recording { turns, events: vec!["Ready".into()] };
    assert_eq!(Recording::from_text(&recording.to_text()), recording);
}
