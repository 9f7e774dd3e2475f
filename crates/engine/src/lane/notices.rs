//! Notices of the server, limited in number.
//!
//! A function that raises a notice does so in each transaction. Tens of thousands a second would
//! fill the disk within hours, and recording them would take processor time from the load. So the
//! first notices of each second are reported, and the others only counted.

use super::Report;
use dbdyno_model::Nanos;
use std::sync::mpsc::Sender;

/// How many notices a lane reports in a second.
const REPORTED_PER_SECOND_MAX: u32 = 5;
const SECOND: Nanos = Nanos::from_secs(1);

/// The notices of one lane.
pub(super) struct Notices {
    reports: Sender<Report>,
    /// When the first notice of the current second came.
    begin: Nanos,
    reported: u32,
    suppressed: u64,
}

impl Notices {
    pub(super) fn new(reports: Sender<Report>) -> Self {
        Self { reports, begin: Nanos::ZERO, reported: 0, suppressed: 0 }
    }

    /// Reports or counts a notice.
    pub(super) fn add(&mut self, now: Nanos, text: String) {
        if now - self.begin >= SECOND {
            self.report_suppressed(now);
            (self.begin, self.reported) = (now, 0);
        }
        if self.reported < REPORTED_PER_SECOND_MAX {
            self.reported += 1;
            self.send(now, text);
        } else {
            self.suppressed += 1;
        }
    }

    /// Reports how many were only counted.
    pub(super) fn report_suppressed(&mut self, now: Nanos) {
        let suppressed = std::mem::take(&mut self.suppressed);
        if suppressed > 0 {
            self.send(now, format!("further notices within a second: {suppressed}"));
        }
    }

    fn send(&self, now: Nanos, text: String) {
        // The receiver is gone only when the whole run is.
        let _ = self.reports.send(Report::Notice(now, text));
    }
}

#[cfg(test)]
mod tests {
    use super::{Notices, SECOND};
    use crate::lane::Report;
    use dbdyno_model::Nanos;
    use std::sync::mpsc::channel;

    #[test]
    fn the_first_of_each_second_are_logged_and_the_others_counted() {
        let (sender, receiver) = channel();
        let mut notices = Notices::new(sender);
        for (begin, count) in [(SECOND, 8), (SECOND * 2, 2), (SECOND * 3, 6)] {
            (0..count).for_each(|number| notices.add(begin + Nanos(number), number.to_string()));
        }
        notices.report_suppressed(SECOND * 4);
        notices.report_suppressed(SECOND * 4);
        drop(notices);
        let reported = receiver.iter().map(|report| match report {
            Report::Notice(at, text) => (at.0 / SECOND.0, text),
            other => panic!("{other:?}"),
        });
        let text = |(second, text): (u64, String)| format!("{second}: {text}");
        assert_eq!(
            reported.map(text).collect::<Vec<_>>(),
            [
                "1: 0",
                "1: 1",
                "1: 2",
                "1: 3",
                "1: 4",
                "2: further notices within a second: 3",
                "2: 0",
                "2: 1",
                "3: 0",
                "3: 1",
                "3: 2",
                "3: 3",
                "3: 4",
                "4: further notices within a second: 1",
            ]
        );
    }
}
