//! A client's turn, as far as its connections are concerned: they are made, lost and closed.

use super::Worker;
use super::turn::Turn;
use crate::Port;
use crate::client::Connection;
use crate::connector::{is_from_server, pause, timed_out};
use crate::state::{Errand, Input, State};
use dbdyno_hist::ServerTally;
use dbdyno_model::{ConnectionId, FailureClass, Nanos, ServerError, StatementId, server_of};
use dbdyno_script::Resume;
use std::ops::Range;

impl Worker {
    /// The servers among which a connection moves on from one that fails: scripts of sysbench name
    /// theirs themselves, and what reads on a standby stays on standbys.
    fn servers_for(&self, connection: ConnectionId) -> Range<u32> {
        let endpoint = &self.plan.endpoint;
        match connection {
            _ if self.plan.lua.is_some() => 0..1,
            ConnectionId::FIRST => 0..endpoint.successors(),
            _ => endpoint.servers()..endpoint.all_servers(),
        }
    }

    /// The number of the server this many further on.
    fn moved_on(&self, server: u32, by: u32, connection: ConnectionId) -> u32 {
        let among = self.servers_for(connection);
        if !among.contains(&server) {
            return server;
        }
        let count = among.end - among.start;
        among.start + (server - among.start + by % count) % count
    }

    /// How many attempts it takes until each of them has failed.
    fn attempts_in_round(&self, connection: ConnectionId) -> u32 {
        (self.servers_for(connection).len() as u32).max(1)
    }

    /// Lets those clients connect whose turn it is.
    pub(super) fn connect_from_queue<P: Port>(&mut self, now: Nanos, port: &mut P) {
        while let Some(client) = self.connector.next_turn() {
            if matches!(self.clients[client].state, State::Unconnected(_)) {
                self.turn(now, client, port).connect();
            }
        }
    }
}

