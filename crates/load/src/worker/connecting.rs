//! Makes connections, and makes them again after a loss.
//!
//! Connects are paced: listen backlogs are short, and a thousand attempts at once would only be
//! refused. After a failure a client pauses before its next attempt, twice as long each time.

use super::{Outage, OutageEvent, Port, Worker};
use crate::client::{Connection, Lifecycle, State};
use dbdyno_model::{
    ConnectionId, FailureClass, Nanos, Purpose, ServerError, StatementId, Stream, server_of,
};
use dbdyno_script::Resume;
use std::sync::atomic::Ordering;

/// The code of a client's connect that was not answered while others of the run were: a pooler that
/// has no session left keeps it waiting.
pub const WAITED_BESIDE_OTHERS: &str = "waited_beside_others";
/// Limit on concurrent connects per thread, when many are to be made.
const CONNECTS_AT_ONCE: usize = 16;
/// The first pause after a failed attempt; it doubles with each further one, up to a maximum.
const PAUSE_FIRST: Nanos = Nanos::from_millis(10);
const PAUSE_LONGEST: Nanos = Nanos::from_secs(1);

impl Worker {
    pub(super) fn connect_from_queue<P: Port>(&mut self, now: Nanos, port: &mut P) {
        while self.connects_in_flight < CONNECTS_AT_ONCE {
            let Some(client) = self.connect_queue.pop_front() else { return };
            if self.clients[client].state == State::Unconnected {
                self.connect(now, client, port);
            }
        }
    }

    /// Makes the connection that the client uses.
    pub(super) fn connect<P: Port>(&mut self, now: Nanos, client: usize, port: &mut P) {
        self.connects_in_flight += 1;
        let own = &mut self.clients[client];
        own.enter(State::Connecting(now));
        self.timers.set(now + self.plan.endpoint.connect_timeout_ns, client, own.generation);
        let using = own.using;
        port.connect(client, using, own.connection_mut(using).server);
    }

    /// Closes all connections of a client.
    pub(super) fn close_connections<P: Port>(&mut self, client: usize, port: &mut P) {
        let own = &mut self.clients[client];
        own.connections().for_each(|(number, _)| port.close(client, number));
        own.leave_connections();
        own.first.server = server_of(self.plan.endpoint.servers(), own.id, 0);
    }

    /// The client is no longer connecting, if it was; since when it had been.
    pub(super) fn end_connecting(&mut self, client: usize) -> Option<Nanos> {
        let State::Connecting(since) = self.clients[client].state else { return None };
        self.clients[client].enter(State::Unconnected);
        self.connects_in_flight -= 1;
        Some(since)
    }

    pub(super) fn connect_timed_out<P: Port>(&mut self, now: Nanos, client: usize, port: &mut P) {
        port.close(client, self.clients[client].using);
        let seconds = self.plan.endpoint.connect_timeout_ns.as_secs_f64();
        let are_others = self.last_reached_by_all.load(Ordering::Relaxed) > 0;
        let (code, beside) = if are_others && self.timeline.is_none() {
            (WAITED_BESIDE_OTHERS, ", although other clients are connected")
        } else {
            ("connect_timeout", "")
        };
        let message = format!("no connection within {seconds} s{beside}");
        let error = ServerError::new(FailureClass::Connection, code, message);
        self.connect_failed(now, client, &error, false, port);
    }

    pub(super) fn connected<P: Port>(
        &mut self,
        now: Nanos,
        client: usize,
        backend: u32,
        port: &mut P,
    ) {
        let Some(since) = self.end_connecting(client) else { return };
        self.tally.connects.record(now - since);
        self.connect_error = None;
        let own = &mut self.clients[client];
        own.enter(State::Idle(now));
        let using = own.using;
        let connection = own.connection_mut(using);
        *connection =
            Connection { is_open: true, is_closed_by_script: false, backend, ..*connection };
        let is_of_script = using != ConnectionId::FIRST;
        self.note_server_reached(now);
        if self.clients[client].missing.is_none_or(|missing| missing == using) {
            self.has_all_connections(now, client);
        }
        if is_of_script || self.clients[client].transaction.is_some() {
            self.run(now, client, Resume::Continue, port);
        } else {
            self.set_up(now, client, port);
        }
        self.connect_from_queue(now, port);
    }

    /// The client has the connection that it missed, if it missed one.
    pub(super) fn has_all_connections(&mut self, now: Nanos, client: usize) {
        let own = &mut self.clients[client];
        own.missing = None;
        own.is_counted_as_lost = false;
        own.connect_failures = 0;
        own.refused_since = None;
        own.server_busy_since = None;
        self.end_outage(now);
    }

    pub(super) fn connect_failed<P: Port>(
        &mut self,
        now: Nanos,
        client: usize,
        error: &ServerError,
        busy: bool,
        port: &mut P,
    ) {
        let Some(since) = self.end_connecting(client) else { return };
        self.connect_error = Some(error.message.clone());
        let begun = *self.clients[client].server_busy_since.get_or_insert(since);
        let may_wait = busy && now - begun < self.plan.endpoint.connect_timeout_ns;
        if !may_wait {
            self.clients[client].server_busy_since = None;
        }
        if self.timeline.is_none() && !may_wait {
            self.fatal.get_or_insert_with(|| error.clone());
        }
        let own = &mut self.clients[client];
        own.connect_failures += 1;
        own.missing.get_or_insert(own.using);
        if is_from_server(error) {
            self.note_server_reached(now);
        } else {
            self.detect_outage(client, since, error);
        }
        if !may_wait {
            if self.clients[client].transaction.is_some() {
                self.fail_transaction(now, client, error, StatementId::UNCOUNTED);
            }
            if self.clients[client].using != ConnectionId::FIRST {
                self.begin_anew(client, port);
            }
        }
        self.reconnect_later(now, client, port);
        // A server that is too busy gets no further connect until this client's pause is over.
        if !busy {
            self.connect_from_queue(now, port);
        }
    }

