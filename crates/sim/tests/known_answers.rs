//! Loads whose outcome is worked out by hand.

mod common;

use common::{closed, ms, open, plan, script, stage};
use dbdyno_model::{
    ArrivalLaw, Arrivals, ClientGroup, FailureClass, Nanos, Pacing, Plan, Script, ScriptChoice,
    ServerError, Stage, Think, ThinkLaw,
};
use dbdyno_sim::{Asking, Drawn, Outcome, Server, simulate};
use std::collections::BTreeSet;

const MS: u64 = 1_000_000;

fn run(plan: &Plan, server: &Server) -> Outcome {
    let drawn = Drawn::default();
    simulate(plan, server, |_| Asking::boxed(1, &drawn))
}

/// Within three significant digits.
fn assert_close(measured: Nanos, exact: Nanos) {
    assert!(measured.0.abs_diff(exact.0) <= exact.0 / 1000 + 1, "{measured:?} against {exact:?}");
}

#[test]
fn a_closed_loop_makes_clients_over_service_time() {
    let server = Server { service: ms(2), ..Server::default() };
    let outcome = run(&plan(8, 2, closed(), vec![stage(10, None)]), &server);
    assert_eq!(outcome.counters.ok, 8 * 10_000 / 2);
    assert_close(outcome.response.quantile(0.5), ms(2));
    assert_close(outcome.response.quantile(1.0), ms(2));
    let completed: Vec<u64> =
        outcome.intervals.iter().map(|interval| interval.completed_ok).collect();
    // Each interval of a second holds 500 ends a client; the first begins with none under way.
    assert_eq!(completed[1..11], [4000; 10]);
}

#[test]
fn a_stall_under_constant_load_gives_the_percentiles_of_arithmetic() {
    // 1000 arrivals a second for 10 s, service 1 ms, no progress from 5 s to 6 s after the
    // warm-up's end. An arrival t before the stall's end waits t: 1000 waits spread evenly
    // over (0, 1 s]; the other 9000 take 1 ms. So one in ten lies above 1 ms, and the q-th
    // percentile above 90 is (q - 90) / 10 of a second, plus the millisecond of service.
    let server = Server { service: ms(1), stalls: vec![(ms(6000), ms(7000))], ..Server::default() };
    let outcome =
        run(&plan(2000, 1, open(ArrivalLaw::Constant), vec![stage(10, Some(1000.0))]), &server);
    assert_eq!(outcome.counters.ok, 10_000);
    assert_close(outcome.response.quantile(0.5), ms(1));
    for (percentile, expected_ms) in [(0.95, 501), (0.99, 901), (0.999, 991)] {
        let measured = outcome.response.quantile(percentile).0;
        assert!(measured.abs_diff(expected_ms * MS) <= 2 * MS, "{percentile}: {measured}");
    }
    // Enough clients: nothing waited on our side, so all of it is the server's.
    assert_eq!(outcome.lateness.quantile(1.0), Nanos::ZERO);
    assert_eq!(outcome.response.quantile(0.99), outcome.service.quantile(0.99));
}

#[test]
fn with_few_clients_response_times_show_a_stall_and_service_times_do_not() {
    // Ten clients: during the stall ten requests wait, the rest queue on our side.
    let server = Server { service: ms(1), stalls: vec![(ms(6000), ms(7000))], ..Server::default() };
    let outcome =
        run(&plan(10, 1, open(ArrivalLaw::Constant), vec![stage(10, Some(1000.0))]), &server);
    assert!(outcome.response.quantile(0.95) > ms(400));
    assert_close(outcome.service.quantile(0.99), ms(1));
}

#[test]
fn a_stall_under_poisson_load_gives_the_share_of_the_schedule() {
    // The share above 1 ms is that of the arrivals in the stall (and the millisecond before it),
    // which follows from the schedule.
    let server = Server { service: ms(1), stalls: vec![(ms(3000), ms(5000))], ..Server::default() };
    let plan = plan(5000, 2, open(ArrivalLaw::Poisson), vec![stage(10, Some(500.0))]);
    let outcome = run(&plan, &server);
    let line = dbdyno_load::Timeline::new(&plan, Nanos::ZERO);
    let mut waits: Vec<u64> = dbdyno_load::Schedule::new(plan.seed, ArrivalLaw::Poisson, &line)
        .filter(|(_, due)| *due >= ms(1000))
        .map(|(_, due)| (server.answered(due).unwrap() - due).0)
        .collect();
    waits.sort_unstable();
    assert_eq!(outcome.counters.ok, waits.len() as u64);
    for quantile in [0.5, 0.9, 0.95, 0.99, 0.999] {
        let rank = (quantile * waits.len() as f64).ceil() as usize - 1;
        assert_close(outcome.response.quantile(quantile), Nanos(waits[rank]));
    }
}

