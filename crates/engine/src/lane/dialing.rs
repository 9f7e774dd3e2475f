//! Connects, opens, loses and closes links, and notifies the worker of each.
//!
//! An error is reported in the kernel's words; the worker decides whether to connect again.

use super::Lane;
use crate::address::{self, Dial};
use crate::io::Io;
use crate::link::{Owner, Stage};
use dbdyno_load::{Event, Port};
use dbdyno_model::{FailureClass, ServerError};
use std::io;

impl<I: Io> Lane<I> {
    /// Starts to make a connection of a client.
    pub(super) fn dial(&mut self, owner: Owner, server: u32) -> io::Result<()> {
        let client = owner.client;
        let dialed = address::dial(&self.links.servers[server as usize].route.peer);
        let (socket, dial) = match dialed {
            Ok(dialed) => dialed,
            Err(errno) => {
                let error = refused(errno);
                let busy = is_busy(&error);
                self.notify_worker(Event::ConnectFailed { client, error: &error, busy });
                return Ok(());
            }
        };
        let Some(slot) = self.links.add(owner, server, socket) else {
            // All slots are still in use by the kernel: treated like a server without room.
            let error = no_room();
            self.notify_worker(Event::ConnectFailed { client, error: &error, busy: true });
            return Ok(());
        };
        match (dial, self.links.get(slot)) {
            (Dial::InProgress, Some(link)) => self.io.watch_dial(slot, link),
            _ => self.open(slot),
        }
    }

    /// The socket can be written: for a link being dialed, for the first time.
    pub(super) fn writable(&mut self, slot: usize) -> io::Result<()> {
        let Some(link) = self.links.get(slot) else { return Ok(()) };
        if link.stage != Stage::Dialing {
            self.flush(slot);
            return Ok(());
        }
        if let Err(errno) = address::dialed(&link.socket) {
            self.lost(slot, &refused(errno));
            return Ok(());
        }
        self.open(slot)
    }

    /// The socket is connected.
    fn open(&mut self, slot: usize) -> io::Result<()> {
        let Some(link) = self.links.get(slot) else { return Ok(()) };
        link.dialed();
        self.io.open(slot, link)?;
        self.links.flush_later(slot);
        Ok(())
    }

    /// A link can no longer be used: notifies the worker, according to the link's stage.
    pub(super) fn lost(&mut self, slot: usize, error: &ServerError) {
        let (owner, Some(link)) = (self.links.owner_of(slot), self.links.peek(slot)) else {
            return;
        };
        let was_ready = link.stage == Stage::Ready;
        let route = &self.links.server_of(link).route;
        if owner.is_some() && link.awaits_version() && route.may_need_oldest_version() {
            return self.dial_with_oldest_version(slot);
        }
        self.close(slot);
        match owner {
            Some(Owner { client, connection }) if was_ready => {
                self.notify_worker(Event::Lost { client, connection, error });
            }
            Some(Owner { client, .. }) => {
                self.notify_worker(Event::ConnectFailed { client, error, busy: is_busy(error) });
            }
            None => {}
        }
    }

    /// Connects the client again, with the version of the protocol that every server knows.
    pub(super) fn dial_with_oldest_version(&mut self, slot: usize) {
        let Some(link) = self.links.peek(slot) else { return };
        let (Owner { client, connection }, server) = (link.owner, link.server);
        self.links.server_of(link).route.request_oldest_version();
        self.close(slot);
        self.links.connect(client, connection, server);
    }

    /// Returns a link to the kernel interface, which may hold its memory for a while.
    pub(super) fn close(&mut self, slot: usize) {
        if let Some(link) = self.links.take(slot)
            && self.io.retire(slot, link)
        {
            self.links.freed(slot);
        }
    }
}

/// Codes of a server, or of the kernel, that is reachable but has no room right now.
const BUSY: [&str; 2] = ["57P03", "EAGAIN"];

/// Whether retrying soon may help.
pub(super) fn is_busy(error: &ServerError) -> bool {
    BUSY.contains(&error.code.as_str())
}

/// All slots are open, or still in use by the kernel.
pub(super) fn no_room() -> ServerError {
    ServerError::connection_lost(
        "the load generator has too many connections open or being closed: close what a script has \
         opened, or raise the limit on open files",
    )
}

fn refused(errno: rustix::io::Errno) -> ServerError {
    // A full backlog belongs to a server that listens but has no room.
    let (class, code) = match errno {
        rustix::io::Errno::AGAIN => (FailureClass::Resource, "EAGAIN"),
        _ => (FailureClass::Connection, "connect"),
    };
    let message = format!("cannot connect: {}", io::Error::from(errno));
    ServerError::new(class, code, message)
}
