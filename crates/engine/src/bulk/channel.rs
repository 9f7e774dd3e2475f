//! A link that is waited for: one thread, one connection, one thing at a time.

use crate::lane::Route;
use crate::link::{Blueprint, Link, LinkEvent, is_peer_gone};
use crate::{address, clock};
use dbdyno_model::{Flow, Keep, Nanos, Request, ServerError, StatementId};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::sync::Arc;

/// Loading counts no statements.
const NO_STATEMENT: StatementId = StatementId(u32::MAX);

/// A connection that loads.
pub(super) struct Channel {
    link: Link,
}

impl Channel {
    pub(super) fn open(
        blueprint: &Arc<Blueprint>,
        route: &Route,
        timeout: Nanos,
    ) -> Result<Self, ServerError> {
        loop {
            let deadline = clock::now() + timeout;
            let socket = address::dial_patiently(&route.peer, deadline).map_err(broken)?;
            let mut channel = Self { link: Link::new(socket, 0, route.version(), blueprint) };
            channel.link.dialed();
            match channel.next_event(Some(deadline))? {
                LinkEvent::VersionRefused => route.ask_for_oldest_version(),
                _ => return Ok(channel),
            }
        }
    }

    /// Where rows are written to.
    pub(super) fn out(&mut self) -> &mut Vec<u8> {
        self.link.wire().1
    }

    /// Runs a statement that returns nothing of interest.
    pub(super) fn execute(&mut self, sql: &str) -> Result<(), ServerError> {
        self.link.request(&Request::Text { statement: NO_STATEMENT, sql, keep: Keep::None });
        self.await_reply()
    }

    /// Begins a COPY; rows may follow.
    pub(super) fn copy_begin(&mut self, sql: &str) -> Result<(), ServerError> {
        let (wire, out) = self.link.wire();
        wire.copy_begin(NO_STATEMENT, sql, out);
        match self.next_event(None)? {
            LinkEvent::Reply(_, answer) => answer.error.map_or(Ok(()), Err),
            _ => Ok(()),
        }
    }

    /// All rows have been written.
    pub(super) fn copy_done(&mut self) -> Result<(), ServerError> {
        let (wire, out) = self.link.wire();
        wire.copy_done(out);
        self.await_reply()
    }

    fn await_reply(&mut self) -> Result<(), ServerError> {
        loop {
            if let LinkEvent::Reply(Flow::Wait, answer) = self.next_event(None)? {
                return answer.error.map_or(Ok(()), Err);
            }
        }
    }

    /// Sends what has been written, and hears whether the server has had enough.
    pub(super) fn push(&mut self) -> Result<(), ServerError> {
        self.send_all()?;
        self.receive(Some(Nanos::ZERO))?;
        match self.link.poll()? {
            Some(LinkEvent::Reply(_, answer)) => answer.error.map_or(Ok(()), Err),
            _ => Ok(()),
        }
    }

    /// Waits for an event other than a notice.
    fn next_event(&mut self, deadline: Option<Nanos>) -> Result<LinkEvent, ServerError> {
        loop {
            match self.link.poll()? {
                Some(LinkEvent::Notice(_)) => continue,
                Some(event) => return Ok(event),
                None => {}
            }
            self.send_all()?;
            let left = deadline.map(|deadline| deadline - clock::now());
            if left == Some(Nanos::ZERO) {
                return Err(broken(Errno::TIMEDOUT));
            }
            self.receive(left)?;
        }
    }

    fn send_all(&mut self) -> Result<(), ServerError> {
        self.link.seal();
        let mut sent = 0;
        while sent < self.link.out.len() {
            match send(&self.link.socket, &self.link.out[sent..], SendFlags::NOSIGNAL) {
                Ok(count) => sent += count,
                Err(Errno::AGAIN) => self.wait(PollFlags::OUT, None)?,
                Err(Errno::INTR) => {}
                Err(errno) if is_peer_gone(errno) => break,
                Err(errno) => return Err(broken(errno)),
            }
        }
        self.link.out.clear();
        Ok(())
    }

    /// Receives what there is, waiting for it at most so long.
    fn receive(&mut self, timeout: Option<Nanos>) -> Result<(), ServerError> {
        self.wait(PollFlags::IN, timeout)?;
        let (socket, space) = self.link.socket_and_space();
        match recv(socket, space, RecvFlags::empty()) {
            Ok((0, _)) => Err(ServerError::connection_lost("the server closed the connection")),
            Ok((count, _)) => self.link.received(count),
            Err(Errno::AGAIN | Errno::INTR) => Ok(()),
            Err(errno) => Err(broken(errno)),
        }
    }

    fn wait(&self, wanted: PollFlags, timeout: Option<Nanos>) -> Result<(), ServerError> {
        let mut files = [PollFd::new(&self.link.socket, wanted)];
        match poll(&mut files, timeout.map(clock::timespec).as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(errno) => Err(broken(errno)),
        }
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        self.link.terminate();
        // Whether the server hears of it makes no difference any more.
        let _ = self.send_all();
    }
}

fn broken(errno: Errno) -> ServerError {
    ServerError::connection_lost(format!("the connection broke: {}", std::io::Error::from(errno)))
}
