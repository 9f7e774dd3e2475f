//! What the tests of all protocols share: peers, recordings, and servers as processes.

pub(crate) mod process;
pub(crate) mod recording;
pub(crate) mod replay;
pub(crate) mod socket;

use dbdyno_wire::ProtocolError;

/// What an idle connection may hold of received bytes.
pub(crate) const IDLE_BYTES_MAX: usize = 8 << 10;

/// The other side: a socket, or a recording.
pub(crate) trait Peer {
    /// Takes what the client sends.
    fn send(&mut self, bytes: &[u8]);
    /// What the server sends next; empty at its end.
    fn receive(&mut self) -> Vec<u8>;
}

/// Says one thing, whatever it hears.
pub(crate) struct Monologue(pub(crate) Vec<u8>);

impl Peer for Monologue {
    fn send(&mut self, _bytes: &[u8]) {}

    fn receive(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.0)
    }
}

/// What came of a scenario: its events as text, and the error that ended it, if one did.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Story {
    pub(crate) events: Vec<String>,
    pub(crate) error: Option<ProtocolError>,
}