#[test]
fn late_arrivals_are_skipped_and_counted() {
    let server = Server { service: ms(1), stalls: vec![(ms(6000), ms(7000))], ..Server::default() };
    let mut plan = plan(10, 1, open(ArrivalLaw::Constant), vec![stage(10, Some(1000.0))]);
    plan.latency_limit_ns = Some(ms(100));
    let counters = run(&plan, &server).counters;
    assert_eq!(counters.due, 10_000);
    // Of the 990 that queued here, those due in the last 100 ms are still begun.
    assert!((885..=895).contains(&counters.skipped), "{counters:?}");
    assert!(counters.late >= 10, "{counters:?}");
}

#[test]
fn the_same_seed_gives_the_same_work_on_any_number_of_threads() {
    for arrivals in [closed(), open(ArrivalLaw::Poisson)] {
        let rate = matches!(arrivals, Arrivals::Open { .. }).then_some(2000.0);
        let work = |threads| {
            let drawn = Drawn::default();
            let server = Server { service: ms(3), ..Server::default() };
            let mut plan = plan(12, threads, arrivals, vec![stage(2, rate)]);
            plan.scripts = vec![script("a", 3), script("b", 1)];
            simulate(&plan, &server, |_| Asking::boxed(1, &drawn));
            let work: BTreeSet<(u64, usize)> = drawn.lock().unwrap().iter().copied().collect();
            work
        };
        let one = work(1);
        assert!(one.len() > 3000);
        assert_eq!(one, work(2));
        assert_eq!(one, work(5));
    }
}

#[test]
fn scripts_are_chosen_by_weight() {
    let drawn = Drawn::default();
    let mut plan = plan(8, 2, closed(), vec![stage(10, None)]);
    plan.scripts = vec![script("a", 3), script("never", 0), script("b", 1)];
    simulate(&plan, &Server { service: ms(2), ..Server::default() }, |_| Asking::boxed(1, &drawn));
    let drawn = drawn.lock().unwrap();
    let share = drawn.iter().filter(|(_, script)| *script == 0).count() as f64 / drawn.len() as f64;
    assert!((share - 0.75).abs() < 0.01, "{share}");
    assert!(drawn.iter().all(|(_, script)| *script != 1));
}

#[test]
fn each_deck_has_all_its_cards_in_an_order_of_its_own() {
    let drawn = Drawn::default();
    let mut plan = plan(1, 1, closed(), vec![stage(10, None)]);
    plan.scripts = vec![script("a", 3), script("never", 0), script("b", 1)];
    plan.script_choice = ScriptChoice::Deck;
    simulate(&plan, &Server { service: ms(2), ..Server::default() }, |_| Asking::boxed(1, &drawn));
    let drawn: Vec<usize> = drawn.lock().unwrap().iter().map(|(_, script)| *script).collect();
    let places: Vec<usize> = drawn
        .chunks_exact(4)
        .map(|deck| {
            assert_eq!(deck.iter().filter(|script| **script == 0).count(), 3);
            deck.iter().position(|script| *script == 2).unwrap()
        })
        .collect();
    for place in 0..4 {
        let share = places.iter().filter(|one| **one == place).count() as f64 / places.len() as f64;
        assert!((share - 0.25).abs() < 0.05, "{place}: {share}");
    }
}

/// One client, which defers a transaction every 10 ms, and executors, each of which takes 25 ms.
fn deferring(executors: u32) -> Plan {
    let mut plan = plan(1 + executors, 1, closed(), vec![stage(10, None)]);
    let pacing = Pacing { keying_ns: ms(10), think_mean_ns: Nanos::ZERO };
    plan.scripts =
        vec![Script { pacing: Some(pacing), is_deferred: true, ..script("deferred", 1) }];
    plan.executors = executors;
    plan
}

