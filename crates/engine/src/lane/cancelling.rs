//! Sends cancellations to the server, in a thread of its own for each round.
//!
//! Cancellations are not answered: the run waits for their effect up to a limit. When the server
//! refuses the session that would cancel, this is reported, because it then explains why the server
//! did not react.
//!
//! A connection for a message stays open until the server closes it, as libpq's does: a pooler drops
//! the request of a client that has left before it was passed on, and `PgBouncer` 1.18 even ends.

use super::{Channels, Report};
use crate::link::{BlockingLink, Blueprint, Cancellation, Route};
use crate::{address, clock};
use dbdyno_model::{FailureClass, Keep, Nanos, ServerError};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{SendFlags, send};
use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread::Builder;

/// How long sending one round of cancellations may take.
const TIMEOUT: Nanos = Nanos::from_secs(4);
/// How many messages may be on their way at once.
const SENT_MAX: usize = 16;

/// Sends a round of cancellations.
pub(super) fn deliver(
    route: Arc<Route>,
    blueprint: &Blueprint,
    round: Vec<Cancellation>,
    channels: &Channels,
) {
    let (thread, reports) = (channels.thread, channels.reports.clone());
    let blueprint = Arc::new(blueprint.for_cancelling());
    let started = Builder::new().name(format!("cancel-{thread}")).spawn(move || {
        let deadline = clock::now() + TIMEOUT;
        let mut sender = CancelSender {
            route,
            blueprint,
            session: None,
            sent: VecDeque::new(),
            deadline,
            thread,
            reports,
        };
        for cancellation in round {
            if sender.deliver(cancellation).is_none() {
                break;
            }
        }
        sender.await_closed(0);
    });
    if let Err(error) = started {
        let why = ServerError::connection_lost(format!("cannot start a thread for it: {error}"));
        // The coordinator listens until all lanes are over.
        let _ = channels.reports.send(Report::CancelFailed(thread, why));
    }
}

/// Sends one round of cancellations.
struct CancelSender {
    route: Arc<Route>,
    blueprint: Arc<Blueprint>,
    /// One session sends all cancellations of the round.
    session: Option<BlockingLink>,
    /// The connections of messages that the server may not have read yet.
    sent: VecDeque<OwnedFd>,
    deadline: Nanos,
    /// The lane whose sessions are cancelled.
    thread: u32,
    reports: Sender<Report>,
}

impl CancelSender {
    /// None when the server cannot be reached.
    fn deliver(&mut self, cancellation: Cancellation) -> Option<()> {
        match cancellation {
            Cancellation::Message(bytes) => {
                let socket = address::dial_with_retry(&self.route.peer, self.deadline).ok()?;
                // Only a connection that broke at once accepts less than the whole message.
                let _ = send(&socket, &bytes, SendFlags::NOSIGNAL);
                self.sent.push_back(socket);
                self.await_closed(SENT_MAX);
                Some(())
            }
            Cancellation::Statement(sql) => {
                // If the server refuses, the session is gone already.
                let _ = self.session()?.execute(&sql, Keep::None);
                Some(())
            }
        }
    }

    /// Waits, up to the deadline, until the server has closed all connections but this many.
    fn await_closed(&mut self, remaining: usize) {
        while self.sent.len() > remaining {
            if let Some(socket) = self.sent.pop_front() {
                let timeout = clock::timespec(self.deadline - clock::now());
                let _ = poll(&mut [PollFd::new(&socket, PollFlags::IN)], Some(&timeout));
            }
        }
    }

    fn session(&mut self) -> Option<&mut BlockingLink> {
        if self.session.is_none() {
            let timeout = self.deadline - clock::now();
            match BlockingLink::open(&self.blueprint, &self.route, timeout) {
                Ok(session) => self.session = Some(session),
                // A server that is silent or gone is reported elsewhere.
                Err(error) if error.class == FailureClass::Connection => {}
                Err(error) => {
                    let _ = self.reports.send(Report::CancelFailed(self.thread, error));
                }
            }
        }
        self.session.as_mut()
    }
}
