//! A stream to a server as a peer.

use super::Peer;
use std::io::{ErrorKind, Read, Write};

/// A stream to a server.
pub(crate) struct Socket<S>(pub(crate) S);

impl<S: Read + Write> Peer for Socket<S> {
    fn send(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).expect("the server reads");
    }

    fn receive(&mut self) -> Vec<u8> {
        let mut bytes = vec![0; 64 << 10];
        let count = match self.0.read(&mut bytes) {
            Err(error) if error.kind() == ErrorKind::ConnectionReset => 0,
            result => result.expect("the server answers in time"),
        };
        bytes.truncate(count);
        bytes
    }
}