    /// A connection of the client was lost. The others are closed with it: what its script set in
    /// their sessions belongs together, so all are set up again.
    pub(super) fn lost<P: Port>(
        &mut self,
        now: Nanos,
        client: usize,
        connection: ConnectionId,
        error: &ServerError,
        port: &mut P,
    ) {
        self.clients[client].connection_mut(connection).leave();
        match self.clients[client].state {
            State::Finished => return,
            State::Cancelling => return self.finish(client, port),
            _ => {}
        }
        self.end_connecting(client);
        self.idle.retain(|&other| other != client);
        self.clients[client].missing = Some(connection);
        self.count_lost_connection(now, client, error);
        self.clients[client].enter(State::Unconnected);
        if self.clients[client].transaction.is_some() {
            let own = &self.clients[client];
            let awaited = own.outstanding.front().filter(|_| own.using == connection);
            let statement = awaited.map_or(StatementId::UNCOUNTED, |asked| asked.statement);
            self.fail_transaction(now, client, error, statement);
        }
        self.begin_anew(client, port);
        self.reconnect_later(now, client, port);
    }

    /// The client closes its connections, and begins with its first one and the script's setup.
    fn begin_anew<P: Port>(&mut self, client: usize, port: &mut P) {
        self.close_connections(client, port);
        let own = &mut self.clients[client];
        own.outstanding.clear();
        if own.lifecycle != Lifecycle::TearingDown {
            own.lifecycle = Lifecycle::NotSetUp;
        }
    }

    /// Reconnects after a pause; at the client's end only for a transaction that still waits for its
    /// connection.
    fn reconnect_later<P: Port>(&mut self, now: Nanos, client: usize, port: &mut P) {
        let own = &self.clients[client];
        let is_last = self.ending.is_some() || own.lifecycle == Lifecycle::TearingDown;
        if is_last && own.transaction.is_none() {
            return self.finish(client, port);
        }
        let pause = self.pause(client);
        self.timers.set(now + pause, client, self.clients[client].generation);
    }

    /// Half of the pause is random, so that clients lost together do not reconnect together.
    fn pause(&self, client: usize) -> Nanos {
        let failures = self.clients[client].connect_failures;
        let pause = (PAUSE_FIRST * (1 << failures.min(10))).min(PAUSE_LONGEST);
        let who = self.global_id(client);
        let mut chance = Stream::keyed(self.plan.seed, Purpose::Backoff, who, failures.into());
        Nanos(pause.0 / 2 + chance.up_to(pause.0 / 2))
    }

    /// The server is reachable, whether it accepts the client or not.
    fn note_server_reached(&self, now: Nanos) {
        self.last_reached_by_all.fetch_max(now.0, Ordering::Relaxed);
    }

    /// Clients that connect for each transaction may have no connection to lose during an outage.
    /// Then the server counts as gone when a client is refused twice in a row and no client of the
    /// whole run reached it in between: a single refusal may be chance, or come from one of several
    /// servers behind one address.
    fn detect_outage(&mut self, client: usize, attempt: Nanos, error: &ServerError) {
        let is_looked_for = self.plan.reconnect_each_transaction
            && self.timeline.is_some()
            && self.ending.is_none();
        if !is_looked_for || error.class != FailureClass::Connection {
            return;
        }
        let met_last = Nanos(self.last_reached_by_all.load(Ordering::Relaxed));
        match self.clients[client].refused_since {
            Some(since) if since >= met_last => {
                self.count_lost_connection(since, client, error);
            }
            _ => self.clients[client].refused_since = Some(attempt),
        }
    }

    /// The client has been without its connection since that time, which is counted once.
    fn count_lost_connection(&mut self, since: Nanos, client: usize, error: &ServerError) {
        if std::mem::replace(&mut self.clients[client].is_counted_as_lost, true) {
            return;
        }
        let outage = self.outage.get_or_insert_with(|| {
            let message = error.message.clone();
            self.outage_events.push(OutageEvent::Begun { at: since, message: message.clone() });
            Outage { begin: since, end: None, connections_lost: 0, message }
        });
        outage.connections_lost += 1;
    }

    fn end_outage(&mut self, now: Nanos) {
        if let Some(mut outage) = self.outage.take() {
            outage.end = Some(now);
            self.outage_events.push(OutageEvent::Closed(outage));
        }
    }
}

/// Whether a server that is up refused the client, for example because it is full: its codes
/// contain digits, ours do not. Class 08 says that there is no connection, even if a driver or
/// pooler says so, and 57P03 that the server is not up yet.
fn is_from_server(error: &ServerError) -> bool {
    let is_said_by_one = error.code.bytes().any(|byte| byte.is_ascii_digit());
    is_said_by_one && !error.code.starts_with("08") && error.code != "57P03"
}
