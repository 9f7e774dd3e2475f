//! Adds up what the parts of a run report of the same time: the lanes of an engine, or the engines
//! of a load that several of them share.

use dbdyno_hist::{Counters, Samples, Shape, Tally};
use dbdyno_load::Phase;
use dbdyno_model::Nanos;
use std::collections::BTreeMap;

/// Orders intervals by time; an empty one comes before the one that begins at the same time.
type Key = (Nanos, u8);

/// An interval, as far as it has been reported.
#[derive(Debug)]
struct Partial<K> {
    phase: Phase,
    end: Nanos,
    /// What was reported so far is added up at once: a tally of each part would be a hundred times
    /// as large.
    total: Tally,
    reported: BTreeMap<usize, (Counters, K)>,
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
pub(crate) struct Whole<K> {
    pub(crate) phase: Phase,
    pub(crate) begin: Nanos,
    pub(crate) end: Nanos,
    /// What all parts counted.
    pub(crate) total: Tally,
    /// What was kept of each part that reported it, by its number.
    pub(crate) kept: Vec<(usize, K)>,
}

/// The parts of a run, and their intervals that are not whole yet; of what each counted in such an
/// interval, a `K` is kept.
#[derive(Debug)]
pub(crate) struct Parts<K> {
    shape: Shape,
    states: Vec<Part>,
    partial: BTreeMap<Key, Partial<K>>,
}

impl<K> Parts<K> {
    /// So many parts, which count what this shape says.
    pub(crate) fn new(shape: Shape, count: usize) -> Self {
        let states = (0..count).map(|_| Part::default()).collect();
        Self { shape, states, partial: BTreeMap::new() }
    }

    /// A part has closed an interval.
    pub(crate) fn closed<L: Samples>(
        &mut self,
        part: usize,
        phase: Phase,
        [begin, end]: [Nanos; 2],
        tally: Box<Tally<L>>,
        keep: impl FnOnce(Box<Tally<L>>) -> K,
    ) {
        let shape = self.shape;
        let partial = self.partial.entry((begin, phase as u8)).or_insert_with(|| Partial {
            phase,
            end,
            total: Tally::new(shape),
            reported: BTreeMap::new(),
        });
        partial.end = partial.end.max(end);
        partial.total.merge(&tally);
        partial.reported.insert(part, (tally.counters, keep(tally)));
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

    /// The number of intervals that wait for a part.
    pub(crate) fn waiting(&self) -> usize {
        self.partial.len()
    }

    /// The memory that they take, in bytes, as if each were as the first.
    pub(crate) fn waiting_bytes(&self) -> usize {
        let Some(first) = self.partial.values().next() else { return 0 };
        let reported = first.reported.len() * size_of::<(usize, (Counters, K))>();
        self.waiting() * (first.total.bytes() + reported)
    }

    /// The parts for which the first of these intervals waits.
    pub(crate) fn awaited(&self) -> Vec<usize> {
        let Some((_, first)) = self.partial.first_key_value() else { return Vec::new() };
        let is_awaited =
            |&part: &usize| !self.states[part].is_over && !first.reported.contains_key(&part);
        (0..self.states.len()).filter(is_awaited).collect()
    }

    /// The next interval that every part has reported, or has ended before.
    pub(crate) fn next_whole(&mut self) -> Option<Whole<K>> {
        let (&key, first) = self.partial.first_key_value()?;
        let is_in =
            |(part, state): (usize, &Part)| state.is_over || first.reported.contains_key(&part);
        if !self.states.iter().enumerate().all(is_in) {
            return None;
        }
        let Partial { phase, end, mut total, reported } = self.partial.remove(&key)?;
        for (part, state) in self.states.iter_mut().enumerate() {
            if let Some(&(counters, _)) = reported.get(&part) {
                state.counters = counters;
            } else {
                // Of a part that was lost, nobody will know how they ended.
                let Counters { in_flight, unfinished, .. } = &mut state.counters;
                *unfinished += std::mem::take(in_flight);
                total.counters += state.counters;
            }
        }
        let kept = reported.into_iter().map(|(part, (_, kept))| (part, kept)).collect();
        Some(Whole { phase, begin: key.0, end, total, kept })
    }
}
