//! Merges what the workers counted into the frames of a run, and keeps the run's totals.

use crate::frame::{
    Done, EngineInterval, FailureCount, Interval, ScriptInterval, SlowTransaction, Window,
    WindowScript,
};
use crate::tally::{add_counts, make_room, merge_failures};
use crate::{Counters, EngineUse, Failures, Latencies, Shape, Tally};
use dbdyno_model::{Nanos, StatementId};
use serde_bytes::ByteBuf;
use std::collections::BTreeMap;

/// Full histograms are written about this often, …
const WINDOW_SHORTEST: Nanos = Nanos::from_secs(10);
/// … but at most this many times: they are the largest part of a long run's record.
const WINDOWS_MAX: u64 = 720;

/// The latencies of one script, in the whole run or one window.
#[derive(Clone, Debug, Default)]
struct Pair {
    response: Latencies,
    service: Latencies,
}

/// Latencies of all scripts and statements in some period of the run.
#[derive(Clone, Debug)]
struct Stretch {
    scripts: Vec<Pair>,
    statements: Vec<Latencies>,
}

impl Stretch {
    fn new(shape: Shape) -> Self {
        Self {
            scripts: vec![Pair::default(); shape.scripts],
            statements: vec![Latencies::default(); shape.statements],
        }
    }

    fn add(&mut self, tally: &Tally) {
        for (pair, script) in self.scripts.iter_mut().zip(&tally.scripts) {
            pair.response.merge(&script.response);
            pair.service.merge(&script.service);
        }
        make_room(&mut self.statements, tally.statements.len());
        for (own, added) in self.statements.iter_mut().zip(&tally.statements) {
            own.merge(&added.latencies);
        }
    }

    fn clear(&mut self) {
        for pair in &mut self.scripts {
            pair.response.clear();
            pair.service.clear();
        }
        self.statements.iter_mut().for_each(Latencies::clear);
    }

    fn scripts(&self, service_differs: bool) -> Vec<WindowScript> {
        self.scripts
            .iter()
            .map(|pair| WindowScript {
                response: bytes(&pair.response),
                service: service_differs.then(|| bytes(&pair.service)),
            })
            .collect()
    }

    fn statements(&self) -> Vec<ByteBuf> {
        self.statements.iter().map(bytes).collect()
    }

    /// One histogram over all scripts.
    fn all(&self, of: impl Fn(&Pair) -> &Latencies) -> Latencies {
        let mut total = Latencies::default();
        self.scripts.iter().for_each(|pair| total.merge(of(pair)));
        total
    }
}

fn bytes(latencies: &Latencies) -> ByteBuf {
    ByteBuf::from(latencies.serialize())
}

/// Collects the intervals of a run in order.
#[derive(Debug)]
pub struct Collector {
    shape: Shape,
    index: u64,
    run: Stretch,
    window: Stretch,
    window_begin: Option<Nanos>,
    window_length: Nanos,
    failures: Failures,
    tried_again: Failures,
    counted: Vec<u64>,
    failed_response: Latencies,
    lateness: Latencies,
    counters: Counters,
    cpu_us: u64,
}

impl Collector {
    /// Nothing collected yet, for a run of this planned duration, as far as known.
    pub fn new(shape: Shape, duration: Nanos) -> Self {
        Self {
            shape,
            index: 0,
            run: Stretch::new(shape),
            window: Stretch::new(shape),
            window_begin: None,
            window_length: WINDOW_SHORTEST.max(Nanos(duration.0 / WINDOWS_MAX)),
            failures: Failures::new(),
            tried_again: Failures::new(),
            counted: Vec::new(),
            failed_response: Latencies::default(),
            lateness: Latencies::default(),
            counters: Counters::default(),
            cpu_us: 0,
        }
    }

    /// Adds the merged tally of one interval, of which nobody wants a description.
    ///
    /// Fails when an identity of the counters is violated: then the engine has a defect, and no
    /// number of the run can be trusted.
    pub fn add(
        &mut self,
        phase: &'static str,
        tally: &Tally,
        engine: EngineUse,
    ) -> Result<(), String> {
        self.counters = tally.counters;
        if phase != "warmup" {
            self.keep(tally);
            self.cpu_us += if phase == "measure" { engine.cpu_us } else { 0 };
        }
        self.check()
    }

    /// Adds and describes an interval, in which the engine was paused for this long.
    pub fn interval(
        &mut self,
        phase: &'static str,
        begin: Nanos,
        end: Nanos,
        tally: &Tally,
        engine: EngineUse,
        paused: Nanos,
    ) -> Result<Interval, String> {
        self.add(phase, tally, engine)?;
        if phase != "warmup" {
            self.window_begin.get_or_insert(begin);
            self.window.add(tally);
        }
        let interval = Interval {
            index: self.index,
            phase,
            begin_ns: begin.0,
            end_ns: end.0,
            completed_ok: tally.completed_ok,
            completed_committed: tally.completed_committed,
            completed_failed: tally.completed_failed,
            copied: tally.copied,
            counters: tally.counters,
            failures: failure_counts(&self.failures),
            scripts: tally.scripts.iter().map(|script| self.script_interval(script)).collect(),
            statements: tally.statements.iter().map(|one| one.latencies.distribution()).collect(),
            rows: tally.statements.iter().map(|one| one.rows).collect(),
            failed_response: tally.failed_response.distribution(),
            connects: tally.connects.distribution(),
            engine: engine_interval(tally, engine, paused),
            slowest: tally.slowest.iter().map(slow_transaction).collect(),
            servers: tally.servers.clone(),
            workers: Vec::new(),
        };
        self.index += 1;
        Ok(interval)
    }

