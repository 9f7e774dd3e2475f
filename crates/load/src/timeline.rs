//! The run in time: warm-up, stages, end, and the boundaries of intervals.

use dbdyno_model::{Nanos, Plan, Stage};

/// Part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Nothing counts yet.
    Warmup,
    /// What is due now counts.
    Measure,
    /// Nothing new is started; transactions in flight may end.
    Drain,
}

impl Phase {
    /// The phase of this name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Warmup, Self::Measure, Self::Drain].into_iter().find(|phase| phase.name() == name)
    }

    /// Its name in frames.
    pub fn name(self) -> &'static str {
        match self {
            Self::Warmup => "warmup",
            Self::Measure => "measure",
            Self::Drain => "drain",
        }
    }
}

/// The instants that all workers of a run agree on.
#[derive(Clone, Debug, PartialEq)]
pub struct Timeline {
    start: Nanos,
    measure_begin: Nanos,
    measure_end: Nanos,
    interval: Nanos,
    /// Each stage and its end; the end of the last one is the end of the run.
    stages: Vec<(Nanos, Stage)>,
}

impl Timeline {
    /// The timeline of a run that starts (with its warm-up) at `start`.
    pub fn new(plan: &Plan, start: Nanos) -> Self {
        let measure_begin = start + plan.warmup_ns;
        let mut end = measure_begin;
        let stages: Vec<(Nanos, Stage)> = plan
            .stages
            .iter()
            .map(|&stage| {
                end = stage.duration_ns.map_or(Nanos::MAX, |duration| end + duration);
                (end, stage)
            })
            .collect();
        Self { start, measure_begin, measure_end: end, interval: plan.interval_ns, stages }
    }

    /// When the warm-up begins.
    pub fn start(&self) -> Nanos {
        self.start
    }

    /// What is due from here on counts.
    pub fn measure_begin(&self) -> Nanos {
        self.measure_begin
    }

    /// From here on nothing new is started; [`Nanos::MAX`] while no end is set.
    pub fn measure_end(&self) -> Nanos {
        self.measure_end
    }

    /// Ends the run at `now`, unless it ends before.
    pub fn stop_at(&mut self, now: Nanos) {
        self.measure_end = self.measure_end.min(now);
        self.measure_begin = self.measure_begin.min(self.measure_end);
    }

    /// The phase of an instant.
    pub fn phase(&self, at: Nanos) -> Phase {
        if at < self.measure_begin {
            Phase::Warmup
        } else if at < self.measure_end {
            Phase::Measure
        } else {
            Phase::Drain
        }
    }

    /// How many of `clients` are active at an instant; the warm-up runs like the first stage.
    pub fn active_clients(&self, at: Nanos, clients: u32) -> u32 {
        self.stage(at).and_then(|stage| stage.clients).unwrap_or(clients).min(clients)
    }

    fn stage(&self, at: Nanos) -> Option<&Stage> {
        let place = self.stages.partition_point(|(end, _)| *end <= at);
        self.stages.get(place).or(self.stages.last()).map(|(_, stage)| stage)
    }

    /// The periods of constant arrival rate, as (end, arrivals per second); the first begins at
    /// [`Timeline::start`].
    pub fn rates(&self) -> Vec<(Nanos, f64)> {
        self.stages.iter().map(|(end, stage)| (*end, stage.rate_tps.unwrap_or(0.0))).collect()
    }

    /// The first boundary between stages after an instant.
    pub fn next_stage(&self, after: Nanos) -> Nanos {
        self.stages.iter().map(|(end, _)| *end).find(|end| *end > after).unwrap_or(Nanos::MAX)
    }

    /// The end of the interval that begins at `begin`. Intervals are aligned to the beginning of
    /// their phase, and end with it and with their stage, so that none spans two.
    pub fn interval_end(&self, begin: Nanos) -> Nanos {
        let (origin, last) = match self.phase(begin) {
            Phase::Warmup => (self.start, self.measure_begin),
            Phase::Measure => (self.measure_begin, self.measure_end.min(self.next_stage(begin))),
            Phase::Drain => (self.measure_end, Nanos::MAX),
        };
        let passed = (begin - origin).0 / self.interval.0;
        (origin + self.interval * (passed + 1)).min(last)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::{Phase, Timeline};
    use dbdyno_model::{Nanos, Stage};

    pub(crate) fn stage(seconds: u64, clients: Option<u32>, rate_tps: Option<f64>) -> Stage {
        Stage { duration_ns: Some(Nanos::from_secs(seconds)), clients, rate_tps }
    }

    pub(crate) fn timeline(warmup: u64, interval: u64, stages: Vec<Stage>) -> Timeline {
        let measure_begin = Nanos::from_secs(10 + warmup);
        let mut end = measure_begin;
        let stages = stages
            .into_iter()
            .map(|stage| {
                end += stage.duration_ns.unwrap();
                (end, stage)
            })
            .collect();
        let (start, interval) = (Nanos::from_secs(10), Nanos::from_millis(interval));
        Timeline { start, measure_begin, measure_end: end, interval, stages }
    }

    #[test]
    fn intervals_never_cross_a_phase() {
        let line = timeline(1, 400, vec![stage(1, None, None)]);
        let mut begin = line.start();
        let mut ends = Vec::new();
        while line.phase(begin) != Phase::Drain {
            begin = line.interval_end(begin);
            ends.push((begin - line.start()).0 / 1_000_000);
        }
        assert_eq!(ends, [400, 800, 1000, 1400, 1800, 2000]);
    }

    #[test]
    fn intervals_end_with_their_stage() {
        let line = timeline(0, 1000, vec![stage(1, None, None), stage(1, None, None)]);
        let line = Timeline { interval: Nanos::from_millis(600), ..line };
        let ends = [0, 600, 1000, 1200, 1800]
            .map(|begin| line.interval_end(line.start() + Nanos::from_millis(begin)))
            .map(|end| (end - line.start()).0 / 1_000_000);
        assert_eq!(ends, [600, 1000, 1200, 1800, 2000]);
    }

    #[test]
    fn the_warm_up_runs_as_the_first_stage() {
        let line = timeline(5, 1000, vec![stage(2, Some(3), None), stage(2, Some(7), None)]);
        let at = |seconds| line.active_clients(Nanos::from_secs(seconds), 5);
        assert_eq!([at(11), at(16), at(17), at(30)], [3, 3, 5, 5]);
    }

    #[test]
    fn stopping_in_the_warm_up_leaves_nothing_to_measure() {
        let mut line = timeline(5, 1000, vec![stage(2, None, None)]);
        line.stop_at(Nanos::from_secs(12));
        assert_eq!(line.phase(Nanos::from_secs(12)), Phase::Drain);
        assert_eq!(line.measure_begin(), line.measure_end());
    }
}
