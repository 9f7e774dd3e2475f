//! The pace at which a worker's clients connect, and the outages of the server.
//!
//! Connects are paced: listen backlogs are short, and a thousand attempts at once would only be
//! refused. After a failure a client pauses before its next attempt, twice as long each time.

use dbdyno_model::{FailureClass, Nanos, Purpose, ServerError, Stream};
use std::collections::VecDeque;

/// The code of a client's connect that was not answered while others of the run were: a pooler that
/// has no session left keeps it waiting.
pub const WAITED_BESIDE_OTHERS: &str = "waited_beside_others";
/// Limit on concurrent connects per thread, when many are to be made.
const CONNECTS_AT_ONCE: usize = 16;
/// The first pause after a failed attempt; it doubles with each further one, up to a maximum.
const PAUSE_FIRST: Nanos = Nanos::from_millis(10);
const PAUSE_LONGEST: Nanos = Nanos::from_secs(1);

/// A period in which connections were missing or, with
/// [`dbdyno_model::Plan::reconnect_each_transaction`], none could be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outage {
    /// When the first connection was lost, or could not be made.
    pub begin: Nanos,
    /// When the first connection was restored.
    pub end: Option<Nanos>,
    /// How many were lost.
    pub connections_lost: u64,
    /// The error message of the first loss.
    pub message: String,
}

/// A change in the state of outages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutageEvent {
    /// An outage has begun.
    Begun {
        /// When the first connection was lost.
        at: Nanos,
        /// The error message of that loss.
        message: String,
    },
    /// The outage is over, or the run is.
    Closed(Outage),
}

/// Which clients connect, and what is known of those that cannot.
#[derive(Debug, Default)]
pub(crate) struct Connector {
    /// Clients that wait for their turn to connect.
    queue: VecDeque<usize>,
    in_flight: usize,
    /// Why the last connect failed, if none has succeeded since.
    latest_error: Option<String>,
    outage: Option<Outage>,
    outage_events: Vec<OutageEvent>,
}

impl Connector {
    /// These clients are to connect when their turn comes.
    pub(crate) fn enqueue(&mut self, clients: impl IntoIterator<Item = usize>) {
        self.queue.extend(clients);
    }

    /// The client whose turn it is to connect.
    pub(crate) fn next_turn(&mut self) -> Option<usize> {
        if self.in_flight < CONNECTS_AT_ONCE { self.queue.pop_front() } else { None }
    }

    /// A client begins to connect.
    pub(crate) fn begun(&mut self) {
        self.in_flight += 1;
    }

    /// A client is no longer connecting.
    pub(crate) fn ended(&mut self) {
        self.in_flight -= 1;
    }

    /// It has succeeded, or failed with this error.
    pub(crate) fn note_result(&mut self, result: Result<(), &ServerError>) {
        self.latest_error = result.err().map(|error| error.message.clone());
    }

    /// Why the last connect failed, if none has succeeded since.
    pub(crate) fn latest_error(&self) -> Option<&str> {
        self.latest_error.as_deref()
    }

    /// A connection has been lost at that time: an outage begins, or one more is counted.
    pub(crate) fn count_lost(&mut self, since: Nanos, error: &ServerError) {
        let outage = self.outage.get_or_insert_with(|| {
            let message = error.message.clone();
            self.outage_events.push(OutageEvent::Begun { at: since, message: message.clone() });
            Outage { begin: since, end: None, connections_lost: 0, message }
        });
        outage.connections_lost += 1;
    }

    /// A connection is restored.
    pub(crate) fn end_outage(&mut self, now: Nanos) {
        if let Some(mut outage) = self.outage.take() {
            outage.end = Some(now);
            self.outage_events.push(OutageEvent::Closed(outage));
        }
    }

    /// The outage that is not over.
    pub(crate) fn outage(&self) -> Option<&Outage> {
        self.outage.as_ref()
    }

    /// New events of outages; at the run's end, also an outage that is not over.
    pub(crate) fn take_outage_events(&mut self, is_over: bool) -> Vec<OutageEvent> {
        if is_over {
            self.outage_events.extend(self.outage.take().map(OutageEvent::Closed));
        }
        std::mem::take(&mut self.outage_events)
    }
}

