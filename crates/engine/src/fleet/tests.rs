//! Several engines add up to what one engine would have reported, worked out by hand.

use super::Fleet;
use crate::run::aggregator::tests::{SHAPE, plan};
use dbdyno_hist::frame::{Activity, Frame, PartConnected, PartInterval};
use dbdyno_hist::{Doing, EngineUse, Latencies, Tally, bars};
use dbdyno_model::Nanos;

fn fleet() -> Fleet {
    Fleet::new(plan(Some(Nanos::from_secs(60))), &[vec![0], vec![1]], SHAPE.statements)
}

/// A part's interval in which transactions took so long, and how many succeeded so far.
fn interval(phase: &str, [begin_ms, end_ms]: [u64; 2], took_us: &[u64], ok: u64) -> PartInterval {
    let mut tally = Tally::new(SHAPE);
    for &us in took_us {
        tally.scripts[0].response.record(Nanos::from_micros(us));
    }
    (tally.counters.due, tally.counters.started) = (ok, ok);
    (tally.counters.ok, tally.counters.committed) = (ok, ok);
    let used = EngineUse { cpu_us: 100, ..EngineUse::default() };
    let span = (Nanos::from_millis(begin_ms), Nanos::from_millis(end_ms));
    PartInterval::new(phase, span, tally, used, Nanos::from_millis(3))
}

#[test]
fn percentiles_of_the_whole_are_those_of_all_samples() {
    let (one, other): (Vec<u64>, Vec<u64>) = ((1..=900).collect(), (5000..=5099).collect());
    let mut fleet = fleet();
    // The other's clock is 7 ms behind.
    let first = fleet.interval(0, 0, interval("measure", [1000, 2000], &one, 900)).unwrap();
    assert!(first.is_empty(), "the other part has not reported");
    let late = interval("measure", [993, 1993], &other, 100);
    let frames = fleet.interval(1, 7_000_000, late).unwrap();
    let [Frame::Interval(whole)] = &frames[..] else { panic!("{frames:?}") };
    let mut all = Latencies::default();
    one.iter().chain(&other).for_each(|&us| all.record(Nanos::from_micros(us)));
    assert_eq!(whole.scripts[0].response, all.distribution());
    assert_eq!((whole.begin_ns, whole.counters.ok), (1_000_000_000, 1000));
    assert_eq!((whole.engine.cpu_us, whole.engine.paused_us), (200, 3000));
    let frames = fleet.end();
    let [Frame::Window(window), Frame::Done(done)] = &frames[..] else { panic!("{frames:?}") };
    let expected = bars(&all.serialize());
    assert_eq!(bars(&done.response), expected);
    assert_eq!(bars(&window.scripts[0].response), expected);
}

#[test]
fn what_a_lost_part_counted_stays_counted() {
    let mut fleet = fleet();
    fleet.interval(0, 0, interval("measure", [0, 1000], &[5], 1)).unwrap();
    let mut busy = interval("measure", [0, 1000], &[5, 5], 2);
    let counters = &mut busy.tally.counters;
    (counters.due, counters.started, counters.in_flight) = (3, 3, 1);
    fleet.interval(1, 0, busy).unwrap();
    assert!(fleet.interval(0, 0, interval("measure", [1000, 2000], &[5], 2)).unwrap().is_empty());
    let frames = fleet.over(1).unwrap();
    let [Frame::Interval(whole)] = &frames[..] else { panic!("{frames:?}") };
    assert_eq!((whole.counters.ok, whole.scripts[0].response.count), (4, 1));
    assert_eq!((whole.counters.in_flight, whole.counters.unfinished), (0, 1));
}

#[test]
fn counters_that_contradict_each_other_are_refused() {
    let mut fleet = fleet();
    fleet.interval(0, 0, interval("measure", [0, 1000], &[5], 2)).unwrap();
    let refused = fleet.interval(1, 0, interval("measure", [0, 1000], &[5], 1));
    assert!(refused.unwrap_err().contains("count(response) = ok"));
    assert!(fleet.interval(0, 0, interval("holidays", [0, 1], &[], 0)).is_err());
}

#[test]
fn clients_are_where_their_part_says() {
    let mut fleet = fleet();
    let part = |client, pid| PartConnected {
        server_version: format!("version {client}"),
        tls: String::new(),
        connects: Latencies::default(),
        backends: vec![(client, pid)],
    };
    assert!(fleet.connected(1, part(1, 11)).is_none());
    let Some(Frame::Connected(all)) = fleet.connected(0, part(0, 10)) else { panic!("all are in") };
    assert_eq!((all.backend_pids, &*all.server_version), (vec![10, 11], "version 0"));
    // Each part sees only its own clients.
    let seen = |at: u64, clients: [(Doing, u32); 2]| Activity::new(Nanos(at), &clients);
    let away = (Doing::UNCONNECTED, 0);
    assert!(fleet.activity(0, 0, &seen(100, [(Doing(4), 10), away])).is_empty());
    let frames = fleet.activity(1, 30, &seen(70, [away, (Doing::IDLE, 11)]));
    let [Frame::Activity(whole)] = &frames[..] else { panic!("{frames:?}") };
    assert_eq!(*whole, seen(100, [(Doing(4), 10), (Doing::IDLE, 11)]));
}
