//! The end of a run: nothing new is started; transactions in flight get a grace period, then are
//! cancelled, then are given up. A server that has stopped answering ends the run as well.

use super::{Outage, Port, Worker};
use crate::client::{Client, State};
use dbdyno_model::Nanos;
use std::sync::atomic::Ordering;

/// The grace period is three times the 99th percentile, within these bounds.
const GRACE_SHORTEST: Nanos = Nanos::from_secs(1);
const GRACE_LONGEST: Nanos = Nanos::from_secs(30);
/// How long the server may take to answer a cancellation.
const CANCEL_WAIT: Nanos = Nanos::from_secs(5);
/// A wait that ends later than planned by more than this was delayed by a standstill, perhaps of
/// the whole machine.
const STANDSTILL_MIN: Nanos = Nanos::from_millis(100);

/// The state of the run's end.
pub(super) enum Ending {
    /// Transactions in flight may end within this period.
    Grace(Wait),
    /// The server was asked to cancel the remaining ones; it may answer within this period.
    Cancelling(Wait),
    /// Nothing is awaited any more.
    Over,
}

/// A wait for the server. If it was delayed by a standstill, answers that arrived meanwhile have
/// not been read yet: the wait is then extended once by a moment, so that they are.
pub(super) struct Wait {
    until: Nanos,
    is_prolonged: bool,
}

impl Wait {
    fn until(until: Nanos) -> Self {
        Self { until, is_prolonged: false }
    }

    fn is_over(&mut self, now: Nanos) -> bool {
        if now - self.until > STANDSTILL_MIN && !self.is_prolonged {
            *self = Self { until: now + STANDSTILL_MIN, is_prolonged: true };
        }
        now >= self.until
    }
}

impl Worker {
    /// Ends the run at `at`, unless it ends before.
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
        // An outage that has only just begun may end in time.
        let is_out = |outage: &Outage| now - outage.begin >= GRACE_SHORTEST;
        if self.outage.as_ref().is_some_and(is_out)
            && self.clients.iter().all(|client| !client.is_connected())
        {
            self.stalled = Some("closed its connections and accepted no new ones".into());
        }
        for client in 0..self.clients.len() {
            if self.clients[client].transaction.is_none() && !self.clients[client].awaits_server() {
                self.tear_down(now, client, port);
            }
        }
        if self.clients_left == 0 {
            self.ending = Some(Ending::Over); // the last ones have moved to other threads
        }
    }

    pub(super) fn continue_ending<P: Port>(&mut self, now: Nanos, port: &mut P) {
        let Some(Ending::Grace(wait) | Ending::Cancelling(wait)) = &mut self.ending else { return };
        if !wait.is_over(now) {
            return;
        }
        if matches!(self.ending, Some(Ending::Grace(_))) {
            self.cancel_all(now, port);
        } else {
            self.stalled = Some("did not answer a cancellation".into());
            self.finish_all(port);
        }
    }

    /// When the end has to be continued, at the latest.
    pub(super) fn next_ending_wake(&self) -> Nanos {
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
                port.cancel(client, self.clients[client].using);
            } else {
                self.finish(client, port);
            }
        }
    }

    /// A transaction that is still in flight stays unfinished, with its current age.
    pub(super) fn cut_off(&mut self, now: Nanos, client: usize) {
        let Some(transaction) = self.clients[client].transaction.take() else { return };
        if transaction.measured {
            self.count_retries(&transaction);
            self.tally.counters.in_flight -= 1;
            self.tally.counters.unfinished += 1;
            self.unfinished_ages.push(now - transaction.due);
        }
    }

    /// If no worker received anything for the stall limit, though answers were awaited, the server
    /// has stopped for good.
    pub(super) fn detect_stall<P: Port>(&mut self, now: Nanos, port: &mut P) {
        let waits = |client: &Client| {
            client.awaits_server()
                || matches!(client.state, State::Unconnected | State::Connecting(_))
        };
        if !self.clients.iter().any(waits) {
            self.last_unasked = now;
        }
        let heard_elsewhere =
            self.last_heard_by_all.fetch_max(self.last_heard.0, Ordering::Relaxed);
        let silent_since = self.last_unasked.max(self.last_heard).max(Nanos(heard_elsewhere));
        if self.ending.is_none() && now - silent_since >= self.plan.stall_limit_ns {
            self.stalled = Some(match &self.connect_error {
                None => "stopped answering".into(),
                Some(why) => format!("stopped answering; new connections failed: {why}"),
            });
            self.take_arrivals(now);
            (0..self.clients.len()).for_each(|client| self.cut_off(now, client));
            self.finish_all(port);
        }
    }

    /// The client runs nothing any more.
    pub(super) fn finish<P: Port>(&mut self, client: usize, port: &mut P) {
        if self.clients[client].state != State::Finished {
            self.end_connecting(client);
            self.clients[client].enter(State::Finished);
            self.close_connections(client, port);
            self.clients_left -= 1;
            self.clients_left_in_all.fetch_sub(1, Ordering::Relaxed);
        }
        self.end_without_clients();
    }

    /// A worker whose clients have all ended is over, but not while other workers of an open loop
    /// have clients: its own arrivals still become due, and are counted as waiting.
    pub(super) fn end_without_clients(&mut self) {
        let others_go_on = self.clients_left_in_all.load(Ordering::Relaxed) > 0;
        let stays = others_go_on && self.has_arrivals_left() && !self.is_winding_down();
        if self.clients_left == 0 && !stays {
            self.ending = Some(Ending::Over);
        }
    }

    fn finish_all<P: Port>(&mut self, port: &mut P) {
        (0..self.clients.len()).for_each(|client| self.finish(client, port));
        self.ending = Some(Ending::Over);
    }
}
