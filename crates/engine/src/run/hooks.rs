//! A script's own reports: its hooks, called with sysbench's statistics during the run.
//!
//! The warm-up is not reported, and rates are of the measured time alone, as in the record. What
//! the hooks print goes to the log. One that fails does not end the run, as in sysbench; unlike
//! there, this is reported once.

use crate::clock;
use crate::compiled_scripts::CompiledScripts;
use dbdyno_hist::frame::{Frame, Interval, Note};
use dbdyno_hist::{Latencies, Tally};
use dbdyno_model::{Arrivals, Nanos, Plan};
use dbdyno_script::Problem;
use dbdyno_script::lua::{Counter, Report, Reporter};

/// What sysbench counts, by its names in a report.
const COUNTED: [(&str, Counter); 5] = [
    ("reads", Counter::Read),
    ("writes", Counter::Write),
    ("other", Counter::Other),
    ("errors", Counter::Error),
    ("reconnects", Counter::Reconnect),
];

/// The counts of a run so far, in the order of [`COUNTED`].
pub(super) type Counts = [u64; COUNTED.len()];

/// What sysbench has counted of the script's statements so far, in the order of [`COUNTED`].
pub(super) fn counted(program: &CompiledScripts) -> Counts {
    COUNTED.map(|(_, counter)| program.count(counter))
}

/// Statistics by sysbench's names for them.
type Statistics = Vec<(&'static str, f64)>;

/// What happened since some instant.
#[derive(Debug, Default)]
struct Period {
    length: Nanos,
    events: u64,
    response: Latencies,
    counts_before: Counts,
    counts: Counts,
}

impl Period {
    fn since(counts_before: Counts) -> Self {
        Self { counts_before, counts: counts_before, ..Self::default() }
    }

    fn add<'a>(
        &mut self,
        interval: &Interval,
        tallies: impl Iterator<Item = &'a Tally>,
        counts: Counts,
    ) {
        // What ends after the measured time was due in it: its response time belongs to the run,
        // but it does not count as completed in that time.
        if interval.phase == "measure" {
            self.length += Nanos(interval.end_ns - interval.begin_ns);
            self.events += interval.completed_ok;
            self.counts = counts;
        }
        for script in tallies.flat_map(|tally| &tally.scripts) {
            self.response.merge(&script.response);
        }
    }

    /// The statistics of both kinds of reports.
    fn statistics(&self, percentile: f64) -> Statistics {
        let latency = self.response.quantile(percentile / 100.0).as_secs_f64();
        let mut statistics = vec![
            ("time_interval", self.length.as_secs_f64()),
            ("events", self.events as f64),
            ("latency_pct", if percentile > 0.0 { latency } else { 0.0 }),
        ];
        for (place, (name, _)) in COUNTED.iter().enumerate() {
            statistics.push((name, (self.counts[place] - self.counts_before[place]) as f64));
        }
        statistics
    }

    /// The statistics that only the report of the whole run has.
    fn latencies(&self) -> Statistics {
        let all = self.response.distribution();
        let seconds = |ns: u64| Nanos(ns).as_secs_f64();
        let sum = seconds(all.sum_ns);
        vec![
            ("latency_min", seconds(all.min_ns)),
            ("latency_max", seconds(all.max_ns)),
            ("latency_avg", sum / all.count.max(1) as f64),
            ("latency_sum", sum),
        ]
    }
}

/// The hooks of a script and what they report.
pub(super) struct Hooks<'a> {
    program: &'a CompiledScripts,
    reporter: Reporter,
    clients: u32,
    is_open: bool,
    last: Period,
    whole: Period,
    went_wrong: bool,
}

impl<'a> Hooks<'a> {
    /// None when no script has a hook.
    pub(super) fn of(program: &'a CompiledScripts, plan: &Plan) -> Result<Option<Self>, Problem> {
        let reporter = program.reporter()?;
        Ok(reporter.map(|reporter| Self {
            program,
            reporter,
            clients: plan.clients,
            is_open: matches!(plan.arrivals, Arrivals::Open { .. }),
            last: Period::default(),
            whole: Period::default(),
            went_wrong: false,
        }))
    }

    /// Adds an interval that all lanes have reported, and calls the hook when it is due. Returns a
    /// note about a hook that failed.
    pub(super) fn take(
        &mut self,
        frames: &[Frame],
        tallies: &[(usize, Box<Tally>)],
    ) -> Option<Note> {
        let interval = frames.iter().find_map(|frame| match frame {
            Frame::Interval(interval) => Some(interval),
            _ => None,
        })?;
        let counts = counted(self.program);
        let tallies = tallies.iter().map(|(_, tally)| &**tally);
        if interval.phase == "warmup" {
            (self.last, self.whole) = (Period::since(counts), Period::since(counts));
            return None;
        }
        self.whole.add(interval, tallies.clone(), counts);
        self.last.add(interval, tallies, counts);
        let is_due = self.reporter.interval().is_some_and(|due| self.last.length >= due);
        if !is_due || interval.phase != "measure" {
            return None;
        }
        let mut statistics = self.statistics(&self.last);
        if self.is_open {
            statistics.push(("queue_length", interval.counters.waiting as f64));
            statistics.push(("concurrency", interval.counters.in_flight as f64));
        }
        self.last = Period::since(counts);
        self.report(Report::Intermediate, &statistics)
    }

    /// Calls the hook for the whole run, which was measured for this long.
    pub(super) fn end(mut self, measured: Nanos) -> Option<Note> {
        let mut wrong = None;
        if measured > Nanos::ZERO {
            self.whole.length = measured;
            let mut statistics = self.statistics(&self.whole);
            statistics.extend(self.whole.latencies());
            wrong = self.report(Report::Cumulative, &statistics);
        }
        wrong.or(self.reporter.end().err().map(|fault| note(fault.message)))
    }

    fn statistics(&self, period: &Period) -> Statistics {
        let mut statistics = period.statistics(self.reporter.percentile());
        statistics.push(("time_total", self.whole.length.as_secs_f64()));
        statistics.push(("threads_running", f64::from(self.clients)));
        statistics
    }

    fn report(&mut self, report: Report, statistics: &Statistics) -> Option<Note> {
        let fault = self.reporter.report(report, statistics).err()?;
        let was_reported = std::mem::replace(&mut self.went_wrong, true);
        (!was_reported).then(|| note(format!("a hook of the script failed: {}", fault.message)))
    }
}

fn note(text: String) -> Note {
    Note { at_ns: clock::now().0, source: "script", text }
}
