//! Several engines that share a load, as one: what each counted is added up exactly.
//!
//! Each engine, a part, has some of the threads of the plan ([`Plan::own_threads`]) and runs on a
//! machine with a clock of its own. All begin at one instant, so that the difference of two clocks
//! is known, and the same for all instants that a part reports. Intervals are added up by the same
//! code as those of an engine's lanes.

mod pace;

use crate::run::activity::Snapshots;
use crate::run::parts::{Parts, Whole};
use crate::run::shape_of;
use dbdyno_hist::frame::{Activity, Connected, Frame, PartConnected, PartInterval, WorkerInterval};
use dbdyno_hist::{self as hist, Collector, Doing, EngineUse, Samples, Shape, SparseLatencies};
use dbdyno_load::Phase;
use dbdyno_model::{Nanos, Plan};
use pace::Pace;

/// Bytes that are kept for a part that is behind the others: of intervals, each of which has
/// histograms of all scripts and statements, and as many of what clients were doing.
const WAITING_BYTES_MAX: usize = 256 << 20;
/// However large they are, so many intervals may wait: no part is always in time.
const WAITING_MIN: usize = 10;

/// When a report of a part arrived, by the clock of the whole.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// The difference of the clock of the whole and that of the part: what to add to its instants.
    pub shift: i64,
    /// When the load began.
    pub begin: Nanos,
    /// The time now.
    pub now: Nanos,
}

impl Arrival {
    fn shifted(self, instant: u64) -> Nanos {
        Nanos(instant.saturating_add_signed(self.shift))
    }
}

/// What a part has summed up of an interval, and its switches of context.
#[derive(Debug)]
struct Summary {
    of_worker: WorkerInterval,
    used: EngineUse,
}

/// How many reports of each kind have come from a part, and what these add up to: it is lost if it
/// contradicts itself, and not the one whose report makes the interval whole.
#[derive(Debug, Default)]
struct Reported {
    intervals: Pace<(Nanos, u8)>,
    instants: Pace<Nanos>,
    failures: u64,
    responses: u64,
}

/// Adds up the reports of the parts of a run.
pub struct Fleet {
    plan: Plan,
    /// The clients of each part.
    clients: Vec<Vec<u32>>,
    connected: Vec<Option<PartConnected>>,
    shape: Shape,
    reported: Vec<Reported>,
    parts: Parts<Summary>,
    snapshots: Snapshots,
    collector: Collector,
    last_end: Nanos,
}

impl Fleet {
    /// The parts have these threads of the plan, whose scripts have so many statements.
    pub fn new(plan: Plan, threads: &[Vec<u32>], statements: usize) -> Self {
        let shape = shape_of(&plan, statements);
        let duration = plan.stages.iter().filter_map(|stage| stage.duration_ns).sum();
        Self {
            clients: threads.iter().map(|threads| plan.clients_of_threads(threads)).collect(),
            connected: threads.iter().map(|_| None).collect(),
            shape,
            reported: threads.iter().map(|_| Reported::default()).collect(),
            parts: Parts::new(shape, threads.len()),
            snapshots: Snapshots::new((0..plan.clients).collect(), threads.len()),
            collector: Collector::new(shape, duration),
            last_end: Nanos::ZERO,
            plan,
        }
    }

    /// A part's clients are connected; returns the frame about all clients after the last part.
    pub fn connected(&mut self, part: usize, connected: PartConnected) -> Option<Frame> {
        self.connected[part] = Some(connected);
        if self.connected.iter().any(Option::is_none) {
            return None;
        }
        let all: Vec<_> = self.connected.iter_mut().filter_map(Option::take).collect();
        Some(Frame::Connected(Connected::of(self.plan.clients, &all)))
    }

    /// A part has closed an interval; returns the frames of those that are now whole. An error
    /// means that a part reports what no engine does.
    pub fn interval(
        &mut self,
        part: usize,
        arrival: Arrival,
        mut interval: PartInterval<SparseLatencies>,
    ) -> Result<Vec<Frame>, String> {
        let phase = Phase::named(&interval.phase).ok_or("a phase that does not exist")?;
        let begin = arrival.shifted(interval.begin_ns);
        let end = arrival.shifted(interval.end_ns);
        // Beside those of a length, one is cut short wherever a stage or a phase ends.
        let cut = 2 * self.plan.stages.len() as u64;
        let key = (begin, phase as u8);
        let reported = &mut self.reported[part];
        reported.intervals.take(arrival, key, end, self.plan.interval_ns, cut)?;
        let tally = &mut interval.tally;
        if tally.scripts.len() != self.shape.scripts
            || tally.statements.len() != self.shape.statements
        {
            return Err("numbers of other scripts and statements".into());
        }
        if phase != Phase::Warmup {
            reported.failures += tally.failures.values().map(|one| one.count).sum::<u64>();
            reported.responses += tally.scripts.iter().map(|one| one.response.count()).sum::<u64>();
        }
        tally.counters.check(reported.failures, reported.responses)?;
        for slow in &mut tally.slowest {
            for instant in [&mut slow.due, &mut slow.sent, &mut slow.done] {
                *instant = arrival.shifted(instant.0);
            }
        }
        let of_worker = WorkerInterval::of(part, begin, end, &interval);
        let summary = Summary { of_worker, used: interval.used };
        self.parts.closed(part, phase, [begin, end], Box::new(interval.tally), |_| summary);
        self.whole_intervals()
    }

