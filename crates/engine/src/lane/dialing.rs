//! How links come and go: dialed, opened, lost and closed, and the worker told of each.
//!
//! A refusal is told in the kernel's words; whether to dial again is the worker's to decide.

use super::Lane;
use crate::address::{self, Dial};
use crate::io::Io;
use crate::link::Stage;
use dbdyno_load::Event;
use dbdyno_model::{FailureClass, ServerError};
use std::io;

impl<I: Io> Lane<I> {
    /// Begins a client's connection.
    pub(super) fn dial(&mut self, client: usize) -> io::Result<()> {
        let dialed = address::dial(&self.links.route.peer);
        let (socket, dial) = match dialed {
            Ok(dialed) => dialed,
            Err(errno) => {
                let error = refused(errno);
                return self.tell(Event::ConnectFailed {
                    client,
                    error: &error,
                    busy: is_busy(&error),
                });
            }
        };
        let Some(slot) = self.links.add(client, socket) else {
            // All slots are still held by the kernel: as if the server had no room just now.
            let error = ServerError::connection_lost("too many connections are being closed");
            return self.tell(Event::ConnectFailed { client, error: &error, busy: true });
        };
        match (dial, self.links.get(slot)) {
            (Dial::UnderWay, Some(link)) => self.io.watch_dial(slot, link),
            _ => self.open(slot),
        }
    }

    /// The kernel takes bytes: of a link that was being dialed, the first.
    pub(super) fn writable(&mut self, slot: usize) -> io::Result<()> {
        let Some(link) = self.links.get(slot) else { return Ok(()) };
        if link.stage != Stage::Dialing {
            return self.flush(slot);
        }
        match address::dialed(&link.socket) {
            Ok(()) => self.open(slot),
            Err(errno) => self.lost(slot, &refused(errno)),
        }
    }

    /// The socket is connected.
    fn open(&mut self, slot: usize) -> io::Result<()> {
        let Some(link) = self.links.get(slot) else { return Ok(()) };
        link.dialed();
        self.io.open(slot, link)?;
        self.flush(slot)
    }

    /// A link is of no further use: the worker is told, in the words of the link's stage.
    pub(super) fn lost(&mut self, slot: usize, error: &ServerError) -> io::Result<()> {
        let Some(link) = self.links.get(slot) else { return Ok(()) };
        let (client, was_ready) = (link.client, link.stage == Stage::Ready);
        self.close(slot);
        if was_ready {
            self.tell(Event::Lost { client, error })
        } else {
            self.tell(Event::ConnectFailed { client, error, busy: is_busy(error) })
        }
    }

    /// Gives a link back to the kernel, which may hold on to its memory for a while.
    pub(super) fn close(&mut self, slot: usize) {
        if let Some(link) = self.links.take(slot)
            && self.io.retire(slot, link)
        {
            self.links.freed(slot);
        }
    }
}

/// Codes of a server, or of the kernel, that is there and has no room just now.
const BUSY: [&str; 2] = ["57P03", "EAGAIN"];

/// Whether to try again soon may help.
pub(super) fn is_busy(error: &ServerError) -> bool {
    BUSY.contains(&error.code.as_str())
}

fn refused(errno: rustix::io::Errno) -> ServerError {
    // A full backlog is that of a server that listens and has no room.
    let (class, code) = match errno {
        rustix::io::Errno::AGAIN => (FailureClass::Resource, "EAGAIN"),
        _ => (FailureClass::Connection, "connect"),
    };
    let message = format!("cannot connect: {}", io::Error::from(errno));
    ServerError { class, code: code.into(), message }
}
