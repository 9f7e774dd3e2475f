//! Sends cancellations to the server, in threads of their own for each round.
//!
//! They are encrypted as the sessions are: in the clear, the key in a cancellation of PostgreSQL would
//! let anyone on the way cancel what the session does next.
//!
//! Cancellations are not answered: the run waits for their effect up to a limit. When the server
//! refuses the session that would cancel, this is reported, because it then explains why the server
//! did not react.
//!
//! A connection for a message stays open until the server closes it, as libpq's does: a pooler drops
//! the request of a client that has left before it was passed on, and `PgBouncer` 1.18 even ends.
//! The effect may be seen before that, so a lane waits at its end until its rounds are over.

use super::{Channels, Report};
use crate::clock;
use crate::link::{BlockingLink, Blueprint, Route, Server};
use dbdyno_model::{FailureClass, Keep, Nanos, ServerError};
use dbdyno_wire::Cancellation;
use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Builder;
use std::time::Duration;

/// How long sending one round of cancellations may take.
const TIMEOUT: Nanos = Nanos::from_secs(4);
/// How many messages of a round may be on their way at once.
const SENT_MAX: usize = 16;
/// How many threads send the messages of a round when each needs a handshake, which waits for the
/// server's answers.
const HANDSHAKES_MAX: usize = 8;

/// The cancellations of a lane.
#[derive(Default)]
pub(super) struct Cancelling {
    /// To be sent next to each server, in one round.
    next: BTreeMap<u32, Vec<Cancellation>>,
    under_way: Vec<Part>,
}

/// A part of a round, usually all of it, that a thread is sending.
struct Part {
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
            let server = &servers[server as usize];
            let threads = threads_for(&round, server);
            for part in round.chunks(round.len().div_ceil(threads)) {
                self.deliver_to(server, part.to_vec(), SENT_MAX / threads, channels);
            }
        }
    }

    fn deliver_to(
        &mut self,
        server: &Server,
        part: Vec<Cancellation>,
        sent_max: usize,
        channels: &Channels,
    ) {
        let deadline = clock::now() + TIMEOUT;
        let (running, ended) = channel();
        let mut sender = CancelSender {
            route: Arc::clone(&server.route),
            blueprint: Arc::new(server.blueprint.for_cancelling()),
            session: None,
            sent: VecDeque::new(),
            sent_max,
            deadline,
            lane: channels.lane,
            reports: channels.reports.clone(),
        };
        let thread = Builder::new().name(format!("cancel-{}", channels.lane));
        match thread.spawn(move || {
            let _running: Sender<Infallible> = running;
            sender.deliver_all(part);
        }) {
            Ok(_) => self.under_way.push(Part { ended, deadline }),
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
        for Part { ended, deadline } in self.under_way.drain(..) {
            let left = deadline - clock::now();
            let _ = ended.recv_timeout(Duration::from_nanos(left.0));
        }
    }
}

/// Messages go out one by one, unless each has to wait for a handshake; statements all go through
/// one session.
fn threads_for(round: &[Cancellation], server: &Server) -> usize {
    let are_messages = matches!(round, [Cancellation::Message(_), ..]);
    if are_messages && server.blueprint.encrypts() { HANDSHAKES_MAX } else { 1 }
}

/// Sends a part of a round of cancellations.
struct CancelSender {
    route: Arc<Route>,
    blueprint: Arc<Blueprint>,
    /// One session sends all cancellations that are statements.
    session: Option<BlockingLink>,
    /// The connections of messages that the server may not have read yet, up to a number of them.
    sent: VecDeque<BlockingLink>,
    sent_max: usize,
    deadline: Nanos,
    /// The lane whose sessions are cancelled.
    lane: u32,
    reports: Sender<Report>,
}

impl CancelSender {
    fn deliver_all(&mut self, part: Vec<Cancellation>) {
        for cancellation in part {
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
                let (blueprint, route) = (&self.blueprint, &self.route);
                let sent = BlockingLink::deliver(bytes, blueprint, route, self.deadline);
                let connection = self.unless_refused(sent)?;
                self.sent.push_back(connection);
                self.await_closed(self.sent_max);
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
            if let Some(connection) = self.sent.pop_front() {
                connection.await_closed(self.deadline);
            }
        }
    }

    fn session(&mut self) -> Option<&mut BlockingLink> {
        if self.session.is_none() {
            let timeout = self.deadline - clock::now();
            let opened = BlockingLink::open(&self.blueprint, &self.route, timeout);
            self.session = self.unless_refused(opened);
        }
        self.session.as_mut()
    }

    /// None, with a report, when the server refuses what is needed to cancel.
    fn unless_refused(&self, opened: Result<BlockingLink, ServerError>) -> Option<BlockingLink> {
        match opened {
            Ok(connection) => Some(connection),
            // A server that is silent or gone is reported elsewhere.
            Err(error) if error.class == FailureClass::Connection && error.code != "tls" => None,
            Err(error) => {
                // The coordinator listens until all lanes are over.
                let _ = self.reports.send(Report::CancelFailed(self.lane, error));
                None
            }
        }
    }
}
