//! What the reports of lanes add up to, worked out by hand.

use super::{Aggregator, LaneState, stall_message};
use crate::lane::LaneEnd;
use dbdyno_hist::frame::Frame;
use dbdyno_hist::{Counters, Shape, Tally};
use dbdyno_load::{ClosedInterval, EndReport, Phase, Timeline};
use dbdyno_model::{
    Address, ArrivalLaw, Arrivals, Endpoint, FailureClass, Io, Nanos, Plan, Protocol, QueryMode,
    Reports, Retry, Script, ScriptChoice, ServerError, Stage, Think, ThinkLaw, Tls, TlsMode,
};
use std::collections::BTreeMap;

pub(crate) const SHAPE: Shape = Shape { scripts: 1, statements: 0, service_differs: false };
const SILENT: &str = "did not answer a cancellation";

/// Two lanes of one client each, from time zero on, without a warm-up.
pub(crate) fn plan(duration: Option<Nanos>) -> Plan {
    let tls = Tls { mode: TlsMode::Disable, root_certificates: None, certificate: None, key: None };
    Plan {
        endpoint: Endpoint {
            protocol: Protocol::Postgresql,
            address: Address::Unix { path: "/nowhere".into() },
            user: String::new(),
            password: None,
            database: String::new(),
            parameters: BTreeMap::new(),
            session_statements: Vec::new(),
            tls,
            further_addresses: Vec::new(),
            read_only_query: None,
            standby_addresses: Vec::new(),
            connect_timeout_ns: Nanos::from_secs(10),
        },
        query_mode: QueryMode::Simple,
        scripts: vec![Script {
            name: "only".into(),
            weight: 1,
            text: String::new(),
            ..Script::default()
        }],
        script_choice: ScriptChoice::Weighted,
        groups: Vec::new(),
        variables: BTreeMap::new(),
        seed: 42,
        clients: 2,
        executors: 0,
        threads: 2,
        own_threads: Vec::new(),
        io: Io::Auto,
        arrivals: Arrivals::Closed {
            think: Think { law: ThinkLaw::Constant, mean_ns: Nanos::ZERO },
        },
        stages: vec![Stage { duration_ns: duration, clients: None, rate_tps: None }],
        transactions_per_client: None,
        warmup_ns: Nanos::ZERO,
        interval_ns: Nanos::from_secs(1),
        activity_interval_ns: None,
        latency_limit_ns: None,
        reconnect_each_transaction: false,
        retry: Retry { tries_max: 1, time_max_ns: None },
        stall_limit_ns: Nanos::from_secs(60),
        ends_on_hopeless_script: true,
        allow_shell: false,
        reports: Reports::Counts,
        lua: None,
    }
}

/// An interval in which a lane completed transactions, and how many it completed in the whole run.
fn closed(phase: Phase, [begin_ms, end_ms]: [u64; 2], ok: u64, ok_in_all: u64) -> ClosedInterval {
    let mut tally = Box::new(Tally::new(SHAPE));
    (0..ok).for_each(|_| tally.scripts[0].response.record(Nanos::from_millis(1)));
    tally.counters = Counters {
        due: ok_in_all,
        started: ok_in_all,
        ok: ok_in_all,
        committed: ok_in_all,
        ..Counters::default()
    };
    let (begin, end) = (Nanos::from_millis(begin_ms), Nanos::from_millis(end_ms));
    ClosedInterval { phase, begin, end, tally }
}

/// Both lanes report and end, and all frames are emitted.
fn aggregated(plan: &Plan, reports: [Vec<ClosedInterval>; 2]) -> (Aggregator, Vec<Frame>) {
    let mut aggregator = Aggregator::new(SHAPE, plan);
    for (thread, intervals) in (0..).zip(reports) {
        let end = intervals.last().expect("each lane reports").end;
        for closed in intervals {
            aggregator.closed(thread, closed);
        }
        aggregator.over(
            thread,
            LaneEnd { worker: EndReport { last_end: end, ..EndReport::default() }, broken: None },
        );
    }
    let mut frames = Vec::new();
    while let Some((complete, _)) = aggregator.next_complete().expect("the identities hold") {
        frames.extend(complete);
    }
    (aggregator, frames)
}

fn ok_so_far(frames: &[Frame]) -> Vec<u64> {
    let ok = |frame: &Frame| match frame {
        Frame::Interval(interval) => Some(interval.counters.ok),
        _ => None,
    };
    frames.iter().filter_map(ok).collect()
}