#[test]
fn a_client_does_not_wait_for_what_it_defers() {
    let server = Server { service: ms(25), ..Server::default() };
    let outcome = run(&deferring(3), &server);
    assert_eq!((outcome.counters.due, outcome.counters.ok), (1000, 1000));
    assert_close(outcome.response.quantile(1.0), ms(25));
}

#[test]
fn what_is_deferred_waits_in_a_queue_for_an_executor() {
    // Of the 100 that are due in the warm-up 40 are executed until it ends. The first that is
    // measured waits 1.5 s for the other 60, and each further one 15 ms longer.
    let server = Server { service: ms(25), ..Server::default() };
    let outcome = run(&deferring(1), &server);
    let counters = outcome.counters;
    assert_eq!(counters.due, 1000);
    assert!((335..=345).contains(&counters.ok), "{counters:?}");
    assert_eq!(counters.waiting + counters.started, 1000);
    assert!(outcome.response.quantile(0.01) >= ms(1500));
    assert_close(outcome.service.quantile(1.0), ms(25));
}

#[test]
fn executors_end_with_the_transactions_of_all_others() {
    let server = Server { service: ms(25), ..Server::default() };
    let mut plan = deferring(1);
    plan.stages = vec![Stage { duration_ns: None, clients: None, rate_tps: None }];
    plan.transactions_per_client = Some(20);
    let outcome = run(&plan, &server);
    assert_eq!((outcome.counters.due, outcome.counters.ok), (20, 20));
}

#[test]
fn groups_of_clients_have_scripts_of_their_own() {
    let (many, few) = (Drawn::default(), Drawn::default());
    let mut plan = plan(5, 2, closed(), vec![stage(10, None)]);
    plan.scripts = vec![script("a", 3), script("b", 1), script("c", 1), script("d", 1)];
    plan.groups = vec![
        ClientGroup { clients: 3, scripts: 2, choice: ScriptChoice::Weighted },
        ClientGroup { clients: 2, scripts: 2, choice: ScriptChoice::Deck },
    ];
    let group = |client| if client < 3 { &many } else { &few };
    let server = Server { service: ms(2), ..Server::default() };
    simulate(&plan, &server, |client| Asking::boxed(1, group(client)));
    let share_of_first = |drawn: &Drawn, scripts: [usize; 2]| {
        let drawn = drawn.lock().unwrap();
        assert!(drawn.iter().all(|(_, script)| scripts.contains(script)), "{scripts:?}");
        drawn.iter().filter(|(_, script)| *script == scripts[0]).count() as f64 / drawn.len() as f64
    };
    let (weighted, dealt) = (share_of_first(&many, [0, 1]), share_of_first(&few, [2, 3]));
    assert!((weighted - 0.75).abs() < 0.01, "{weighted}");
    assert!((dealt - 0.5).abs() < 0.001, "{dealt}");
}

#[test]
fn deadlocks_are_retried_and_remain_one_transaction() {
    let error = ServerError::from_sqlstate("40P01", "deadlock detected");
    let server = Server { service: ms(1), error: Some((10, error)), ..Server::default() };
    let mut plan = plan(1, 1, closed(), vec![stage(10, None)]);
    let once = run(&plan, &server).counters;
    assert!(once.failed > 800 && once.retries == 0, "{once:?}");
    plan.retry.tries_max = 3;
    let retried = run(&plan, &server);
    assert_eq!(retried.counters.failed, 0);
    assert_eq!(retried.counters.retries, retried.counters.retried);
    assert!(retried.counters.retried > 800, "{:?}", retried.counters);
    // Three exchanges of 1 ms: the failed try, its ROLLBACK, the second try.
    assert_close(retried.response.quantile(1.0), ms(3));
    let [failed] = &retried.tried_again[..] else { panic!("{:?}", retried.tried_again) };
    assert_eq!((failed.code.as_str(), failed.count), ("40P01", retried.counters.retries));
    // The failed try and its ROLLBACK.
    assert_close(Nanos(failed.took_ns / failed.count), ms(2));
}