    fn keep(&mut self, tally: &Tally) {
        self.run.add(tally);
        self.failed_response.merge(&tally.failed_response);
        self.lateness.merge(&tally.lateness);
        merge_failures(&mut self.failures, &tally.failures);
        merge_failures(&mut self.tried_again, &tally.tried_again);
        add_counts(&mut self.counted, &tally.counted);
    }

    fn check(&self) -> Result<(), String> {
        let failed = self.failures.values().map(|tally| tally.count).sum();
        let responses = self.run.scripts.iter().map(|pair| pair.response.count()).sum();
        self.counters.check(failed, responses)
    }

    /// The full histograms since the last window, when the next one is due.
    pub fn window(&mut self, end: Nanos) -> Option<Window> {
        let is_due = end - self.window_begin? >= self.window_length;
        is_due.then(|| self.last_window(end)).flatten()
    }

    /// The full histograms since the last window, however recent that is.
    pub fn last_window(&mut self, end: Nanos) -> Option<Window> {
        let begin = self.window_begin.take()?;
        let window = Window {
            begin_ns: begin.0,
            end_ns: end.0,
            scripts: self.window.scripts(self.shape.service_differs),
            statements: self.window.statements(),
        };
        self.window.clear();
        Some(window)
    }

    /// The totals of the run; the caller adds the reasons why it is invalid, and what scripts counted.
    pub fn done(
        &self,
        end: &'static str,
        reason: String,
        measured: Nanos,
        unfinished_ages: Vec<Nanos>,
    ) -> Done {
        let response = self.run.all(|pair| &pair.response);
        let service = if self.shape.service_differs {
            self.run.all(|pair| &pair.service)
        } else {
            response.clone()
        };
        Done {
            end,
            reason,
            measured_ns: measured.0,
            counters: self.counters,
            failures: failure_counts(&self.failures),
            tried_again: self.tried_again(),
            response: bytes(&response),
            service: bytes(&service),
            scripts: self.run.scripts(self.shape.service_differs),
            statements: self.run.statements(),
            failed_response: bytes(&self.failed_response),
            unfinished_ages_ns: unfinished_ages.into_iter().map(|age| age.0).collect(),
            cpu_us: self.cpu_us,
            lateness: bytes(&self.lateness),
            clients_moved: 0,
            counted: BTreeMap::new(),
            invalid_reasons: Vec::new(),
        }
    }

    /// What scripts counted in the measured part so far: their counters have these names.
    pub fn counted(&self, counters: &[String]) -> BTreeMap<String, u64> {
        // What no transaction has counted was counted as often: never.
        let counted = self.counted.iter().copied().chain(std::iter::repeat(0));
        counters.iter().cloned().zip(counted).collect()
    }

    /// How late transactions were sent because of the engine itself, over the measured part so far.
    pub fn lateness(&self) -> &Latencies {
        &self.lateness
    }

    /// The 99th percentile of all measured response times so far.
    pub fn response_p99(&self) -> Nanos {
        self.run.all(|pair| &pair.response).quantile(0.99)
    }

    /// The measured tries so far that failed and were retried, by failure.
    pub fn tried_again(&self) -> Vec<FailureCount> {
        failure_counts(&self.tried_again)
    }

    /// The engine's CPU time in the measured intervals.
    pub fn cpu_us(&self) -> u64 {
        self.cpu_us
    }

    fn script_interval(&self, script: &crate::ScriptTally) -> ScriptInterval {
        ScriptInterval {
            ok: script.ok,
            committed: script.committed,
            failed: script.failed,
            skipped: script.skipped,
            retried: script.retried,
            response: script.response.distribution(),
            service: self.shape.service_differs.then(|| script.service.distribution()),
        }
    }
}

fn failure_counts(failures: &Failures) -> Vec<FailureCount> {
    failures
        .iter()
        .map(|((class, code), tally)| FailureCount {
            failure_class: *class,
            code: code.clone(),
            count: tally.count,
            took_ns: tally.took.0,
            message: tally.message.clone(),
            statement: (tally.statement != StatementId::UNCOUNTED).then_some(tally.statement.0),
            scripts: tally.scripts.clone(),
            statements: tally.statements.iter().map(|(id, &count)| (id.0, count)).collect(),
            unknown: tally.unknown,
        })
        .collect()
}

fn engine_interval(tally: &Tally, engine: EngineUse, paused: Nanos) -> EngineInterval {
    EngineInterval {
        cpu_us: engine.cpu_us,
        lateness: tally.lateness.distribution(),
        bytes_sent: tally.bytes_sent,
        bytes_received: tally.bytes_received,
        round_trips: tally.round_trips,
        voluntary_switches: engine.voluntary_switches,
        involuntary_switches: engine.involuntary_switches,
        paused_us: paused.0 / 1000,
    }
}

fn slow_transaction(slow: &crate::Slow) -> SlowTransaction {
    SlowTransaction {
        script: slow.script as u32,
        client: slow.client,
        number: slow.number,
        due_ns: slow.due.0,
        sent_ns: slow.sent.0,
        done_ns: slow.done.0,
        tries: slow.tries,
        statements: slow.statements.iter().map(|(id, latency)| (id.0, latency.0)).collect(),
    }
}
