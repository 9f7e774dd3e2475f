//! What scripts do around their transactions, where their language provides it: setup on the
//! client's first connection, teardown at the end, and restarting a transaction by their own
//! decision.

use super::{Port, Worker};
use crate::client::{Course, State};
use dbdyno_model::{FailureClass, Nanos, Purpose, ServerError, StatementId, Stream};
use dbdyno_script::Resume;

/// Transaction numbers for the random streams of setup and teardown, which no transaction has.
const ENTERING: u64 = u64::MAX;
const LEAVING: u64 = u64::MAX - 1;

impl Worker {
    /// The client is connected and has no transaction: its script is set up first, if it is not
    /// yet.
    pub(super) fn enter<P: Port>(&mut self, now: Nanos, client: usize, port: &mut P) {
        let chance = self.chance_around(client, ENTERING);
        let own = &mut self.clients[client];
        match own.course {
            Course::Outside if own.session.enter(chance) => own.course = Course::Entering,
            // A script that reconnects during setup continues it.
            Course::Entering => {}
            Course::Leaving => return self.finish(client, port),
            Course::Outside | Course::Inside => {
                own.course = Course::Inside;
                return self.ready(now, client, port);
            }
        }
        self.run(now, client, Resume::Continue, port);
    }

    /// The client has had its last transaction: its script is torn down, then the client is
    /// finished.
    pub(super) fn leave<P: Port>(&mut self, now: Nanos, client: usize, port: &mut P) {
        let chance = self.chance_around(client, LEAVING);
        let own = &mut self.clients[client];
        if own.course == Course::Inside && own.connected && own.session.leave(chance) {
            own.course = Course::Leaving;
            return self.run(now, client, Resume::Continue, port);
        }
        self.finish(client, port);
    }

    /// The script's setup or teardown is done; true when the client can continue at once.
    pub(super) fn has_come_through<P: Port>(&mut self, client: usize, port: &mut P) -> bool {
        if self.clients[client].course == Course::Leaving {
            self.finish(client, port);
            return false;
        }
        self.clients[client].course = Course::Inside;
        true
    }

    fn chance_around(&self, client: usize, number: u64) -> Stream {
        Stream::keyed(self.plan.seed, Purpose::Script, self.global_id(client), number)
    }

    /// The script restarts its transaction; false when it may not, and the transaction has failed.
    pub(super) fn begins_anew<P: Port>(&mut self, now: Nanos, client: usize, port: &mut P) -> bool {
        let may = self.has_tries_left(now, client);
        let own = &mut self.clients[client];
        let (error, statement) = match own.error.take() {
            Some(error) => (error, own.failing),
            None => (given_up(), StatementId::UNCOUNTED),
        };
        if may {
            self.try_again(now, client, &error, statement);
        } else if own.transaction.is_some() {
            self.fail_transaction(now, client, &error, statement);
            self.leave_connection(client, port);
        }
        may
    }

    /// The script asks for a new connection in place of the old one.
    pub(super) fn connect_anew<P: Port>(&mut self, now: Nanos, client: usize, port: &mut P) {
        port.close(client);
        self.clients[client].connected = false;
        self.clients[client].enter(State::Unconnected);
        self.connect(now, client, port);
    }
}

/// The error of a transaction that the script restarts without an error of the server.
fn given_up() -> ServerError {
    ServerError {
        class: FailureClass::Script,
        code: "script".into(),
        message: "the script gave its transaction up".into(),
    }
}