#[test]
fn failures_are_reported_by_class_and_code_with_the_statement_of_the_first() {
    let error = ServerError::from_sqlstate("23505", "duplicate key value");
    let server = Server { service: ms(1), error: Some((4, error)), ..Server::default() };
    let outcome = run(&plan(2, 1, closed(), vec![stage(2, None)]), &server);
    let [failure] = outcome.intervals.last().unwrap().failures.as_slice() else { panic!() };
    assert_eq!(
        (failure.failure_class, failure.code.as_str()),
        (FailureClass::DuplicateKey, "23505")
    );
    assert_eq!(failure.count, outcome.counters.failed);
    assert_eq!(failure.statement, Some(0));
}

#[test]
fn an_outage_is_measured_and_the_load_goes_on() {
    let server = Server { service: ms(1), outage: Some((ms(3500), ms(5000))), ..Server::default() };
    let outcome = run(&plan(6, 2, closed(), vec![stage(9, None)]), &server);
    assert_eq!(outcome.outages().iter().map(|outage| outage.connections_lost).sum::<u64>(), 6);
    for outage in outcome.outages() {
        let lasted = outage.end.unwrap() - outage.begin;
        assert!(lasted >= ms(1500) && lasted < ms(2600), "{lasted:?}");
    }
    assert_eq!(outcome.counters.failed, 6);
    // The connections were lost while a statement was in flight.
    assert_eq!(outcome.intervals[8].failures[0].statement, Some(0));
    assert!(outcome.intervals[8].completed_ok == 6000);
}

#[test]
fn a_server_is_gone_at_the_end_only_if_it_was_a_while_before() {
    // The measured part ends at 11 s.
    for (begin, gone) in [(9_500, true), (10_800, false)] {
        let outage = Some((ms(begin), ms(60_000)));
        let server = Server { service: ms(1), outage, ..Server::default() };
        let outcome = run(&plan(6, 2, closed(), vec![stage(10, None)]), &server);
        assert_eq!(outcome.stalled.is_some(), gone, "{begin}");
        assert!(outcome.outages().iter().all(|outage| outage.end.is_none()));
    }
}

#[test]
fn what_the_grace_does_not_see_end_is_unfinished_with_its_age() {
    let server =
        Server { service: ms(1), stalls: vec![(ms(10_500), ms(90_000))], ..Server::default() };
    let outcome = run(&plan(4, 2, closed(), vec![stage(10, None)]), &server);
    assert_eq!((outcome.counters.unfinished, outcome.counters.in_flight), (4, 0));
    // Stuck half a second before the end, cut off after the shortest grace of one second.
    for age in &outcome.unfinished_ages {
        assert!(*age >= ms(1500) && *age <= ms(1502), "{age:?}");
    }
    assert_eq!(outcome.stalled, None);
}

#[test]
fn a_server_that_never_answers_again_ends_the_run() {
    let server = Server { service: ms(1), silent_from: Some(ms(4000)), ..Server::default() };
    let mut plan = plan(4, 2, closed(), vec![stage(600, None)]);
    plan.stall_limit_ns = Nanos::from_secs(30);
    let outcome = run(&plan, &server);
    assert!(outcome.stalled.is_some());
    assert_eq!(outcome.counters.unfinished, 4);
    assert!(outcome.over < Nanos::from_secs(37), "{:?}", outcome.over);
    let short = run(&self::plan(4, 2, closed(), vec![stage(10, None)]), &server);
    assert!(short.stalled.is_some());
}

#[test]
fn so_many_transactions_per_client_and_not_one_more() {
    for arrivals in [closed(), open(ArrivalLaw::Constant)] {
        let rate = matches!(arrivals, Arrivals::Open { .. }).then_some(100.0);
        let mut plan =
            plan(5, 2, arrivals, vec![Stage { duration_ns: None, clients: None, rate_tps: rate }]);
        plan.transactions_per_client = Some(20);
        let outcome = run(&plan, &Server { service: ms(7), ..Server::default() });
        assert_eq!((outcome.counters.due, outcome.counters.ok), (100, 100));
    }
}

#[test]
fn stages_set_clients_and_rates() {
    let stages = [Some(1), Some(4), Some(2)].map(|clients| Stage { clients, ..stage(2, None) });
    let server = Server { service: ms(10), ..Server::default() };
    let outcome = run(&plan(4, 2, closed(), stages.to_vec()), &server);
    let completed: Vec<u64> =
        outcome.intervals[1..7].iter().map(|interval| interval.completed_ok).collect();
    for (measured, expected) in completed.iter().zip([100_u64, 100, 400, 400, 200, 200]) {
        assert!(measured.abs_diff(expected) <= 4, "{completed:?}");
    }
}