/// The pause of a client after this many failed attempts in a row. Half of it is random, so that
/// clients lost together do not reconnect together.
pub(crate) fn pause(seed: u64, client: u64, failures: u32) -> Nanos {
    let pause = (PAUSE_FIRST * (1 << failures.min(10))).min(PAUSE_LONGEST);
    let mut chance = Stream::keyed(seed, Purpose::Backoff, client, failures.into());
    Nanos(pause.0 / 2 + chance.up_to(pause.0 / 2))
}

/// The error of a connect that took too long, while other clients were connected or not.
pub(crate) fn timed_out(after: Nanos, are_others_connected: bool) -> ServerError {
    let (code, beside) = if are_others_connected {
        (WAITED_BESIDE_OTHERS, ", although other clients are connected")
    } else {
        ("connect_timeout", "")
    };
    let message = format!("no connection within {} s{beside}", after.as_secs_f64());
    ServerError::new(FailureClass::Connection, code, message)
}

/// Whether a server that is up refused the client, for example because it is full: its codes
/// contain digits, ours do not. Class 08 says that there is no connection, even if a driver or
/// pooler says so, and 57P03 that the server is not up yet.
pub(crate) fn is_from_server(error: &ServerError) -> bool {
    let is_said_by_one = error.code.bytes().any(|byte| byte.is_ascii_digit());
    is_said_by_one && !error.code.starts_with("08") && error.code != "57P03"
}

#[cfg(test)]
mod tests {
    use super::{CONNECTS_AT_ONCE, Connector, Outage, OutageEvent, PAUSE_LONGEST, pause};
    use dbdyno_model::{Nanos, ServerError};

    #[test]
    fn only_so_many_connect_at_once_in_the_order_in_which_they_came() {
        let mut connector = Connector::default();
        connector.enqueue(0..CONNECTS_AT_ONCE + 2);
        let turns = |connector: &mut Connector| {
            let turn = || connector.next_turn().inspect(|_| connector.begun());
            std::iter::from_fn(turn).collect::<Vec<_>>()
        };
        assert_eq!(turns(&mut connector), (0..CONNECTS_AT_ONCE).collect::<Vec<_>>());
        connector.ended();
        assert_eq!(turns(&mut connector), [CONNECTS_AT_ONCE]);
    }

    #[test]
    fn pauses_double_up_to_a_second_and_differ_between_clients() {
        let pauses = |client| (0..20).map(|failures| pause(1, client, failures)).collect();
        let (one, other): (Vec<Nanos>, Vec<Nanos>) = (pauses(0), pauses(1));
        assert_ne!(one, other);
        for (failures, pause) in one.into_iter().enumerate() {
            let longest = Nanos::from_millis(10 << failures).min(PAUSE_LONGEST);
            assert!(Nanos(longest.0 / 2) <= pause && pause <= longest, "{failures}: {pause:?}");
        }
    }

    #[test]
    fn an_outage_lasts_from_the_first_loss_to_the_first_restored_connection() {
        let mut connector = Connector::default();
        let error = |text: &str| ServerError::connection_lost(text);
        let [first, later] = [1, 2].map(Nanos::from_millis);
        connector.count_lost(first, &error("gone"));
        connector.count_lost(later, &error("gone as well"));
        let begun = OutageEvent::Begun { at: first, message: "gone".into() };
        assert_eq!(connector.take_outage_events(false), [begun]);
        connector.end_outage(later);
        connector.end_outage(later);
        let (end, message) = (Some(later), "gone".into());
        let outage = Outage { begin: first, end, connections_lost: 2, message };
        assert_eq!(connector.take_outage_events(false), [OutageEvent::Closed(outage)]);
    }

    #[test]
    fn an_outage_that_is_not_over_is_closed_with_the_run() {
        let mut connector = Connector::default();
        connector.count_lost(Nanos(1), &ServerError::connection_lost("gone"));
        connector.take_outage_events(false);
        assert!(matches!(
            &connector.take_outage_events(true)[..],
            [OutageEvent::Closed(Outage { end: None, .. })]
        ));
    }
}
