//! Aggregates what the lanes report: each interval, then the whole run.

use super::activity::Snapshots;
use super::parts::{Parts, Whole};
use super::pauses::Pauses;
use crate::lane::LaneEnd;
use crate::selfcheck::{self, OwnWork, invalid_reasons};
use crate::{EngineError, usage};
use dbdyno_hist::frame::{self, Done, Frame, PartInterval};
use dbdyno_hist::{Activity, Collector, EngineUse, Shape, Tally};
use dbdyno_load::{ClosedInterval, Phase, Timeline};
use dbdyno_model::{Arrivals, Nanos, Plan, Reports, ServerError};
use dbdyno_script::Fault;

/// The state of a lane.
#[derive(Debug, Default)]
struct LaneState {
    end: Option<LaneEnd>,
    /// Why the server could not be asked to cancel.
    cancel_failed: Option<ServerError>,
}

impl LaneState {
    fn stalled(&self) -> Option<&str> {
        self.end.as_ref()?.worker.stalled.as_deref()
    }
}

/// Frames of an interval, and the tallies to return to their lanes.
type Complete = (Vec<Frame>, Vec<(usize, Box<Tally>)>);

/// Aggregates the reports of a run.
pub(super) struct Aggregator {
    reports_transactions: bool,
    collector: Collector,
    /// What the lanes have counted, in tallies that return to them.
    parts: Parts<Box<Tally>>,
    /// Whether other engines report the rest of the run, so that another process adds up all.
    is_shared: bool,
    snapshots: Snapshots,
    lanes: Vec<LaneState>,
    last_use: EngineUse,
    /// How long its threads had waited for a processor, if it is a part of a load.
    last_waited: Nanos,
    /// End of the last reported interval, and the phase it was in.
    last_end: Nanos,
    last_phase: Phase,
    pub(super) interrupted: bool,
    pub(super) clients_moved: u64,
    pub(super) pauses: Pauses,
    /// The message about a script that can never work, which ended the run.
    pub(super) hopeless: Option<String>,
}

impl Aggregator {
    pub(super) fn new(shape: Shape, plan: &Plan) -> Self {
        let lanes = plan.threads_here().len();
        let duration = plan.stages.iter().filter_map(|stage| stage.duration_ns).sum();
        Self {
            reports_transactions: plan.reports == Reports::Transactions,
            collector: Collector::new(shape, duration),
            parts: Parts::new(shape, lanes),
            is_shared: plan.is_shared(),
            snapshots: Snapshots::new(plan.clients_of_threads(&plan.threads_here()), lanes),
            lanes: (0..lanes).map(|_| LaneState::default()).collect(),
            last_use: usage::so_far(),
            last_waited: Nanos::ZERO,
            last_end: Nanos::ZERO,
            last_phase: Phase::Warmup,
            interrupted: false,
            clients_moved: 0,
            pauses: Pauses::default(),
            hopeless: None,
        }
    }

    /// What the process has used for connecting is not part of the load.
    pub(super) fn load_begins(&mut self) {
        self.last_use = usage::so_far();
        self.waited();
    }

    pub(super) fn closed(&mut self, lane: u32, closed: ClosedInterval) {
        let ClosedInterval { phase, begin, end, tally } = closed;
        self.parts.closed(lane as usize, phase, [begin, end], tally, |tally| tally);
    }

    /// Adds what one lane's clients were doing; returns the frames of the instants for which all
    /// lanes are in.
    pub(super) fn activities(
        &mut self,
        lane: u32,
        activities: Vec<Activity>,
    ) -> Vec<frame::Activity> {
        self.snapshots.add(lane as usize, activities);
        self.snapshots.take_complete(|lane| self.parts.is_over(lane))
    }

    pub(super) fn over(&mut self, lane: u32, end: LaneEnd) {
        self.parts.over(lane as usize);
        self.lanes[lane as usize].end = Some(end);
    }

    /// The cancellations of a lane could not be sent.
    pub(super) fn cancel_failed(&mut self, lane: u32, why: ServerError) {
        self.lanes[lane as usize].cancel_failed = Some(why);
    }

    pub(super) fn all_over(&self) -> bool {
        self.parts.all_over()
    }

    /// The next interval that every lane has reported, or has ended before.
    pub(super) fn next_complete(&mut self) -> Result<Option<Complete>, EngineError> {
        self.parts.next_whole().map(|whole| self.complete(whole)).transpose()
    }

    /// How long threads waited for a processor since this was last asked; of a part of a load, which
    /// may be on a machine that nothing else observes.
    fn waited(&mut self) -> Nanos {
        let so_far = if self.is_shared { usage::waited_so_far() } else { Nanos::ZERO };
        so_far - std::mem::replace(&mut self.last_waited, so_far)
    }

