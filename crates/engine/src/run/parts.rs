//! Adds up what the parts of a run report of the same time: the lanes of an engine, or the engines
//! of a load that several of them share.

use dbdyno_hist::{Counters, Shape, Tally};
use dbdyno_load::{ClosedInterval, Phase};
use dbdyno_model::Nanos;
use std::collections::BTreeMap;

/// Orders intervals by time; an empty one comes before the one that begins at the same time.
type Key = (Nanos, u8);

/// An interval, as far as it has been reported.
#[derive(Debug)]
struct Partial {
    phase: Phase,
    end: Nanos,
    tallies: BTreeMap<usize, Box<Tally>>,
}

/// The state of a part.
#[derive(Debug, Default)]
struct Part {
    /// As of the last reported interval: a part that is over reports no more of them, but what it
    /// counted stays counted.
    counters: Counters,
    is_over: bool,
}

/// An interval that every part has reported, or has ended before.
#[derive(Debug)]
pub(crate) struct Whole {
    pub(crate) phase: Phase,
    pub(crate) begin: Nanos,
    pub(crate) end: Nanos,
    /// What all parts counted.
    pub(crate) total: Tally,
    /// What each part counted, by its number.
    pub(crate) tallies: Vec<(usize, Box<Tally>)>,
}

/// The parts of a run, and their intervals that are not whole yet.
#[derive(Debug)]
pub(crate) struct Parts {
    shape: Shape,
    states: Vec<Part>,
    partial: BTreeMap<Key, Partial>,
}

impl Parts {
    /// So many parts, which count what this shape says.
    pub(crate) fn new(shape: Shape, count: usize) -> Self {
        let states = (0..count).map(|_| Part::default()).collect();
        Self { shape, states, partial: BTreeMap::new() }
    }

    /// A part has closed an interval.
    pub(crate) fn closed(&mut self, part: usize, closed: ClosedInterval) {
        let key = (closed.begin, closed.phase as u8);
        let partial = self.partial.entry(key).or_insert_with(|| Partial {
            phase: closed.phase,
            end: closed.end,
            tallies: BTreeMap::new(),
        });
        partial.end = partial.end.max(closed.end);
        partial.tallies.insert(part, closed.tally);
    }

    /// A part reports no more.
    pub(crate) fn over(&mut self, part: usize) {
        self.states[part].is_over = true;
    }

    pub(crate) fn is_over(&self, part: usize) -> bool {
        self.states[part].is_over
    }

    pub(crate) fn all_over(&self) -> bool {
        self.states.iter().all(|part| part.is_over)
    }

    /// The next interval that every part has reported, or has ended before.
    pub(crate) fn next_whole(&mut self) -> Option<Whole> {
        let (&key, first) = self.partial.first_key_value()?;
        let is_in =
            |(part, state): (usize, &Part)| state.is_over || first.tallies.contains_key(&part);
        if !self.states.iter().enumerate().all(is_in) {
            return None;
        }
        let Partial { phase, end, tallies } = self.partial.remove(&key)?;
        let mut total = Tally::new(self.shape);
        for (part, state) in self.states.iter_mut().enumerate() {
            if let Some(tally) = tallies.get(&part) {
                state.counters = tally.counters;
                total.merge(tally);
            } else {
                // Of a part that was lost, nobody will know how they ended.
                let Counters { in_flight, unfinished, .. } = &mut state.counters;
                *unfinished += std::mem::take(in_flight);
                total.counters += state.counters;
            }
        }
        Some(Whole { phase, begin: key.0, end, total, tallies: tallies.into_iter().collect() })
    }
}
