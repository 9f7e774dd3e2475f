//! Several engines add up to what one engine would have reported, worked out by hand.

use super::{Arrival, Fleet, WAITING_BYTES_MAX, WAITING_MIN};
use crate::run::aggregator::tests::{SHAPE, plan};
use dbdyno_hist::frame::{Activity, Frame, PartConnected, PartInterval};
use dbdyno_hist::{Doing, EngineUse, Latencies, SparseLatencies, Tally, bars};
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
    let [begin_ns, end_ns] = [begin_ms, end_ms].map(|ms| Nanos::from_millis(ms).0);
    let phase = phase.to_owned();
    PartInterval { phase, begin_ns, end_ns, tally, used, waited_us: 7, paused_us: 3000 }
}

/// The same as it comes from another host.
fn sent(interval: PartInterval) -> PartInterval<SparseLatencies> {
    let sent = Frame::PartInterval(Box::new(interval)).encode();
    rmp_serde::from_slice(&sent[4..]).unwrap()
}

/// A minute after the beginning; the part's clock is so far behind.
fn after_a_minute(shift: i64) -> Arrival {
    Arrival { shift, begin: Nanos::ZERO, now: Nanos::from_secs(60) }
}

#[test]
fn percentiles_of_the_whole_are_those_of_all_samples() {
    let (one, other): (Vec<u64>, Vec<u64>) = ((1..=900).collect(), (5000..=5099).collect());
    let mut fleet = fleet();
    // The other's clock is 7 ms behind.
    let first = fleet
        .interval(0, after_a_minute(0), sent(interval("measure", [1000, 2000], &one, 900)))
        .unwrap();
    assert!(first.is_empty(), "the other part has not reported");
    let late = interval("measure", [993, 1993], &other, 100);
    let frames = fleet.interval(1, after_a_minute(7_000_000), sent(late)).unwrap();
    let [Frame::Interval(whole)] = &frames[..] else { panic!("{frames:?}") };
    let mut all = Latencies::default();
    one.iter().chain(&other).for_each(|&us| all.record(Nanos::from_micros(us)));
    assert_eq!(whole.scripts[0].response, all.distribution());
    assert_eq!((whole.begin_ns, whole.counters.ok), (1_000_000_000, 1000));
    assert_eq!((whole.engine.cpu_us, whole.engine.paused_us), (200, 3000));
    let frames = fleet.end(&[]);
    let [Frame::Window(window), Frame::Done(done)] = &frames[..] else { panic!("{frames:?}") };
    let expected = bars(&all.serialize());
    assert_eq!(bars(&done.response), expected);
    assert_eq!(bars(&window.scripts[0].response), expected);
}

#[test]
fn each_statement_has_the_samples_of_all_parts_in_each_interval() {
    let took = |part: u64, second: u64, statement: u64| {
        (1..=400).map(move |n| n * n * (1 + part) * (1 + statement) * 1000 + 7 * second)
    };
    let statements = 0..3;
    let mut fleet = Fleet::new(plan(Some(Nanos::from_secs(60))), &[vec![0], vec![1]], 3);
    let mut whole = Vec::new();
    for second in 0..3 {
        for part in [1, 0] {
            let mut its = interval("measure", [1000 * second, 1000 * second + 1000], &[], 0);
            its.tally.statements.resize_with(3, Default::default);
            for statement in statements.clone() {
                for ns in took(part, second, statement) {
                    its.tally.statements[statement as usize].latencies.record(Nanos(ns));
                }
            }
            let frames = fleet.interval(part as usize, after_a_minute(0), sent(its)).unwrap();
            whole.extend(frames.into_iter().filter_map(|frame| match frame {
                Frame::Interval(whole) => Some(whole),
                _ => None,
            }));
        }
    }
    let all = |samples: &mut dyn Iterator<Item = u64>| {
        let mut all = Latencies::default();
        samples.for_each(|ns| all.record(Nanos(ns)));
        all
    };
    for (second, whole) in whole.iter().enumerate() {
        for statement in statements.clone() {
            let both =
                &mut [0, 1].into_iter().flat_map(|part| took(part, second as u64, statement));
            assert_eq!(whole.statements[statement as usize], all(both).distribution());
        }
    }
    assert_eq!(whole.len(), 3);
    let Some(Frame::Window(window)) = fleet.end(&[]).into_iter().next() else {
        panic!("no window")
    };
    for statement in statements {
        let mut each = (0..3).flat_map(|second| {
            [0, 1].into_iter().flat_map(move |part| took(part, second, statement))
        });
        let expected = bars(&all(&mut each).serialize());
        assert_eq!(bars(&window.statements[statement as usize]), expected);
    }
}

#[test]
fn what_a_lost_part_counted_stays_counted() {
    let mut fleet = fleet();
    fleet.interval(0, after_a_minute(0), sent(interval("measure", [0, 1000], &[5], 1))).unwrap();
    let mut busy = interval("measure", [0, 1000], &[5, 5], 2);
    let counters = &mut busy.tally.counters;
    (counters.due, counters.started, counters.in_flight) = (3, 3, 1);
    fleet.interval(1, after_a_minute(0), sent(busy)).unwrap();
    assert!(
        fleet
            .interval(0, after_a_minute(0), sent(interval("measure", [1000, 2000], &[5], 2)))
            .unwrap()
            .is_empty()
    );
    let frames = fleet.over(1).unwrap();
    let [Frame::Interval(whole)] = &frames[..] else { panic!("{frames:?}") };
    assert_eq!((whole.counters.ok, whole.scripts[0].response.count), (4, 1));
    assert_eq!((whole.counters.in_flight, whole.counters.unfinished), (0, 1));
}

