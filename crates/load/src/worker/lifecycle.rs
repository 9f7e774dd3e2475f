//! What scripts do around their transactions, where their language provides it: setup on the
//! client's first connection, teardown at the end, and restarting a transaction by their own
//! decision.

use super::{Port, Worker};
use crate::client::{Lifecycle, State};
use dbdyno_model::{ConnectionId, FailureClass, Nanos, Purpose, ServerError, StatementId, Stream};
use dbdyno_script::Resume;

/// Transaction numbers for the random streams of setup and teardown, which no transaction has.
const SETUP: u64 = u64::MAX;
const TEARDOWN: u64 = u64::MAX - 1;

impl Worker {
    /// The client is connected and has no transaction: its script is set up first, if it is not
    /// yet.
    pub(super) fn set_up<P: Port>(&mut self, now: Nanos, client: usize, port: &mut P) {
        let chance = self.hook_chance(client, SETUP);
        let own = &mut self.clients[client];
        match own.lifecycle {
            Lifecycle::NotSetUp if own.session.set_up(chance) => {
                own.lifecycle = Lifecycle::SettingUp;
            }
            // A script that reconnects during setup or teardown continues it.
            Lifecycle::SettingUp | Lifecycle::TearingDown => {}
            Lifecycle::NotSetUp | Lifecycle::SetUp => {
                own.lifecycle = Lifecycle::SetUp;
                return self.ready(now, client, port);
            }
        }
        self.run(now, client, Resume::Continue, port);
    }

    /// The client has had its last transaction: its script is torn down, then the client is
    /// finished.
    pub(super) fn tear_down<P: Port>(&mut self, now: Nanos, client: usize, port: &mut P) {
        let chance = self.hook_chance(client, TEARDOWN);
        let own = &mut self.clients[client];
        if own.lifecycle == Lifecycle::SetUp && own.is_connected() && own.session.tear_down(chance)
        {
            own.lifecycle = Lifecycle::TearingDown;
            return self.run(now, client, Resume::Continue, port);
        }
        self.finish(client, port);
    }

    /// The script's setup or teardown is done; true when the client can continue at once.
    pub(super) fn hook_done<P: Port>(&mut self, now: Nanos, client: usize, port: &mut P) -> bool {
        if self.clients[client].lifecycle == Lifecycle::TearingDown {
            self.finish(client, port);
            return false;
        }
        self.clients[client].lifecycle = Lifecycle::SetUp;
        if self.clients[client].missing.is_some() {
            self.has_all_connections(now, client); // its script does not open the missing one again
        }
        true
    }

    fn hook_chance(&self, client: usize, number: u64) -> Stream {
        Stream::keyed(self.plan.seed, Purpose::Script, self.global_id(client), number)
    }

    /// The script restarts its transaction; false when it may not, and the transaction has failed.
    pub(super) fn restart_transaction<P: Port>(
        &mut self,
        now: Nanos,
        client: usize,
        port: &mut P,
    ) -> bool {
        let may = self.has_tries_left(now, client);
        let own = &mut self.clients[client];
        let (error, statement) = match own.error.take() {
            Some(error) => (error, own.failing),
            None => (given_up(), StatementId::UNCOUNTED),
        };
        if may {
            self.retry(now, client, &error, statement);
        } else if own.transaction.is_some() {
            self.fail_transaction(now, client, &error, statement);
            self.leave_connection(client, port);
        }
        may
    }

    /// The script asks for a connection to a server, in place of the old one if there is one.
    pub(super) fn connect_for_script<P: Port>(
        &mut self,
        now: Nanos,
        client: usize,
        (connection, server): (ConnectionId, u32),
        port: &mut P,
    ) {
        port.close(client, connection);
        let own = &mut self.clients[client];
        own.connection_mut(connection).leave();
        own.connection_mut(connection).server = server;
        own.using = connection;
        own.enter(State::Unconnected);
        self.connect(now, client, port);
    }

    /// The script closes a connection.
    pub(super) fn disconnect<P: Port>(
        &mut self,
        client: usize,
        connection: ConnectionId,
        port: &mut P,
    ) {
        port.close(client, connection);
        let own = self.clients[client].connection_mut(connection);
        own.leave();
        own.is_closed_by_script = true;
    }
}

/// The error of a transaction that the script restarts without an error of the server.
fn given_up() -> ServerError {
    ServerError::new(FailureClass::Script, "script", "the script gave up its transaction")
}