#[test]
fn a_lane_that_learns_late_of_the_end_is_counted_when_its_interval_is() {
    let prompt =
        vec![closed(Phase::Measure, [0, 950], 3, 3), closed(Phase::Drain, [950, 1100], 1, 4)];
    let late =
        vec![closed(Phase::Measure, [0, 1000], 5, 5), closed(Phase::Drain, [1000, 1100], 2, 7)];
    let (_, frames) = aggregated(&plan(Some(Nanos::from_secs(60))), [prompt, late]);
    assert_eq!(ok_so_far(&frames), [8, 9, 11]);
}

#[test]
fn measured_is_until_no_client_was_left() {
    let plan = plan(Some(Nanos::from_secs(60)));
    let lane = |end_ms| vec![closed(Phase::Measure, [0, end_ms], 1, 1)];
    let (mut aggregator, _) = aggregated(&plan, [lane(400), lane(700)]);
    let done = aggregator.done(&plan, &[], Some(&Timeline::new(&plan, Nanos::ZERO)));
    assert_eq!((done.end, done.measured_ns), ("complete", 700_000_000));
}

#[test]
fn what_is_under_way_at_the_end_lengthens_nothing() {
    let plan = plan(Some(Nanos::from_secs(1)));
    let lane =
        || vec![closed(Phase::Measure, [0, 1000], 1, 1), closed(Phase::Drain, [1000, 1800], 1, 2)];
    let (mut aggregator, _) = aggregated(&plan, [lane(), lane()]);
    let done = aggregator.done(&plan, &[], Some(&Timeline::new(&plan, Nanos::ZERO)));
    assert_eq!(done.measured_ns, 1_000_000_000);
}

#[test]
fn the_last_histograms_of_a_run_that_counts_are_emitted() {
    let lane = || vec![closed(Phase::Measure, [0, 700], 1, 1)];
    let (mut aggregator, frames) = aggregated(&plan(None), [lane(), lane()]);
    assert!(!frames.iter().any(|frame| matches!(frame, Frame::Window(_))));
    let Some(Frame::Window(window)) = aggregator.last_window() else { panic!("there is none") };
    assert_eq!((window.begin_ns, window.end_ns), (0, 700_000_000));
    assert!(aggregator.last_window().is_none(), "it was emitted already");
}

#[test]
fn an_aborted_run_reports_only_the_reason() {
    let law = ArrivalLaw::Constant;
    let plan = Plan { arrivals: Arrivals::Open { law }, ..plan(Some(Nanos::from_secs(60))) };
    for (interrupted, broken, reasons) in [(true, None, 1), (false, Some("a defect".into()), 0)] {
        let lane = || {
            let mut closed = closed(Phase::Measure, [0, 100], 1, 1);
            closed.tally.lateness.record(Nanos::from_millis(20));
            vec![closed]
        };
        let (mut aggregator, _) = aggregated(&plan, [lane(), lane()]);
        aggregator.interrupted = interrupted;
        aggregator.over(0, LaneEnd { broken, ..LaneEnd::default() });
        let done = aggregator.done(&plan, &[], Some(&Timeline::new(&plan, Nanos::ZERO)));
        assert_eq!(done.invalid_reasons.len(), reasons, "{:?}", done.invalid_reasons);
    }
}

fn lane(stalled: Option<&'static str>, refused: bool) -> LaneState {
    let stalled = stalled.map(str::to_owned);
    let crowded = || ServerError::new(FailureClass::Resource, "1040", "Too many connections");
    LaneState {
        end: Some(LaneEnd { worker: EndReport { stalled, ..EndReport::default() }, broken: None }),
        cancel_failed: refused.then(crowded),
    }
}

#[test]
fn a_refused_order_explains_the_stall_of_its_lane() {
    let message = stall_message(&[lane(None, false), lane(Some(SILENT), true)]).unwrap();
    assert_eq!(
        message,
        "the server did not answer a cancellation: cancelling needs one more \
         connection, which was refused: Too many connections"
    );
}

#[test]
fn a_refused_order_is_no_excuse_for_ignoring_the_others() {
    let message = "the server did not answer a cancellation";
    for lanes in [
        [lane(Some(SILENT), true), lane(Some(SILENT), false)],
        [lane(None, true), lane(Some(SILENT), false)],
    ] {
        assert_eq!(stall_message(&lanes).as_deref(), Some(message));
    }
}

#[test]
fn no_stall_needs_no_words() {
    assert_eq!(stall_message(&[lane(None, true)]), None);
}
