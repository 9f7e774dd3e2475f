//! Sends cancellations to the server, in a thread of its own for each round.
//!
//! Cancellations are not answered: the run waits for their effect up to a limit. When the server
//! refuses the session that would cancel, this is reported, because it then explains why the server
//! did not react.
//!
//! A connection for a message stays open until the server closes it, as libpq's does: a pooler drops
//! the request of a client that has left before it was passed on, and `PgBouncer` 1.18 even ends.
//! The effect may be seen before that, so a lane waits at its end until its rounds are over.

use super::{Channels, Report};
use crate::link::{BlockingLink, Blueprint, Route, Server};
use crate::{address, clock};
use dbdyno_model::{FailureClass, Keep, Nanos, ServerError};
use dbdyno_wire::Cancellation;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{SendFlags, send};
use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Builder;
use std::time::Duration;

/// How long sending one round of cancellations may take.
const TIMEOUT: Nanos = Nanos::from_secs(4);
/// How many messages may be on their way at once.
const SENT_MAX: usize = 16;

/// The cancellations of a lane.
#[derive(Default)]
pub(super) struct Cancelling {
    /// To be sent next to each server, all by one thread.
    next: BTreeMap<u32, Vec<Cancellation>>,
    under_way: Vec<Round>,
}

/// A round that a thread is sending.
struct Round {
    /// Closed when the thread ends.
    ended: Receiver<Infallible>,
    deadline: Nanos,
}

impl Cancelling {
    pub(super) fn add(&mut self, server: u32, cancellation: Cancellation) {
        self.next.entry(server).or_default().push(cancellation);
    }

    /// Starts sending what was added.
    pub(super) fn deliver(&mut self, servers: &[Server], channels: &Channels) {
        for (server, round) in std::mem::take(&mut self.next) {
            self.deliver_to(&servers[server as usize], round, channels);
        }
    }

    fn deliver_to(&mut self, server: &Server, round: Vec<Cancellation>, channels: &Channels) {
        let deadline = clock::now() + TIMEOUT;
        let (running, ended) = channel();
        let mut sender = CancelSender {
            route: Arc::clone(&server.route),
            blueprint: Arc::new(server.blueprint.for_cancelling()),
            session: None,
            sent: VecDeque::new(),
            deadline,
            lane: channels.lane,
            reports: channels.reports.clone(),
        };
        let thread = Builder::new().name(format!("cancel-{}", channels.lane));
        match thread.spawn(move || {
            let _running: Sender<Infallible> = running;
            sender.deliver_all(round);
        }) {
            Ok(_) => self.under_way.push(Round { ended, deadline }),
            Err(error) => {
                let why = format!("cannot start a thread for it: {error}");
                let failed = Report::CancelFailed(channels.lane, ServerError::connection_lost(why));
                // The coordinator listens until all lanes are over.
                let _ = channels.reports.send(failed);
            }
        }
    }

    /// Waits, up to their deadline, until the rounds are over.
    pub(super) fn await_ended(&mut self) {
        for Round { ended, deadline } in self.under_way.drain(..) {
            let left = deadline - clock::now();
            let _ = ended.recv_timeout(Duration::from_nanos(left.0));
        }
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
    lane: u32,
    reports: Sender<Report>,
}

impl CancelSender {
    fn deliver_all(&mut self, round: Vec<Cancellation>) {
        for cancellation in round {
            if self.deliver(cancellation).is_none() {
                break;
            }
        }
        self.await_closed(0);
    }

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
                    let _ = self.reports.send(Report::CancelFailed(self.lane, error));
                }
            }
        }
        self.session.as_mut()
    }
}
