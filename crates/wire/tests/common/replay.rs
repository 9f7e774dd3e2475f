//! A recording as a peer: exact, or corrupted.

use super::Peer;
use super::recording::{Recording, Side};

/// Replays the server's side of a recording.
pub(crate) struct Replay<'a> {
    turns: &'a [(Side, Vec<u8>)],
    /// How much of the first turn has been delivered.
    delivered: usize,
    /// The server's bytes come in pieces of this size.
    piece: usize,
    /// What the client has sent since the last turn of the server; none if it is not compared.
    sent: Option<Vec<u8>>,
}

impl<'a> Replay<'a> {
    pub(crate) fn faithful(recording: &'a Recording, piece: usize) -> Self {
        Self { turns: &recording.turns, delivered: 0, piece, sent: Some(Vec::new()) }
    }

    /// For corrupted recordings: the client may send something else.
    pub(crate) fn careless(turns: &'a [(Side, Vec<u8>)]) -> Self {
        Self { turns, delivered: 0, piece: usize::MAX, sent: None }
    }

    fn finish_client_turn(&mut self) {
        let [(Side::Client, expected), rest @ ..] = self.turns else { return };
        self.turns = rest;
        if let Some(sent) = &mut self.sent {
            let sent = std::mem::take(sent);
            assert_eq!(sent.escape_ascii().to_string(), expected.escape_ascii().to_string());
        }
    }
}

impl Peer for Replay<'_> {
    fn send(&mut self, bytes: &[u8]) {
        if let Some(sent) = &mut self.sent {
            sent.extend_from_slice(bytes);
        }
    }

    fn receive(&mut self) -> Vec<u8> {
        self.finish_client_turn();
        let [(Side::Server, turn), rest @ ..] = self.turns else { return Vec::new() };
        let end = turn.len().min(self.delivered.saturating_add(self.piece));
        let piece = turn[self.delivered..end].to_vec();
        self.delivered = end;
        if end == turn.len() {
            (self.turns, self.delivered) = (rest, 0);
        }
        piece
    }
}
