//! What scripts do around their transactions, if their language has that: entering on the
//! client's first connection, leaving at the end, and beginning a transaction anew by their own
//! decision.

use super::{Port, Worker};
use crate::client::{Course, State};
use dbdyno_model::{FailureClass, Nanos, Purpose, ServerError, StatementId, Stream};
use dbdyno_script::Resume;

/// Numbers that no transaction has.
const ENTERING: u64 = u64::MAX;
const LEAVING: u64 = u64::MAX - 1;

impl Worker {
    /// The client is connected and has no transaction: it enters first, if it has not yet.
    pub(super) fn enter<P: Port>(&mut self, now: Nanos, client: usize, port: &mut P) {
        let chance = self.chance_around(client, ENTERING);
        let own = &mut self.clients[client];
        match own.course {
            Course::Outside if own.session.enter(chance) => own.course = Course::Entering,
            // A script that connects anew while entering goes on.
            Course::Entering => {}
            Course::Leaving => return self.finish(client, port),
            Course::Outside | Course::Inside => {
                own.course = Course::Inside;
                return self.ready(now, client, port);
            }
        }
        self.run(now, client, Resume::Continue, port);
    }

    /// The client has had its last transaction: it leaves, and is then finished.
    pub(super) fn leave<P: Port>(&mut self, now: Nanos, client: usize, port: &mut P) {
        let chance = self.chance_around(client, LEAVING);
        let own = &mut self.clients[client];
        if own.course == Course::Inside && own.connected && own.session.leave(chance) {
            own.course = Course::Leaving;
            return self.run(now, client, Resume::Continue, port);
        }
        self.finish(client, port);
    }

    /// What the script did outside of its transactions is done; true when it can go on at once.
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

    /// The script begins its transaction anew; false when it may not, and has failed.
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

    /// The script wants a new connection in place of the old.
    pub(super) fn connect_anew<P: Port>(&mut self, now: Nanos, client: usize, port: &mut P) {
        port.close(client);
        self.clients[client].connected = false;
        self.clients[client].enter(State::Unconnected);
        self.connect(now, client, port);
    }
}

/// The error of a script that begins anew without one of the server's.
fn given_up() -> ServerError {
    ServerError {
        class: FailureClass::Script,
        code: "script".into(),
        message: "the script gave its transaction up".into(),
    }
}
