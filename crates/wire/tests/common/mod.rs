//! Shared by the tests of all protocols: peers, recordings, and servers as processes.

pub(crate) mod process;
pub(crate) mod recording;
pub(crate) mod replay;
pub(crate) mod socket;

use dbdyno_wire::ProtocolError;

/// Maximum size of an idle connection's receive buffer.
pub(crate) const IDLE_BYTES_MAX: usize = 8 << 10;

/// The other side: a socket, or a recording.
pub(crate) trait Peer {
    /// Receives what the client sends.
    fn send(&mut self, bytes: &[u8]);
    /// What the server sends next; empty at its end.
    fn receive(&mut self) -> Vec<u8>;
}

/// Sends one message, whatever it receives.
pub(crate) struct Monologue(pub(crate) Vec<u8>);

impl Peer for Monologue {
    fn send(&mut self, _bytes: &[u8]) {}

    fn receive(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.0)
    }
}

/// The outcome of a scenario: its events as text, and the error that ended it, if there was one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Story {
    pub(crate) events: Vec<String>,
    pub(crate) error: Option<ProtocolError>,
}
