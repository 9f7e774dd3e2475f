//! A PostgreSQL server without a database and without sockets.
//!
//! Every login is accepted. Supports transaction blocks, prepared statements, the unnamed portal
//! and pipelines; does not support COPY, named portals, encryption, or texts with several
//! statements (a text gets one answer, whatever it contains).

mod canned_reply;
mod session;

use crate::postgres::message::{self, Fields};
use crate::{ProtocolError, ReceiveBuffer};
pub use canned_reply::CannedReply;
use session::Session;

const ENCRYPTION_REQUESTS: [u32; 2] = [80_877_103, 80_877_104];
const CANCEL_REQUEST: u32 = 80_877_102;

/// Provides the answers of a server.
pub trait Database {
    /// The answer to a statement being executed.
    fn execute(&mut self, sql: &str) -> &CannedReply;

    /// The answer that a statement would get, for describing it.
    fn describe(&mut self, sql: &str) -> &CannedReply;
}

/// The same answer to everything.
impl Database for CannedReply {
    fn execute(&mut self, _sql: &str) -> &CannedReply {
        self
    }

    fn describe(&mut self, _sql: &str) -> &CannedReply {
        self
    }
}

/// One connection, seen from the server.
#[derive(Debug, Default)]
pub struct Server {
    buffer: ReceiveBuffer,
    phase: Phase,
    session: Session,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// The startup message has not come. Requests for encryption are declined.
    #[default]
    Greeting,
    /// Logged in.
    Serving,
    /// The client has closed the session.
    Closed,
}

impl Server {
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

    /// Handles one message; false if there is no complete one.
    fn step(
        &mut self,
        database: &mut impl Database,
        out: &mut Vec<u8>,
    ) -> Result<bool, ProtocolError> {
        match self.phase {
            Phase::Greeting => self.greet(out),
            Phase::Serving => {
                let Some(message) = message::next(&mut self.buffer)? else { return Ok(false) };
                if message.tag == b'X' {
                    self.phase = Phase::Closed;
                } else {
                    self.session.on_message(message, database, out)?;
                }
                Ok(true)
            }
            Phase::Closed => Ok(false),
        }
    }

    /// The first message has no type before its length.
    fn greet(&mut self, out: &mut Vec<u8>) -> Result<bool, ProtocolError> {
        let Some(&field) = self.buffer.unread().first_chunk::<4>() else { return Ok(false) };
        let length = u32::from_be_bytes(field) as usize;
        if !(8..=10_000).contains(&length) {
            return Err(ProtocolError::Malformed("the length of a startup message"));
        }
        if self.buffer.unread().len() < length {
            return Ok(false);
        }
        let code = Fields(&self.buffer.consume(length)[4..]).u32()?;
        match code {
            CANCEL_REQUEST => self.phase = Phase::Closed,
            code if ENCRYPTION_REQUESTS.contains(&code) => out.push(b'N'),
            _ => {
                self.phase = Phase::Serving;
                out.extend_from_slice(LOGGED_IN);
            }
        }
        Ok(true)
    }
}

/// Authentication is OK, a version, a process with a key, ready.
const LOGGED_IN: &[u8] = b"R\0\0\0\x08\0\0\0\0\
    S\0\0\0\x18server_version\x0018.0\0\
    S\0\0\0\x19client_encoding\0UTF8\0\
    K\0\0\0\x0c\0\0\0\x01\0\0\0\x02\
    Z\0\0\0\x05I";
