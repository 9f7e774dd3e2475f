//! Decides when each transaction of an open loop is due. Knows neither clients nor clocks.
//!
//! Arrivals are scheduled in advance and never moved because the server was slow: the delay
//! is what we are here to measure. Arrival `k` is due when the expected number of arrivals
//! since the start, the area under the rate, reaches the sum of the first `k` gaps, each
//! drawn with mean one from a stream of its own. So the schedule is a pure function of the
//! seed and the stages, the same in every thread and on every host.

use crate::Timeline;
use dbdyno_model::{ArrivalLaw, Nanos, Purpose, Stream};

/// The arrivals of a run, in order, as (number, due); numbers start at 0 in the warm-up.
#[derive(Clone, Debug)]
pub struct Schedule {
    seed: u64,
    law: ArrivalLaw,
    /// The rest of the run, as (end, arrivals per second).
    rates: Vec<(Nanos, f64)>,
    stage: usize,
    stage_begin: Nanos,
    /// Expected number of arrivals before the current stage.
    stage_area: f64,
    number: u64,
    area: f64,
}

impl Schedule {
    /// The schedule of a run.
    pub fn new(seed: u64, law: ArrivalLaw, timeline: &Timeline) -> Self {
        Self {
            seed,
            law,
            rates: timeline.rates(),
            stage: 0,
            stage_begin: timeline.start(),
            stage_area: 0.0,
            number: 0,
            area: 0.0,
        }
    }

    fn gap(&self) -> f64 {
        match self.law {
            ArrivalLaw::Constant => 1.0,
            ArrivalLaw::Poisson => {
                let mut chance = Stream::keyed(self.seed, Purpose::Arrivals, 0, self.number);
                -chance.next_f64_positive().ln()
            }
        }
    }
}

impl Iterator for Schedule {
    type Item = (u64, Nanos);

    fn next(&mut self) -> Option<(u64, Nanos)> {
        let area = self.area + self.gap();
        loop {
            let &(end, rate) = self.rates.get(self.stage)?;
            let wait = Nanos::from_secs_f64((area - self.stage_area) / rate);
            if rate > 0.0 && self.stage_begin + wait < end {
                let number = self.number;
                self.number += 1;
                self.area = area;
                return Some((number, self.stage_begin + wait));
            }
            self.stage_area += rate * (end - self.stage_begin).as_secs_f64();
            self.stage_begin = end;
            self.stage += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Schedule;
    use crate::timeline::tests::{stage, timeline};
    use dbdyno_model::{ArrivalLaw, Nanos};

    #[test]
    fn constant_arrivals_stand_where_arithmetic_puts_them() {
        let line = timeline(
            0,
            1000,
            vec![stage(1, None, Some(4.0)), stage(1, None, Some(0.0)), stage(1, None, Some(2.0))],
        );
        let due: Vec<u64> = Schedule::new(1, ArrivalLaw::Constant, &line)
            .map(|(_, due)| (due - line.start()).0 / 1_000_000)
            .collect();
        // The fourth arrival of the first stage would fall on its end: it becomes the first of the
        // third.
        assert_eq!(due, [250, 500, 750, 2000, 2500]);
    }

    #[test]
    fn poisson_arrivals_have_the_rate_and_the_scatter_of_their_law() {
        let line = timeline(0, 1000, vec![stage(100, None, Some(1000.0))]);
        let due: Vec<Nanos> =
            Schedule::new(5, ArrivalLaw::Poisson, &line).map(|(_, due)| due).collect();
        let count = due.len() as f64;
        assert!((count - 1e5).abs() < 4.0 * 1e5_f64.sqrt(), "{count}");
        let gaps: Vec<f64> = due.windows(2).map(|pair| (pair[1] - pair[0]).as_secs_f64()).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        let variation = variance.sqrt() / mean;
        assert!((variation - 1.0).abs() < 0.02, "{variation}");
    }

    #[test]
    fn the_schedule_ends_with_the_run() {
        let line = timeline(1, 1000, vec![stage(1, None, Some(100.0))]);
        let last = Schedule::new(2, ArrivalLaw::Poisson, &line).last().unwrap().1;
        assert!(last < line.measure_end());
    }
}
