//! The end of a run: nothing new, a grace for what is under way, then cancellation, then
//! giving up. A server that has stopped answering ends the run as well.

use super::{Outage, Port, Worker};
use crate::client::{Client, State};
use dbdyno_model::Nanos;
use std::sync::atomic::Ordering;

/// The grace is three times the 99th percentile, within these bounds.
const GRACE_SHORTEST: Nanos = Nanos::from_secs(1);
const GRACE_LONGEST: Nanos = Nanos::from_secs(30);
/// How long the server may take to answer a cancellation.
const CANCEL_WAIT: Nanos = Nanos::from_secs(5);
/// Whoever is later than this to the end of a wait stood still over it, and so may have the machine.
const STOOD_STILL: Nanos = Nanos::from_millis(100);

/// How the run ends.
pub(super) enum Ending {
    /// Transactions under way may end until this is over.
    Grace(Wait),
    /// The server was asked to cancel what still is under way; it may answer until this is over.
    Cancelling(Wait),
    /// Nothing is awaited any more.
    Over,
}

/// A wait for the server. After a standstill its answers of meanwhile lie there unheard: then it
/// is prolonged by a moment, once, so that they are heard first.
pub(super) struct Wait {
    until: Nanos,
    is_prolonged: bool,
}

impl Wait {
    fn until(until: Nanos) -> Self {
        Self { until, is_prolonged: false }
    }

    fn is_over(&mut self, now: Nanos) -> bool {
        if now - self.until > STOOD_STILL && !self.is_prolonged {
            *self = Self { until: now + STOOD_STILL, is_prolonged: true };
        }
        now >= self.until
    }
}

impl Worker {
    /// Ends the run at `at`, if it would last longer.
    pub(super) fn stop<P: Port>(&mut self, now: Nanos, at: Nanos, port: &mut P) {
        if let Some(timeline) = &mut self.timeline {
            timeline.stop_at(at);
            self.interval_end = timeline.interval_end(self.interval_begin);
        } else if self.ending.is_none() {
            self.begin_ending(now, port);
        }
    }

    pub(super) fn begin_ending<P: Port>(&mut self, now: Nanos, port: &mut P) {
        self.take_arrivals(now);
        let grace = (self.responses.quantile(0.99) * 3).max(GRACE_SHORTEST).min(GRACE_LONGEST);
        self.ending = Some(Ending::Grace(Wait::until(now + grace)));
        // What was lost only just now may be on its way back.
        let is_out = |outage: &Outage| now - outage.begin >= GRACE_SHORTEST;
        if self.outage.as_ref().is_some_and(is_out)
            && self.clients.iter().all(|client| !client.connected)
        {
            self.stalled = Some("closed its connections and took no new ones");
        }
        for client in 0..self.clients.len() {
            if self.clients[client].transaction.is_none() && !self.clients[client].awaits_server() {
                self.leave(now, client, port);
            }
        }
        if self.clients_left == 0 {
            self.ending = Some(Ending::Over); // the last ones have gone to other threads
        }
    }

    pub(super) fn go_on_ending<P: Port>(&mut self, now: Nanos, port: &mut P) {
        let Some(Ending::Grace(wait) | Ending::Cancelling(wait)) = &mut self.ending else { return };
        if !wait.is_over(now) {
            return;
        }
        if matches!(self.ending, Some(Ending::Grace(_))) {
            self.cancel_all(now, port);
        } else {
            self.stalled = Some("did not answer a cancellation");
            self.finish_all(port);
        }
    }

    /// When the end has to go on, at the latest.
    pub(super) fn next_of_ending(&self) -> Nanos {
        match &self.ending {
            Some(Ending::Grace(wait) | Ending::Cancelling(wait)) => wait.until,
            Some(Ending::Over) | None => Nanos::MAX,
        }
    }

    fn cancel_all<P: Port>(&mut self, now: Nanos, port: &mut P) {
        self.ending = Some(Ending::Cancelling(Wait::until(now + CANCEL_WAIT)));
        for client in 0..self.clients.len() {
            self.cut_off(now, client);
            if self.clients[client].awaits_server() {
                self.clients[client].enter(State::Cancelling);
                port.cancel(client);
            } else {
                self.finish(client, port);
            }
        }
    }

    /// A transaction that is still under way stays unfinished, with the age it has.
    pub(super) fn cut_off(&mut self, now: Nanos, client: usize) {
        let Some(transaction) = self.clients[client].transaction.take() else { return };
        if transaction.measured {
            self.count_tries(&transaction);
            self.tally.counters.in_flight -= 1;
            self.tally.counters.unfinished += 1;
            self.unfinished_ages.push(now - transaction.due);
        }
    }

    /// No worker heard anything for so long, though something was awaited: the server has
    /// stopped for good.
    pub(super) fn look_for_stall<P: Port>(&mut self, now: Nanos, port: &mut P) {
        let waits = |client: &Client| {
            client.awaits_server()
                || matches!(client.state, State::Unconnected | State::Connecting(_))
        };
        if !self.clients.iter().any(waits) {
            self.unasked = now;
        }
        let heard_elsewhere = self.heard_by_all.fetch_max(self.heard.0, Ordering::Relaxed);
        let silent_since = self.unasked.max(self.heard).max(Nanos(heard_elsewhere));
        if self.ending.is_none() && now - silent_since >= self.plan.stall_limit_ns {
            self.stalled = Some("stopped answering");
            self.take_arrivals(now);
            (0..self.clients.len()).for_each(|client| self.cut_off(now, client));
            self.finish_all(port);
        }
    }

    /// The client does no more.
    pub(super) fn finish<P: Port>(&mut self, client: usize, port: &mut P) {
        if self.clients[client].state != State::Finished {
            self.clients[client].enter(State::Finished);
            self.clients[client].connected = false;
            self.clients_left -= 1;
            port.close(client);
        }
        if self.clients_left == 0 {
            self.ending = Some(Ending::Over);
        }
    }

    fn finish_all<P: Port>(&mut self, port: &mut P) {
        (0..self.clients.len()).for_each(|client| self.finish(client, port));
    }
}
