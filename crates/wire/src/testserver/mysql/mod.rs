//! A server of the MySQL family without a database and without sockets.
//!
//! Every login is accepted. Supports transactions, text queries and prepared statements; does not
//! support encryption, LOAD DATA, clients that expect an EOF after the columns, commands of more
//! than one packet, or texts with several statements (a text gets one answer, whatever it
//! contains).

mod canned_reply;
mod session;

use crate::mysql::packet;
use crate::{ProtocolError, ReceiveBuffer};
pub use canned_reply::CannedReply;
use session::Session;

/// Provides the answers of a server.
pub trait Database {
    /// The answer to a statement: asked when it is executed, and for its columns when it is
    /// prepared.
    fn execute(&mut self, sql: &str) -> &CannedReply;
}

/// The same answer to everything.
impl Database for CannedReply {
    fn execute(&mut self, _sql: &str) -> &CannedReply {
        self
    }
}

/// One connection, seen from the server.
#[derive(Debug)]
pub struct Server {
    buffer: ReceiveBuffer,
    phase: Phase,
    session: Session,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The client has not answered the greeting yet.
    Greeted,
    /// Logged in.
    Serving,
    /// The client has closed the session.
    Closed,
}

impl Server {
    /// A new connection: the server speaks first.
    pub fn greet(out: &mut Vec<u8>) -> Self {
        packet::write(out, 0, |out| out.extend_from_slice(GREETING));
        Self {
            buffer: ReceiveBuffer::default(),
            phase: Phase::Greeted,
            session: Session::default(),
        }
    }

    /// Handles what the client has sent; the server's response is appended to `out`.
    pub fn receive(
        &mut self,
        mut bytes: &[u8],
        database: &mut impl Database,
        out: &mut Vec<u8>,
    ) -> Result<(), ProtocolError> {
        while !bytes.is_empty() && self.phase != Phase::Closed {
            let taken = self.buffer.feed(bytes);
            bytes = &bytes[taken..];
            while self.step(database, out)? {}
        }
        Ok(())
    }

    /// Whether the client has closed the session.
    pub fn is_closed(&self) -> bool {
        self.phase == Phase::Closed
    }

    /// Handles one packet; false if there is no complete one.
    fn step(
        &mut self,
        database: &mut impl Database,
        out: &mut Vec<u8>,
    ) -> Result<bool, ProtocolError> {
        // The greeting was number 0 of the login; each command restarts the numbering.
        let mut sequence = u8::from(self.phase == Phase::Greeted);
        let Some(body) = packet::next(&mut self.buffer, &mut sequence)? else { return Ok(false) };
        match self.phase {
            Phase::Greeted => {
                self.phase = Phase::Serving;
                packet::write(out, sequence, |out| out.extend_from_slice(LOGGED_IN));
            }
            Phase::Serving if self.session.on_command(body, database, out)? => {}
            _ => self.phase = Phase::Closed,
        }
        Ok(self.phase != Phase::Closed)
    }
}

/// Protocol version 10, connection 1, a challenge, all required capabilities, and a default method.
const GREETING: &[u8] = b"\x0a8.0.0-null\0\x01\0\0\0challeng\0\
    \x08\xa2\x2d\x02\0\x3f\x01\x15\0\0\0\0\0\0\0\0\0\0e of bytes\x21\x21\0mysql_native_password\0";

const LOGGED_IN: &[u8] = &[0, 0, 0, 2, 0, 0, 0];
