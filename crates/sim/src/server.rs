//! A simulated server whose behaviour is planned.

use dbdyno_model::{Nanos, ServerError};

/// The behaviour of the server; instants are of the virtual clock, which starts at zero.
#[derive(Clone, Debug, Default)]
pub struct Server {
    /// Service time of a request. Any number of requests proceed at once.
    pub service: Nanos,
    /// Periods (from, until) in which it does nothing.
    pub stalls: Vec<(Nanos, Nanos)>,
    /// Duration of a connect.
    pub connect: Nanos,
    /// Connections are lost at the first instant, and refused until the second.
    pub outage: Option<(Nanos, Nanos)>,
    /// Answers every n-th request with this error, in an open transaction block.
    pub error: Option<(u64, ServerError)>,
    /// From this instant on it never answers anything.
    pub silent_from: Option<Nanos>,
}

impl Server {
    /// When a request sent at `sent` is answered; `None` for never.
    pub fn answered(&self, sent: Nanos) -> Option<Nanos> {
        let mut clock = sent;
        let mut work = self.service;
        for &(begin, end) in &self.stalls {
            if end <= clock {
                continue;
            }
            if clock + work <= begin {
                break;
            }
            work = work - (begin - clock);
            clock = end;
        }
        let done = clock + work;
        let silent = self.silent_from.is_some_and(|from| done >= from);
        (!silent).then_some(done)
    }

    /// Whether connects are refused at an instant.
    pub fn refuses(&self, at: Nanos) -> bool {
        self.outage.is_some_and(|(begin, end)| begin <= at && at < end)
    }
}
