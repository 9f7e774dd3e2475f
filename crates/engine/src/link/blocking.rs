//! A link with blocking calls: one thread, one connection, one statement at a time.

use super::Owner;
use super::{Blueprint, Link, LinkEvent, OwnedReply, Route, is_peer_gone};
use crate::{address, clock};
use dbdyno_model::{Flow, Keep, Nanos, Request, ServerError, StatementId};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::sync::Arc;

/// A connection that loads rows or runs statements beside the load.
pub(crate) struct BlockingLink {
    link: Link,
}

impl BlockingLink {
    pub(crate) fn open(
        blueprint: &Arc<Blueprint>,
        route: &Route,
        timeout: Nanos,
    ) -> Result<Self, ServerError> {
        loop {
            let deadline = clock::now() + timeout;
            let socket = address::dial_with_retry(&route.peer, deadline).map_err(broken)?;
            let mut blocking = Self { link: Link::new(socket, Owner::NONE, 0, route, blueprint) };
            blocking.link.dialed();
            match blocking.next_event(Some(deadline)) {
                Ok(LinkEvent::VersionRefused) => route.request_oldest_version(),
                Ok(_) => {
                    route.note_login();
                    return Ok(blocking);
                }
                // Closed without a word, rather than silent until the deadline.
                Err(_)
                    if clock::now() < deadline
                        && blocking.link.awaits_version()
                        && route.may_need_oldest_version() =>
                {
                    route.request_oldest_version();
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Opens a connection for a message in place of a login, and sends it, encrypted as a session
    /// would be.
    pub(crate) fn deliver(
        message: Vec<u8>,
        blueprint: &Arc<Blueprint>,
        route: &Route,
        deadline: Nanos,
    ) -> Result<Self, ServerError> {
        let socket = address::dial_with_retry(&route.peer, deadline).map_err(broken)?;
        let mut blocking = Self { link: Link::new(socket, Owner::NONE, 0, route, blueprint) };
        blocking.link.message = Some(message.into());
        blocking.link.dialed();
        blocking.send_all()?;
        while blocking.link.message.is_some() {
            blocking.receive_by(deadline)?;
            blocking.send_all()?;
        }
        Ok(blocking)
    }

    /// Waits, up to the deadline, until the server has closed the connection. What it sends until
    /// then does not matter.
    pub(crate) fn await_closed(&self, deadline: Nanos) {
        let mut discarded = [0; 4 << 10];
        while clock::now() < deadline {
            if self.wait(PollFlags::IN, Some(deadline - clock::now())).is_err() {
                return;
            }
            match recv(&self.link.socket, &mut discarded[..], RecvFlags::empty()) {
                Ok((count, _)) if count > 0 => {}
                Err(Errno::AGAIN | Errno::INTR) => {}
                _ => return,
            }
        }
    }

    /// Runs a statement.
    pub(crate) fn execute(&mut self, sql: &str, keep: Keep) -> Result<OwnedReply, ServerError> {
        self.link.request(&Request::Text { statement: StatementId::UNCOUNTED, sql, keep });
        self.await_reply()
    }

    /// Starts the protocol's bulk load; rows may follow.
    pub(crate) fn rows_begin(&mut self, sql: &str) -> Result<(), ServerError> {
        let (wire, out) = self.link.wire();
        wire.rows_begin(sql, out);
        match self.next_event(None)? {
            LinkEvent::Reply(_, answer) => match answer.error {
                Some(error) => Err(error),
                None => Err(ServerError::protocol("the statement takes no rows")),
            },
            _ => Ok(()),
        }
    }

    /// Sends rows, and checks whether the server has already reported an error.
    pub(crate) fn rows(&mut self, rows: &[u8]) -> Result<(), ServerError> {
        let (wire, out) = self.link.wire();
        wire.rows(rows, out);
        self.send_all()?;
        self.receive(Some(Nanos::ZERO))?;
        match self.link.poll()? {
            Some(LinkEvent::Reply(_, answer)) => answer.error.map_or(Ok(()), Err),
            _ => Ok(()),
        }
    }

    /// Ends the rows; returns how many the server stored.
    pub(crate) fn rows_done(&mut self) -> Result<u64, ServerError> {
        let (wire, out) = self.link.wire();
        wire.rows_done(out);
        Ok(self.await_reply()?.rows_affected)
    }

    fn await_reply(&mut self) -> Result<OwnedReply, ServerError> {
        loop {
            if let LinkEvent::Reply(Flow::Wait, answer) = self.next_event(None)? {
                return answer.error.clone().map_or(Ok(answer), Err);
            }
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
            match deadline {
                Some(deadline) => self.receive_by(deadline)?,
                None => self.receive(None)?,
            }
        }
    }

    fn send_all(&mut self) -> Result<(), ServerError> {
        self.link.seal()?;
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

    /// Receives what is there, waiting for it up to the deadline; fails after that.
    fn receive_by(&mut self, deadline: Nanos) -> Result<(), ServerError> {
        match deadline - clock::now() {
            Nanos::ZERO => Err(broken(Errno::TIMEDOUT)),
            left => self.receive(Some(left)),
        }
    }

    /// Receives what is there, waiting for it up to the timeout.
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

impl Drop for BlockingLink {
    fn drop(&mut self) {
        self.link.terminate();
        // It makes no difference any more whether the server receives it.
        let _ = self.send_all();
    }
}

fn broken(errno: Errno) -> ServerError {
    ServerError::connection_lost(format!("the connection broke: {}", std::io::Error::from(errno)))
}