#[test]
fn counters_that_contradict_each_other_are_refused() {
    let mut fleet = fleet();
    let refused =
        fleet.interval(0, after_a_minute(0), sent(interval("measure", [0, 1000], &[5], 2)));
    assert!(refused.unwrap_err().contains("count(response) = ok"), "and not the other part's");
    fleet.interval(1, after_a_minute(0), sent(interval("measure", [0, 1000], &[5], 1))).unwrap();
    let frames = fleet.over(0).unwrap();
    let [Frame::Interval(whole)] = &frames[..] else { panic!("{frames:?}") };
    assert_eq!((whole.counters.ok, whole.scripts[0].response.count), (1, 1));
    assert!(
        fleet.interval(0, after_a_minute(0), sent(interval("holidays", [0, 1], &[], 0))).is_err()
    );
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
    // Each part tells of its own clients alone.
    let seen = |at: u64, clients: &[(Doing, u32)]| Activity::new(Nanos(at), clients);
    let first = seen(100, &[(Doing(4), 10)]);
    assert!(fleet.activity(0, after_a_minute(0), &first).unwrap().is_empty());
    let idle = seen(70, &[(Doing::IDLE, 11)]);
    let frames = fleet.activity(1, after_a_minute(30), &idle).unwrap();
    let [Frame::Activity(whole)] = &frames[..] else { panic!("{frames:?}") };
    assert_eq!(*whole, seen(100, &[(Doing(4), 10), (Doing::IDLE, 11)]));
}

#[test]
fn each_part_stands_beside_the_whole_by_the_common_clock() {
    let mut fleet = fleet();
    fleet.interval(0, after_a_minute(0), sent(interval("measure", [0, 1000], &[5], 1))).unwrap();
    let late = interval("measure", [993, 1993], &[80, 90, 90], 3);
    let frames = fleet.interval(1, after_a_minute(-993_000_000), sent(late)).unwrap();
    let [Frame::Interval(whole)] = &frames[..] else { panic!("{frames:?}") };
    let found: Vec<_> = whole
        .workers
        .iter()
        .map(|part| (part.worker, part.begin_ns, part.end_ns, part.response.count))
        .collect();
    assert_eq!(found, [(0, 0, 1_000_000_000, 1), (1, 0, 1_000_000_000, 3)]);
    let slow = &whole.workers[1];
    assert_eq!((slow.response.p50_ns / 1000, slow.cpu_us, slow.waited_us), (90, 100, 7));
    assert!(slow.response.buckets.is_empty());
    // One that is over reports nothing more.
    fleet.over(1).unwrap();
    let next = interval("measure", [1000, 2000], &[5], 2);
    let frames = fleet.interval(0, after_a_minute(0), sent(next)).unwrap();
    let [Frame::Interval(whole)] = &frames[..] else { panic!("{frames:?}") };
    assert_eq!(whole.workers.iter().map(|part| part.worker).collect::<Vec<_>>(), [0]);
}

#[test]
fn what_no_engine_can_have_reported_by_now_is_refused() {
    let at = |ms| interval("measure", [ms, ms + 1], &[], 0);
    let refused =
        |mut fleet: Fleet, one| fleet.interval(0, after_a_minute(0), sent(one)).unwrap_err();
    assert!(refused(fleet(), at(62_000)).contains("2.0 s ahead"));
    let mut of_the_same_time = fleet();
    of_the_same_time.interval(0, after_a_minute(0), sent(at(0))).unwrap();
    assert!(refused(of_the_same_time, at(0)).contains("of the same time again"));
    let mut endless = fleet();
    let why = (0..).find_map(|ms| endless.interval(0, after_a_minute(0), sent(at(ms))).err());
    // A minute in seconds, with what a clock may be ahead, what is cut short, and some.
    assert_eq!(why.unwrap(), "80 reports of a time that has at most 79");
    let mut other = at(0);
    other.tally.statements.resize_with(SHAPE.statements + 1, Default::default);
    assert!(refused(fleet(), other).contains("other scripts and statements"));
    let instant = Activity::new(Nanos(5), &[]);
    let refused = (0..20).find_map(|_| fleet().activity(0, after_a_minute(0), &instant).err());
    assert!(refused.is_none(), "a few are always taken");
}

#[test]
fn a_part_that_is_far_behind_is_known() {
    let mut fleet = fleet();
    let later = Arrival { now: Nanos::from_secs(3600), ..after_a_minute(0) };
    let most = WAITING_BYTES_MAX / Tally::new(SHAPE).bytes();
    let mut waiting = 0;
    while fleet.too_slow().is_empty() {
        assert!(waiting <= most);
        let second = waiting as u64;
        let [begin, end] = [second, second + 1].map(|second| 1000 * second);
        fleet.interval(1, later, sent(interval("measure", [begin, end], &[], 0))).unwrap();
        waiting += 1;
    }
    assert!(waiting > WAITING_MIN);
    assert_eq!(fleet.too_slow(), [0]);
    let frames = fleet.over(0).unwrap();
    let whole = frames.iter().filter(|frame| matches!(frame, Frame::Interval(_))).count();
    assert_eq!(whole, waiting);
    assert!(fleet.too_slow().is_empty());
}