#[test]
fn thinking_lowers_the_rate_by_littles_law() {
    let think = Think { law: ThinkLaw::Exponential, mean_ns: ms(90) };
    let outcome = run(
        &plan(50, 2, Arrivals::Closed { think }, vec![stage(60, None)]),
        &Server { service: ms(10), ..Server::default() },
    );
    // N = X (R + Z): 50 clients over 100 ms.
    let throughput = outcome.counters.ok as f64 / 60.0;
    assert!((throughput - 500.0).abs() < 15.0, "{throughput}");
    assert_close(outcome.response.quantile(1.0), ms(10));
}

#[test]
fn each_script_has_its_pauses_and_keying_is_no_part_of_a_response() {
    let mut plan = plan(200, 2, closed(), vec![stage(600, None)]);
    plan.warmup_ns = Nanos::from_secs(30);
    plan.script_choice = ScriptChoice::Deck;
    plan.scripts = [(3, 18_000, 12_000), (1, 2_000, 5_000)]
        .map(|(weight, keying, reading)| Script {
            pacing: Some(Pacing { keying_ns: ms(keying), think_mean_ns: ms(reading) }),
            ..script("one", weight)
        })
        .to_vec();
    let outcome = run(&plan, &Server { service: ms(10), ..Server::default() });
    // Four transactions take three cycles of 30.01 s and one of 7.01 s.
    let expected = 600.0 * 200.0 * 4.0 / (3.0 * 30.01 + 7.01);
    let ended = outcome.counters.ok as f64;
    assert!((ended / expected - 1.0).abs() < 0.02, "{ended} against {expected}");
    assert_close(outcome.response.quantile(1.0), ms(10));
}

#[test]
fn a_paced_client_keeps_at_least_its_keying_time_between_transactions() {
    let mut plan = plan(1, 1, closed(), vec![stage(100, None)]);
    plan.scripts[0].pacing = Some(Pacing { keying_ns: ms(990), think_mean_ns: Nanos::ZERO });
    let outcome = run(&plan, &Server { service: ms(10), ..Server::default() });
    assert_eq!(outcome.counters.ok, 100);
}

#[test]
fn a_connection_for_each_transaction_is_part_of_the_response() {
    let mut plan = plan(2, 1, closed(), vec![stage(3, None)]);
    plan.reconnect_each_transaction = true;
    let server = Server { service: ms(1), connect: ms(4), ..Server::default() };
    let outcome = run(&plan, &server);
    assert_close(outcome.response.quantile(0.5), ms(5));
    assert_close(outcome.service.quantile(0.5), ms(1));
}

#[test]
fn a_first_connection_that_is_refused_is_fatal() {
    let server = Server { outage: Some((ms(0), ms(5000))), ..Server::default() };
    let outcome = run(&plan(2, 1, closed(), vec![stage(3, None)]), &server);
    assert_eq!(outcome.fatal.unwrap().message, "refused");
}

#[test]
fn an_outage_is_measured_where_each_transaction_connects() {
    let server = Server {
        service: ms(1),
        connect: ms(1),
        outage: Some((ms(3500), ms(5000))),
        ..Server::default()
    };
    let mut plan = plan(6, 2, closed(), vec![stage(9, None)]);
    plan.reconnect_each_transaction = true;
    let outcome = run(&plan, &server);
    let outages = outcome.outages();
    // One per worker, except for those let in at the last moment: they end the first one.
    let long: Vec<_> = outages.iter().filter(|one| one.end.unwrap() >= ms(5000)).collect();
    assert_eq!(long.len(), 2, "{outages:?}");
    for outage in long {
        assert!(outage.begin >= ms(3500) && outage.begin <= ms(3510), "{outage:?}");
        assert!(outage.end.unwrap() < ms(6100), "{outage:?}");
        assert_eq!(outage.connections_lost, 3);
    }
    assert_eq!(outcome.outage_events.len(), 2 * outages.len());
    let healthy = run(&plan, &Server { outage: None, ..server });
    assert_eq!(healthy.outage_events, []);
}