    /// The parts that are so far behind the others that these cannot be kept for them any longer.
    pub fn too_slow(&self) -> Vec<usize> {
        if self.parts.waiting() > WAITING_MIN && self.parts.waiting_bytes() > WAITING_BYTES_MAX {
            self.parts.awaited()
        } else if self.snapshots.waiting_bytes() > WAITING_BYTES_MAX {
            self.snapshots.awaited(|part| self.parts.is_over(part))
        } else {
            Vec::new()
        }
    }

    /// What a part's clients were doing at an instant, in their order; returns the frames of whole
    /// instants. An error means that a part reports what no engine does.
    pub fn activity(
        &mut self,
        part: usize,
        arrival: Arrival,
        activity: &Activity,
    ) -> Result<Vec<Frame>, String> {
        let at = arrival.shifted(activity.at_ns);
        let step = self.plan.activity_interval_ns.unwrap_or(Nanos::MAX);
        self.reported[part].instants.take(arrival, at, at, step, 0)?;
        let own = |(place, &client): (usize, &u32)| {
            let doing = activity.statements.get(2 * place..2 * place + 2)?;
            let backend = activity.backends.get(4 * place..4 * place + 4)?;
            let doing = Doing(u16::from_le_bytes(doing.try_into().ok()?));
            Some((u64::from(client), doing, u32::from_le_bytes(backend.try_into().ok()?)))
        };
        let clients = self.clients[part].iter().enumerate().filter_map(own).collect();
        self.snapshots.add(part, vec![hist::Activity { at, clients }]);
        Ok(self.whole_instants())
    }

    /// A part is over: it has ended, or it is lost. Returns the frames that waited for it alone.
    pub fn over(&mut self, part: usize) -> Result<Vec<Frame>, String> {
        self.parts.over(part);
        let mut frames = self.whole_intervals()?;
        frames.extend(self.whole_instants());
        Ok(frames)
    }

    /// The last frames: the histograms since the last window, and the totals of the run, in which
    /// how it ended, how long it was and what the parts say of themselves is left out. The scripts
    /// have counters of these names.
    pub fn end(&mut self, counters: &[String]) -> Vec<Frame> {
        let window = self.collector.last_window(self.last_end).map(Frame::Window);
        let mut done = self.collector.done("", String::new(), Nanos::ZERO, Vec::new());
        done.counted = self.collector.counted(counters);
        window.into_iter().chain([Frame::Done(Box::new(done))]).collect()
    }

    fn whole_intervals(&mut self) -> Result<Vec<Frame>, String> {
        let mut frames = Vec::new();
        while let Some(Whole { phase, begin, end, total, kept }) = self.parts.next_whole() {
            let (mut used, mut paused_us) = (EngineUse::default(), 0);
            for (_, Summary { of_worker, used: its }) in &kept {
                used.cpu_us += its.cpu_us;
                used.voluntary_switches += its.voluntary_switches;
                used.involuntary_switches += its.involuntary_switches;
                paused_us = paused_us.max(of_worker.paused_us);
            }
            let paused = Nanos::from_micros(paused_us);
            let mut interval =
                self.collector.interval(phase.name(), begin, end, &total, used, paused)?;
            interval.workers = kept.into_iter().map(|(_, summary)| summary.of_worker).collect();
            frames.push(Frame::Interval(Box::new(interval)));
            frames.extend(self.collector.window(end).map(Frame::Window));
            self.last_end = end;
        }
        Ok(frames)
    }

    fn whole_instants(&mut self) -> Vec<Frame> {
        let parts = &self.parts;
        let whole = self.snapshots.take_complete(|part| parts.is_over(part));
        whole.into_iter().map(Frame::Activity).collect()
    }
}

#[cfg(test)]
mod tests;