    fn complete(&mut self, whole: Whole<Box<Tally>>) -> Result<Complete, EngineError> {
        let Whole { phase, begin, end, total, kept: tallies } = whole;
        let now_used = usage::so_far();
        let used = usage::between(std::mem::replace(&mut self.last_use, now_used), now_used);
        let paused = self.pauses.take(begin, end);
        let defect = |message| EngineError::new("identity", message, "this is a defect of dbdyno");
        (self.last_end, self.last_phase) = (end, phase);
        if self.is_shared {
            // What all parts together did is described where they are added up.
            self.collector.add(phase.name(), &total, used).map_err(defect)?;
            let part = PartInterval {
                phase: phase.name().to_owned(),
                begin_ns: begin.0,
                end_ns: end.0,
                tally: total,
                used,
                waited_us: self.waited().0 / 1000,
                paused_us: paused.0 / 1000,
            };
            return Ok((vec![Frame::PartInterval(Box::new(part))], tallies));
        }
        let interval = self.collector.interval(phase.name(), begin, end, &total, used, paused);
        let interval = interval.map_err(defect)?;
        let mut frames = Vec::new();
        if self.reports_transactions {
            frames.push(Frame::Transactions(frame::Transactions::new(total.ended)));
        }
        frames.push(Frame::Interval(Box::new(interval)));
        frames.extend(self.collector.window(end).map(Frame::Window));
        Ok((frames, tallies))
    }

    /// The histograms of the run's last window, once no more intervals follow.
    pub(super) fn last_window(&mut self) -> Option<Frame> {
        self.collector.last_window(self.last_end).map(Frame::Window)
    }

    /// The totals of the run, in which scripts have counters of these names.
    pub(super) fn done(
        &mut self,
        plan: &Plan,
        counters: &[String],
        timeline: Option<&Timeline>,
    ) -> Done {
        let (end, reason) = self.how_it_ended(plan);
        let measured = timeline.map_or(Nanos::ZERO, |timeline| self.measured(timeline));
        let ages = self.ends().flat_map(|end| end.worker.unfinished_ages.clone()).collect();
        let mut done = self.collector.done(end, reason, measured, ages);
        done.clients_moved = self.clients_moved;
        done.counted = self.collector.counted(counters);
        done.invalid_reasons = invalid_reasons(&OwnWork {
            open_loop: matches!(plan.arrivals, Arrivals::Open { .. }),
            broke_off: matches!(end, "aborted" | "stalled"),
            processors: selfcheck::processors(plan),
            processors_max: selfcheck::processors_max(plan),
            measured,
            cpu_us: self.collector.cpu_us(),
            lateness: self.collector.lateness(),
            response_p99: self.collector.response_p99(),
        });
        done
    }

    fn ends(&self) -> impl Iterator<Item = &LaneEnd> {
        self.lanes.iter().filter_map(|lane| lane.end.as_ref())
    }

    /// How long was measured: to the planned end, or to when no client was left before it; without
    /// a planned end, to the end of the last transaction.
    fn measured(&self, timeline: &Timeline) -> Nanos {
        let last = self.ends().map(|end| end.worker.last_end).max().unwrap_or_default();
        let end = if timeline.measure_end() == Nanos::MAX { last } else { timeline.measure_end() };
        let end = if self.last_phase == Phase::Drain { end } else { end.min(self.last_end) };
        end - timeline.measure_begin()
    }

    fn how_it_ended(&self, plan: &Plan) -> (&'static str, String) {
        let broken = self.ends().find_map(|end| end.broken.clone());
        let fault = self.ends().find_map(|end| end.worker.faults.first());
        let fault = fault.map(|(client, fault)| fault_message(plan, *client, fault));
        let aborted = broken.or(fault).or(self.hopeless.clone());
        match (aborted, stall_message(&self.lanes)) {
            (Some(why), _) => ("aborted", why),
            (_, Some(stalled)) => ("stalled", stalled),
            _ if self.interrupted => ("interrupted", "the run was stopped from outside".into()),
            _ => ("complete", String::new()),
        }
    }
}

/// How the server stopped answering, if any lane noticed. A lane whose cancellations arrived knows
/// best: that another lane's were refused does not explain this one's stall.
fn stall_message(lanes: &[LaneState]) -> Option<String> {
    let stalled = lanes.iter().filter(|lane| lane.stalled().is_some());
    let lane = stalled.min_by_key(|lane| lane.cancel_failed.is_some())?;
    let stalled = lane.stalled()?;
    Some(match &lane.cancel_failed {
        None => format!("the server {stalled}"),
        Some(why) => format!(
            "the server {stalled}: cancelling needs one more connection, which was refused: {}",
            why.message
        ),
    })
}

/// Which script failed for which client, where, and how.
pub(super) fn fault_message(plan: &Plan, client: u64, fault: &Fault) -> String {
    let script = &plan.scripts[fault.script as usize].name;
    let place = if fault.line == 0 { String::new() } else { format!(", line {}", fault.line) };
    let message = fault.message_without_place(script);
    format!("client {client} gave up in script {script}{place}: {message}")
}

#[cfg(test)]
pub(crate) mod tests;