impl<P: Port> Turn<'_, P> {
    /// Makes the connection that the client uses.
    pub(super) fn connect(&mut self) {
        let (now, client) = (self.now, self.client);
        self.worker.connector.begun();
        self.own().enter(Input::Connects(now));
        self.set_alarm(now + self.worker.plan.endpoint.connect_timeout_ns);
        let own = self.own();
        let using = own.using;
        let server = own.connection_mut(using).server;
        self.port.connect(client, using, server);
    }

    /// The script asks for a connection to a server, in place of the old one if there is one.
    pub(super) fn connect_for_script(&mut self, connection: ConnectionId, server: u32) {
        self.port.close(self.client, connection);
        let moved_on = self.own().connection_mut(connection).moved_on;
        let server = self.worker.moved_on(server, moved_on, connection);
        let own = self.own();
        own.connection_mut(connection).leave();
        own.connection_mut(connection).server = server;
        own.using = connection;
        self.connect();
    }

    /// The script closes a connection.
    pub(super) fn disconnect(&mut self, connection: ConnectionId) {
        self.port.close(self.client, connection);
        let own = self.own().connection_mut(connection);
        own.leave();
        own.is_closed_by_script = true;
    }

    /// Closes all connections of the client.
    pub(super) fn close_connections(&mut self) {
        let own = &mut self.worker.clients[self.client];
        own.connections().for_each(|(number, _)| self.port.close(self.client, number));
        own.leave_connections();
        let (id, moved_on) = (own.id, own.first.moved_on);
        let begins_at = server_of(self.worker.plan.endpoint.servers(), id, 0);
        let server = self.worker.moved_on(begins_at, moved_on, ConnectionId::FIRST);
        self.own().first.server = server;
    }

    /// The server of this connection has failed: the next attempt is at the next one, where the
    /// connection then stays.
    fn move_on(&mut self, connection: ConnectionId) {
        let own = self.own().connection_mut(connection);
        own.moved_on = own.moved_on.wrapping_add(1);
        let server = own.server;
        self.own().connection_mut(connection).server = self.worker.moved_on(server, 1, connection);
    }

    /// Whether a server that only reads any more is left for another one.
    pub(super) fn goes_on_elsewhere(&self, connection: ConnectionId) -> bool {
        let is_asked = self.worker.plan.endpoint.read_only_query.is_some();
        is_asked
            && connection == ConnectionId::FIRST
            && self.worker.attempts_in_round(connection) > 1
    }

    /// What is counted of the server that a connection is, or was to be, made to; nothing where
    /// there is only one.
    pub(super) fn server_tally(&mut self, connection: ConnectionId) -> Option<&mut ServerTally> {
        if self.worker.plan.endpoint.all_servers() == 1 {
            return None;
        }
        let server = self.own().connection_mut(connection).server;
        Some(self.worker.intervals.tally.server_mut(server))
    }

    /// With a connection for each transaction, closes this one, and what the script has opened.
    pub(super) fn leave_connection(&mut self) {
        if self.worker.plan.reconnect_each_transaction {
            self.close_connections();
            self.own().execution.connection_left();
        }
    }

    /// The client is no longer connecting, if it was; since when it had been.
    pub(super) fn end_connecting(&mut self) -> Option<Nanos> {
        let State::Connecting { since, .. } = self.own().state else { return None };
        self.own().enter(Input::ConnectFailed);
        self.worker.connector.ended();
        Some(since)
    }

    pub(super) fn connect_timed_out(&mut self) {
        let using = self.own().using;
        self.port.close(self.client, using);
        let Worker { plan, shared, timeline, .. } = &*self.worker;
        // Before the load, those that are connected stay so.
        let are_others_connected = shared.last_reached() > Nanos::ZERO && timeline.is_none();
        let error = timed_out(plan.endpoint.connect_timeout_ns, are_others_connected);
        self.connect_failed(&error, false);
    }

    pub(super) fn connected(&mut self, backend: u32) {
        let now = self.now;
        let own = self.own();
        let State::Connecting { since, errand } = own.state else {
            return own.state.ignore(Input::Connected);
        };
        own.enter(Input::Connected);
        let using = own.using;
        let connection = own.connection_mut(using);
        *connection =
            Connection { is_open: true, is_closed_by_script: false, backend, ..*connection };
        let has_all = own.trouble.as_ref().is_none_or(|trouble| trouble.missing == using);
        self.worker.connector.ended();
        self.worker.connector.note_result(Ok(()));
        self.worker.intervals.tally.connects.record(now - since);
        if let Some(server) = self.server_tally(using) {
            server.connects += 1;
        }
        self.worker.shared.reached(now);
        if has_all {
            self.has_all_connections();
        }
        match errand {
            Errand::GoOn(_) => self.run(Resume::Continue),
            Errand::SetUp => self.set_up(),
            Errand::Next => self.go_on(),
        }
        self.worker.connect_from_queue(now, self.port);
    }

    /// The script opens no connection that it has missed since its setup began.
    pub(super) fn opens_nothing_more(&mut self) {
        if self.own().trouble.is_some() {
            self.has_all_connections();
        }
    }

    /// The client has the connection that it missed, if it missed one.
    fn has_all_connections(&mut self) {
        self.own().trouble = None;
        self.worker.connector.end_outage(self.now);
    }

    /// The connection could not be made; `busy` if the server merely had no room for it.
    pub(super) fn connect_failed(&mut self, error: &ServerError, busy: bool) {
        let Some(since) = self.end_connecting() else {
            return self.own().state.ignore(Input::ConnectFailed);
        };
        self.worker.connector.note_result(Err(error));
        let now = self.now;
        let timeout = self.worker.plan.endpoint.connect_timeout_ns;
        let using = self.own().using;
        if let Some(server) = self.server_tally(using) {
            server.connects_failed += 1;
        }
        let in_round = self.worker.attempts_in_round(using);
        let own = self.own();
        let trouble = own.misses(using);
        trouble.connect_failures += 1;
        let begun = *trouble.server_busy_since.get_or_insert(since);
        let has_next = !trouble.connect_failures.is_multiple_of(in_round);
        let may_wait = has_next || (busy && now - begun < timeout);
        if !may_wait {
            trouble.server_busy_since = None;
        }
        if self.worker.timeline.is_none() && !may_wait {
            self.worker.end_report.fatal.get_or_insert_with(|| error.clone());
        }
        if is_from_server(error) {
            self.worker.shared.reached(now);
        } else {
            self.detect_outage(since, error);
        }
        if !may_wait {
            self.fail_transaction(error, StatementId::UNCOUNTED, false);
        }
        self.move_on(using);
        if !may_wait && using != ConnectionId::FIRST {
            self.begin_anew();
        }
        self.reconnect_later();
        // A server that is too busy gets no further connect until this client's pause is over.
        if !busy {
            self.worker.connect_from_queue(now, self.port);
        }
    }

    /// A connection of the client was lost. The others are closed with it: what its script set in
    /// their sessions belongs together, so all are set up again.
    pub(super) fn lost(&mut self, connection: ConnectionId, error: &ServerError) {
        let (now, client) = (self.now, self.client);
        let own = self.own();
        let is_unknown = own.awaits_commit();
        own.connection_mut(connection).leave();
        match own.state {
            State::Finished => return,
            State::Cancelling => return self.finish(),
            State::Connecting { .. } => self.worker.connector.ended(),
            _ => {}
        }
        self.worker.arrivals.forget_idle(client);
        self.worker.deferral.forget_idle(client);
        let own = self.own();
        own.enter(Input::Lost);
        own.misses(connection).missing = connection;
        if let Some(server) = self.server_tally(connection) {
            server.connections_lost += 1;
        }
        let own = self.own();
        let awaited = own.outstanding.front().filter(|_| own.using == connection);
        let statement = awaited.map_or(StatementId::UNCOUNTED, |asked| asked.statement);
        self.count_lost_connection(now, error);
        self.fail_transaction(error, statement, is_unknown);
        self.move_on(connection);
        self.begin_anew();
        self.reconnect_later();
    }

    /// The client closes its connections, and begins with its first one and the script's setup.
    fn begin_anew(&mut self) {
        self.close_connections();
        let own = self.own();
        own.outstanding.clear();
        if !own.state.is_tearing_down() {
            own.enter(Input::StartsAnew);
        }
    }

    /// Reconnects after a pause; at the client's end only for a transaction that still waits for its
    /// connection.
    fn reconnect_later(&mut self) {
        let has_ended = self.worker.ending.has_begun();
        let own = self.own();
        if (has_ended || own.state.is_tearing_down()) && own.state.transaction().is_none() {
            return self.finish();
        }
        let failures = own.trouble.as_ref().map_or(0, |trouble| trouble.connect_failures);
        let using = own.using;
        let rounds = failures / self.worker.attempts_in_round(using);
        let pause = pause(self.worker.plan.seed, self.id(), rounds);
        self.set_alarm(self.now + pause);
    }

    /// Clients that connect for each transaction may have no connection to lose during an outage.
    /// Then the server counts as gone when a client is refused twice in a row and no client of the
    /// whole run reached it in between: a single refusal may be chance, or come from one of several
    /// servers behind one address.
    fn detect_outage(&mut self, attempt: Nanos, error: &ServerError) {
        let Worker { plan, timeline, ending, shared, .. } = &*self.worker;
        let is_looked_for =
            plan.reconnect_each_transaction && timeline.is_some() && !ending.has_begun();
        if !is_looked_for || error.class != FailureClass::Connection {
            return;
        }
        let reached_last = shared.last_reached();
        let own = self.own();
        let using = own.using;
        let trouble = own.misses(using);
        match trouble.refused_since {
            Some(since) if since >= reached_last => self.count_lost_connection(since, error),
            _ => trouble.refused_since = Some(attempt),
        }
    }

    /// The client has been without its connection since that time, which is counted once.
    fn count_lost_connection(&mut self, since: Nanos, error: &ServerError) {
        let own = self.own();
        let using = own.using;
        if !std::mem::replace(&mut own.misses(using).is_counted_as_lost, true) {
            self.worker.connector.count_lost(since, error);
        }
    }
}
