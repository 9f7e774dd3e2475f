//! Several engines that share a load, as one: what each counted is added up exactly.
//!
//! Each engine, a part, has some of the threads of the plan ([`Plan::own_threads`]) and runs on a
//! machine with a clock of its own. All begin at one instant, so that the difference of two clocks
//! is known, and the same for all instants that a part reports. Intervals are added up by the same
//! code as those of an engine's lanes.

use crate::run::activity::Snapshots;
use crate::run::parts::{Parts, Whole};
use crate::run::shape_of;
use dbdyno_hist::frame::{Activity, Connected, Frame, PartConnected, PartInterval};
use dbdyno_hist::{self as hist, Collector, Doing, EngineUse};
use dbdyno_load::{ClosedInterval, Phase};
use dbdyno_model::{Nanos, Plan};
use std::collections::BTreeMap;

/// The difference of the clock of the whole and that of a part: what to add to the part's instants.
pub type ClockShift = i64;

/// What the parts of an interval used, by the interval's beginning and phase.
type Used = BTreeMap<(Nanos, u8), (EngineUse, Nanos)>;

/// Adds up the reports of the parts of a run.
pub struct Fleet {
    plan: Plan,
    /// The clients of each part.
    clients: Vec<Vec<u32>>,
    connected: Vec<Option<PartConnected>>,
    parts: Parts,
    snapshots: Snapshots,
    collector: Collector,
    used: Used,
    last_end: Nanos,
}

impl Fleet {
    /// The parts have these threads of the plan, whose scripts have so many statements.
    pub fn new(plan: Plan, threads: &[Vec<u32>], statements: usize) -> Self {
        let shape = shape_of(&plan, statements);
        let duration = plan.stages.iter().filter_map(|stage| stage.duration_ns).sum();
        let clients_of = |threads: &Vec<u32>| {
            threads.iter().flat_map(|&thread| plan.clients_of(thread)).collect::<Vec<u32>>()
        };
        Self {
            clients: threads.iter().map(clients_of).collect(),
            connected: threads.iter().map(|_| None).collect(),
            parts: Parts::new(shape, threads.len()),
            snapshots: Snapshots::new(plan.clients, threads.len()),
            collector: Collector::new(shape, duration),
            used: Used::new(),
            last_end: Nanos::ZERO,
            plan,
        }
    }

    /// A part's clients are connected; returns the frame about all clients after the last part.
    pub fn connected(&mut self, part: usize, connected: PartConnected) -> Option<Frame> {
        self.connected[part] = Some(connected);
        let all: Option<Vec<PartConnected>> = self.connected.iter().cloned().collect();
        Some(Frame::Connected(Connected::of(self.plan.clients, &all?)))
    }

    /// A part has closed an interval; returns the frames of those that are now whole. An error
    /// means that a part reports what no engine does.
    pub fn interval(
        &mut self,
        part: usize,
        shift: ClockShift,
        interval: PartInterval,
    ) -> Result<Vec<Frame>, String> {
        let phase = Phase::named(&interval.phase).ok_or("a phase that does not exist")?;
        let PartInterval { begin_ns, end_ns, mut tally, used, paused_ns, .. } = interval;
        for slow in &mut tally.slowest {
            for instant in [&mut slow.due, &mut slow.sent, &mut slow.done] {
                *instant = shifted(instant.0, shift);
            }
        }
        let (begin, end) = (shifted(begin_ns, shift), shifted(end_ns, shift));
        let (sum, paused) = self.used.entry((begin, phase as u8)).or_default();
        sum.cpu_us += used.cpu_us;
        sum.voluntary_switches += used.voluntary_switches;
        sum.involuntary_switches += used.involuntary_switches;
        *paused = (*paused).max(Nanos(paused_ns));
        self.parts.closed(part, ClosedInterval { phase, begin, end, tally: Box::new(tally) });
        self.whole_intervals()
    }

    /// What a part's clients were doing at an instant; returns the frames of whole instants.
    pub fn activity(&mut self, part: usize, shift: ClockShift, activity: &Activity) -> Vec<Frame> {
        let own = |&client: &u32| {
            let place = client as usize;
            let doing = activity.statements.get(2 * place..2 * place + 2)?;
            let backend = activity.backends.get(4 * place..4 * place + 4)?;
            let doing = Doing(u16::from_le_bytes(doing.try_into().ok()?));
            Some((u64::from(client), doing, u32::from_le_bytes(backend.try_into().ok()?)))
        };
        let at = shifted(activity.at_ns, shift);
        let clients = self.clients[part].iter().filter_map(own).collect();
        self.snapshots.add(part, vec![hist::Activity { at, clients }]);
        self.whole_instants()
    }

    /// A part is over: it has ended, or it is lost. Returns the frames that waited for it alone.
    pub fn over(&mut self, part: usize) -> Result<Vec<Frame>, String> {
        self.parts.over(part);
        let mut frames = self.whole_intervals()?;
        frames.extend(self.whole_instants());
        Ok(frames)
    }

    /// The last frames: the histograms since the last window, and the totals of the run, in which
    /// how it ended, how long it was and what the parts say of themselves is left out.
    pub fn end(&mut self) -> Vec<Frame> {
        let window = self.collector.last_window(self.last_end).map(Frame::Window);
        let done = self.collector.done("", String::new(), Nanos::ZERO, Vec::new());
        window.into_iter().chain([Frame::Done(Box::new(done))]).collect()
    }

    fn whole_intervals(&mut self) -> Result<Vec<Frame>, String> {
        let mut frames = Vec::new();
        while let Some(Whole { phase, begin, end, total, .. }) = self.parts.next_whole() {
            let (used, paused) = self.used.remove(&(begin, phase as u8)).unwrap_or_default();
            let interval =
                self.collector.interval(phase.name(), begin, end, &total, used, paused)?;
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

fn shifted(instant: u64, shift: ClockShift) -> Nanos {
    Nanos(instant.saturating_add_signed(shift))
}

#[cfg(test)]
mod tests;
