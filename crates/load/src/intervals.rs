//! What a worker counts, cut into intervals.

use crate::{Phase, Timeline};
use dbdyno_hist::{Shape, Tally};
use dbdyno_model::Nanos;

/// What one worker counted between two boundaries of the timeline.
#[derive(Debug)]
pub struct ClosedInterval {
    /// The phase of the run.
    pub phase: Phase,
    /// Its beginning.
    pub begin: Nanos,
    /// Its end.
    pub end: Nanos,
    /// What was counted.
    pub tally: Box<Tally>,
}

/// The current interval, and those that are closed.
pub(crate) struct Intervals {
    shape: Shape,
    /// What is counted in the current one.
    pub(crate) tally: Tally,
    begin: Nanos,
    end: Nanos,
    closed: Vec<ClosedInterval>,
    /// A tally whose memory is used again.
    spare: Option<Box<Tally>>,
}

impl Intervals {
    /// None ends before the load begins.
    pub(crate) fn new(shape: Shape) -> Self {
        let (begin, end) = (Nanos::ZERO, Nanos::MAX);
        Self { shape, tally: Tally::new(shape), begin, end, closed: Vec::new(), spare: None }
    }

    /// The load begins.
    pub(crate) fn start(&mut self, timeline: &Timeline) {
        self.begin = timeline.start();
        self.end = timeline.interval_end(self.begin);
    }

    /// The timeline has changed.
    pub(crate) fn adapt(&mut self, timeline: &Timeline) {
        self.end = timeline.interval_end(self.begin);
    }

    /// What its tallies count.
    pub(crate) fn shape(&self) -> Shape {
        self.shape
    }

    /// When the current one begins.
    pub(crate) fn begin(&self) -> Nanos {
        self.begin
    }

    /// When the current one ends.
    pub(crate) fn end(&self) -> Nanos {
        self.end
    }

    /// Closes the current one; the next one continues its counters.
    pub(crate) fn close(&mut self, end: Nanos, timeline: &Timeline) {
        let (begin, phase) = (self.begin, timeline.phase(self.begin));
        self.begin = end;
        self.end = timeline.interval_end(end);
        let mut next = *self.spare.take().unwrap_or_else(|| Box::new(Tally::new(self.shape)));
        next.counters = self.tally.counters;
        let tally = Box::new(std::mem::replace(&mut self.tally, next));
        self.closed.push(ClosedInterval { phase, begin, end, tally });
    }

    /// Those closed since the last call.
    pub(crate) fn take_closed(&mut self) -> Vec<ClosedInterval> {
        std::mem::take(&mut self.closed)
    }

    /// Keeps a tally's memory for reuse.
    pub(crate) fn reuse(&mut self, mut tally: Box<Tally>) {
        tally.clear();
        self.spare = Some(tally);
    }
}

#[cfg(test)]
mod tests {
    use super::Intervals;
    use crate::Phase;
    use crate::timeline::tests::{stage, timeline};
    use dbdyno_hist::{Shape, Tally};
    use dbdyno_model::Nanos;

    const SHAPE: Shape = Shape { scripts: 1, statements: 0, service_differs: false };

    #[test]
    fn each_interval_continues_the_counters_of_the_one_before() {
        let timeline = timeline(1, 1000, vec![stage(2, None, None)]);
        let mut intervals = Intervals::new(SHAPE);
        assert_eq!(intervals.end(), Nanos::MAX);
        intervals.start(&timeline);
        for _ in 0..2 {
            intervals.tally.counters.due += 1;
            intervals.tally.round_trips += 1;
            intervals.close(intervals.end(), &timeline);
            intervals.reuse(Box::new(Tally::new(SHAPE)));
        }
        let closed = intervals.take_closed();
        let seconds = |at: Nanos| at.0 / 1_000_000_000;
        let told = closed.iter().map(|one| {
            let tally = &one.tally;
            (one.phase, seconds(one.begin), seconds(one.end), tally.counters.due, tally.round_trips)
        });
        let expected = [(Phase::Warmup, 10, 11, 1, 1), (Phase::Measure, 11, 12, 2, 1)];
        assert_eq!(told.collect::<Vec<_>>(), expected);
        assert!(intervals.take_closed().is_empty());
    }
}
