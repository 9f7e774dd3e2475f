//! Workers that are given their events by hand, for what depends on the order of answers, and on
//! what several workers of a run learn from each other, which the simulator runs one by one.

mod common;

use common::{closed, ms, open, plan, stage};
use dbdyno_hist::{Counters, Shape};
use dbdyno_load::{
    Event, HOPELESS_AFTER, OutageEvent, Port, RunShared, Settings, ShellCall, Timeline, Worker,
};
use dbdyno_model::{
    ArrivalLaw, Arrivals, ConnectionId, Nanos, Plan, Reply, Request, ServerError, Think, ThinkLaw,
};
use dbdyno_sim::{Asking, Drawn};
use std::sync::Arc;

/// Does nothing: the test decides what happens.
struct Nowhere;

impl Port for Nowhere {
    fn connect(&mut self, _: usize, _: ConnectionId, _: u32) {}
    fn close(&mut self, _: usize, _: ConnectionId) {}
    fn cancel(&mut self, _: usize, _: ConnectionId) {}
    fn send(&mut self, _: usize, _: ConnectionId, _: &Request<'_>) {}
    fn release(&mut self, _: usize) {}
    fn shell(&mut self, _: ShellCall) {}
}

/// All workers of a plan, connected, with the load's start at zero.
fn workers(plan: &Plan) -> Vec<Worker> {
    let shared = Arc::new(RunShared::new(plan));
    let worker = |thread| {
        let clients = (thread..plan.clients).step_by(plan.threads as usize);
        Worker::new(Settings {
            plan: Arc::new(plan.clone()),
            thread,
            shape: Shape { scripts: plan.scripts.len(), statements: 1, service_differs: false },
            block_words: Arc::default(),
            executions: clients.map(|_| Asking::boxed(1, &Drawn::default())).collect(),
            shared: Arc::clone(&shared),
        })
    };
    (0..plan.threads).map(worker).map(|worker| begun(plan, worker)).collect()
}

fn begun(plan: &Plan, mut worker: Worker) -> Worker {
    worker.connect_all(Nanos::ZERO, &mut Nowhere);
    for client in 0..worker.clients() {
        let connected = Event::Connected { client, backend: 1 };
        worker.on(Nanos::ZERO, connected, &mut Nowhere);
    }
    worker.start(Timeline::new(plan, Nanos::ZERO));
    worker
}

/// Without a warm-up, for ten seconds.
fn ten_seconds(clients: u32, threads: u32) -> Plan {
    Plan { warmup_ns: Nanos::ZERO, ..plan(clients, threads, closed(), vec![stage(10, None)]) }
}

fn wake(worker: &mut Worker, now: Nanos) {
    worker.on(now, Event::Wake, &mut Nowhere);
}

fn answer(worker: &mut Worker, now: Nanos, client: usize, error: Option<&ServerError>) {
    let reply = Reply { error, rows_returned: 1, ..Reply::default() };
    worker.on(now, Event::Reply { client, reply }, &mut Nowhere);
}

fn no_table() -> ServerError {
    ServerError::from_sqlstate("42P01", "no such table")
}

/// A client's transactions fail one after the other, a millisecond each; returns when the last one
/// has.
fn fail_often(worker: &mut Worker, begin: Nanos, client: usize, times: u32) -> Nanos {
    let at = |time: u32| begin + ms(1) * u64::from(time);
    (1..=times).for_each(|time| answer(worker, at(time), client, Some(&no_table())));
    at(times)
}

#[test]
fn one_client_that_always_fails_does_not_hide_the_slow_ones() {
    let [worker] = &mut workers(&ten_seconds(3, 1))[..] else { panic!() };
    wake(worker, ms(0));
    let now = fail_often(worker, ms(0), 0, 5 * HOPELESS_AFTER);
    assert_eq!(worker.hopeless(), None);
    answer(worker, now + ms(1), 1, Some(&no_table()));
    assert_eq!(worker.hopeless(), None);
    answer(worker, now + ms(2), 2, None);
    fail_often(worker, now + ms(2), 0, HOPELESS_AFTER);
    assert_eq!(worker.hopeless(), None);
}

#[test]
fn what_fails_for_every_client_is_hopeless_when_the_slowest_has_seen_it() {
    let [worker] = &mut workers(&ten_seconds(2, 1))[..] else { panic!() };
    wake(worker, ms(0));
    let now = fail_often(worker, ms(0), 0, HOPELESS_AFTER);
    assert_eq!(worker.hopeless(), None);
    answer(worker, now + ms(1), 1, Some(&no_table()));
    assert_eq!(worker.hopeless().expect("all have seen it").error, no_table());
}

#[test]
fn clients_of_a_worker_that_has_not_woken_yet_are_waited_for() {
    let [early, late] = &mut workers(&ten_seconds(2, 2))[..] else { panic!() };
    wake(early, ms(0));
    let now = fail_often(early, ms(0), 0, 2 * HOPELESS_AFTER);
    assert_eq!(early.hopeless(), None);
    wake(late, now);
    let now = fail_often(early, now, 0, HOPELESS_AFTER);
    assert_eq!(early.hopeless(), None);
    answer(late, now, 0, Some(&no_table()));
    assert!(late.hopeless().is_some());
}

#[test]
fn failures_in_the_grace_are_no_reason_for_an_end_that_came_by_itself() {
    let clients = HOPELESS_AFTER as usize;
    let [worker] = &mut workers(&ten_seconds(HOPELESS_AFTER, 1))[..] else { panic!() };
    wake(worker, ms(0));
    wake(worker, ms(10_000));
    for client in 0..clients {
        answer(worker, ms(10_001), client, Some(&no_table()));
    }
    assert!(worker.is_over());
    assert_eq!(worker.hopeless(), None);
}

/// An open loop of four clients with an arrival each millisecond; the first client has the first one.
fn open_loop() -> Worker {
    let arrivals = open(ArrivalLaw::Constant);
    let plan = plan(4, 1, arrivals, vec![stage(10, Some(1000.0))]);
    let mut workers = workers(&Plan { warmup_ns: Nanos::ZERO, ..plan });
    let mut worker = workers.remove(0);
    wake(&mut worker, ms(0));
    wake(&mut worker, ms(1));
    worker
}

#[test]
fn a_worker_that_begins_nothing_sleeps_although_arrivals_are_due() {
    let mut worker = open_loop();
    let (mut now, mut clients) = (ms(1), (0..4).cycle());
    while worker.hopeless().is_none() {
        assert!(now < ms(100), "it is never hopeless");
        let client = clients.next().expect("a cycle");
        answer(&mut worker, now, client, Some(&no_table()));
        now += ms(1);
        wake(&mut worker, now);
    }
    wake(&mut worker, now + ms(10));
    assert!(worker.next_wake() > now + ms(10), "{:?}", worker.next_wake());
}

#[test]
fn a_worker_that_was_stopped_sleeps_through_the_grace() {
    let mut worker = open_loop();
    worker.on(ms(2), Event::Stop { at: ms(2) }, &mut Nowhere);
    wake(&mut worker, ms(10));
    wake(&mut worker, ms(20));
    assert!(!worker.is_over() && worker.next_wake() > ms(20), "{:?}", worker.next_wake());
}

/// Two workers of one client each, which connects for each transaction and has just run one.
fn both_connecting() -> Vec<Worker> {
    let plan = Plan { reconnect_each_transaction: true, ..ten_seconds(2, 2) };
    let mut workers = workers(&plan);
    for worker in &mut workers {
        wake(worker, ms(0));
        answer(worker, ms(1), 0, None);
    }
    workers
}

/// The connect in progress is refused, and the pause until the next attempt is over.
fn refuse(worker: &mut Worker, now: Nanos, error: &ServerError) {
    let busy = error.code == "57P03";
    worker.on(now, Event::ConnectFailed { client: 0, error, busy }, &mut Nowhere);
    wake(worker, now + ms(90));
}

fn gone() -> ServerError {
    ServerError::connection_lost("connection refused")
}

fn begins_an_outage(events: &[OutageEvent]) -> bool {
    matches!(events, [OutageEvent::Begun { .. }])
}

#[test]
fn two_refusals_in_a_row_are_an_outage_unless_another_worker_was_let_in() {
    for let_in in [false, true] {
        let [unlucky, other] = &mut both_connecting()[..] else { panic!() };
        refuse(unlucky, ms(100), &gone());
        if let_in {
            other.on(ms(150), Event::Connected { client: 0, backend: 1 }, &mut Nowhere);
        }
        refuse(unlucky, ms(200), &gone());
        assert_eq!(begins_an_outage(&unlucky.take_outage_events()), !let_in);
    }
}

#[test]
fn a_server_that_reports_too_many_connections_is_no_outage() {
    let full = ServerError::from_sqlstate("53300", "too many clients already");
    let numbered = ServerError::from_mysql(1040, Some("08004"), "Too many connections");
    let starting = ServerError::from_sqlstate("57P03", "the database system is starting up");
    let pooled = ServerError::from_sqlstate("08P01", "server login has been failing");
    for (between, is_outage) in
        [(full, false), (numbered, false), (starting, true), (pooled, true), (gone(), true)]
    {
        let [worker, _] = &mut both_connecting()[..] else { panic!() };
        refuse(worker, ms(100), &gone());
        refuse(worker, ms(200), &between);
        refuse(worker, ms(300), &gone());
        let begun = begins_an_outage(&worker.take_outage_events());
        assert_eq!(begun, is_outage, "{between:?}");
    }
}

/// A client that waits for its connection at the end, and is refused once more because the server
/// is too busy.
fn waiting_for_room_at_the_end() -> Worker {
    let mut worker = both_connecting().remove(0);
    worker.on(ms(2000), Event::Stop { at: ms(2000) }, &mut Nowhere);
    refuse(&mut worker, ms(2100), &ServerError::from_sqlstate("57P03", "starting up"));
    assert!(!worker.is_over(), "it has a grace");
    worker
}

fn last_counters(mut worker: Worker, now: Nanos) -> Counters {
    assert!(worker.is_over());
    worker.close_last(now);
    worker.take_closed().last().expect("it closed some").tally.counters
}

#[test]
fn who_waits_for_room_at_the_end_has_the_grace_for_it() {
    let mut worker = waiting_for_room_at_the_end();
    worker.on(ms(2200), Event::Connected { client: 0, backend: 1 }, &mut Nowhere);
    answer(&mut worker, ms(2300), 0, None);
    let counters = last_counters(worker, ms(2300));
    assert_eq!((counters.ok, counters.in_flight, counters.unfinished), (2, 0, 0));
}

#[test]
fn who_waits_for_room_in_vain_is_cut_off_with_the_grace() {
    let mut worker = waiting_for_room_at_the_end();
    wake(&mut worker, ms(3100));
    let counters = last_counters(worker, ms(3100));
    assert_eq!((counters.ok, counters.in_flight, counters.unfinished), (1, 0, 1));
}

#[test]
fn a_connection_that_is_made_when_its_time_is_over_is_given_up_once() {
    let mut plan = Plan { reconnect_each_transaction: true, ..ten_seconds(1, 1) };
    (plan.endpoint.connect_timeout_ns, plan.transactions_per_client) = (ms(1000), Some(3));
    let mut worker = workers(&plan).remove(0);
    let connected = || Event::Connected { client: 0, backend: 1 };
    wake(&mut worker, ms(0));
    answer(&mut worker, ms(1), 0, None);
    // Nothing ran for longer than a connect may take; then the worker learns of both.
    worker.on(ms(2000), connected(), &mut Nowhere);
    wake(&mut worker, ms(2090));
    worker.on(ms(2091), connected(), &mut Nowhere);
    answer(&mut worker, ms(2092), 0, None);
    let counters = last_counters(worker, ms(2092));
    assert_eq!((counters.ok, counters.failed, counters.in_flight), (2, 1, 0));
}

#[test]
fn a_machine_that_stood_still_is_no_silence_of_the_server() {
    let plan = Plan { stall_limit_ns: ms(2000), ..ten_seconds(2, 1) };
    let [mut answered, mut silent] = [workers(&plan).remove(0), workers(&plan).remove(0)];
    wake(&mut answered, Nanos::ZERO);
    wake(&mut silent, Nanos::ZERO);
    answer(&mut answered, ms(3000), 0, None);
    assert_eq!(answered.end_report().stalled, None);
    wake(&mut silent, ms(3000));
    assert!(silent.end_report().stalled.is_some());
}

/// In a grace period of a second, over whose end the machine stands still until this instant.
fn standing_still_over_the_grace(until: Nanos) -> Worker {
    let mut worker = workers(&ten_seconds(2, 1)).remove(0);
    wake(&mut worker, Nanos::ZERO);
    wake(&mut worker, ms(10_000));
    wake(&mut worker, until);
    assert!(!worker.is_over());
    worker
}

#[test]
fn what_is_answered_while_the_machine_stands_still_over_the_grace_is_finished() {
    let mut worker = standing_still_over_the_grace(ms(14_000));
    answer(&mut worker, ms(14_001), 0, None);
    answer(&mut worker, ms(14_002), 1, None);
    let counters = last_counters(worker, ms(14_002));
    assert_eq!((counters.ok, counters.unfinished), (2, 0));
}

#[test]
fn a_machine_that_stands_still_again_and_again_has_one_moment_more() {
    let mut worker = standing_still_over_the_grace(ms(14_000));
    answer(&mut worker, ms(14_001), 0, None);
    wake(&mut worker, ms(16_000));
    answer(&mut worker, ms(16_001), 1, Some(&no_table()));
    let counters = last_counters(worker, ms(16_001));
    assert_eq!((counters.ok, counters.unfinished), (1, 1));
}

#[test]
fn a_machine_that_stood_still_is_no_refusal_to_cancel() {
    let mut worker = standing_still_over_the_grace(ms(11_000));
    wake(&mut worker, ms(18_000)); // was to answer by 16_000
    (0..2).for_each(|client| answer(&mut worker, ms(18_001), client, Some(&no_table())));
    assert!(worker.is_over() && worker.end_report().stalled.is_none());
}

/// Two clients on two workers; the first one, numbered 0 over the run, is in its first transaction.
fn two_apart() -> [Worker; 2] {
    let mut workers = workers(&ten_seconds(2, 2));
    for worker in &mut workers {
        wake(worker, ms(0));
    }
    workers.try_into().unwrap_or_else(|_| panic!())
}

/// The numbers of transactions of a worker that were begun and that ended, when its interval is
/// closed.
fn begun_and_over(worker: &mut Worker) -> (u64, u64) {
    wake(worker, ms(1_000));
    let closed = worker.take_closed();
    (closed[0].tally.counters.started, closed[0].tally.counters.ok)
}

#[test]
fn a_client_goes_to_another_worker_between_two_transactions() {
    let [here, there] = &mut two_apart();
    here.move_client(0, 1);
    here.move_client(1, 1); // not here
    assert!(!here.wants_to_move(0));
    answer(here, ms(1), 0, None);
    assert!(here.wants_to_move(0));
    let (client, thread) = here.take_client(0).unwrap();
    assert_eq!((thread, there.add_client(client)), (1, 1));
    there.cancel_move(ms(2), 1, &mut Nowhere);
    answer(there, ms(3), 1, None);
    assert_eq!(begun_and_over(here), (1, 1));
    assert_eq!(begun_and_over(there), (3, 1));
}

#[test]
fn a_client_that_cannot_leave_goes_on_where_it_is() {
    let [here, _] = &mut two_apart();
    here.move_client(0, 1);
    answer(here, ms(1), 0, None);
    here.cancel_move(ms(2), 0, &mut Nowhere);
    assert!(!here.wants_to_move(0));
    answer(here, ms(3), 0, None);
    assert_eq!(begun_and_over(here), (3, 2));
}

#[test]
fn whoever_is_bound_for_where_it_is_stays() {
    let [here, _] = &mut two_apart();
    here.move_client(0, 1);
    here.move_client(0, 0);
    answer(here, ms(1), 0, None);
    assert!(!here.wants_to_move(0));
    assert_eq!(begun_and_over(here), (2, 1));
}

#[test]
fn a_place_is_anothers_when_one_comes() {
    let [here, there] = &mut two_apart();
    let carry = |from: &mut Worker, to: &mut Worker, id: u64, thread: u32, at: u64| {
        from.move_client(id, thread);
        answer(from, ms(at), 0, None);
        to.add_client(from.take_client(0).unwrap().0)
    };
    assert_eq!(carry(here, there, 0, 1, 1), 1);
    assert_eq!(carry(there, here, 1, 0, 2), 0);
}

#[test]
fn a_worker_whose_last_client_went_is_over_with_the_run() {
    let [here, there] = &mut two_apart();
    here.move_client(0, 1);
    answer(here, ms(1), 0, None);
    let (client, _) = here.take_client(0).unwrap();
    wake(here, ms(10_000));
    assert!(here.is_over());
    // A client that comes after the end is only torn down.
    wake(there, ms(10_000));
    let place = there.add_client(client);
    there.cancel_move(ms(10_001), place, &mut Nowhere);
    answer(there, ms(10_002), 0, None);
    assert!(there.is_over());
}

#[test]
fn a_client_that_has_paused_moves_after_its_transaction_and_pauses_once() {
    let think = Think { law: ThinkLaw::Constant, mean_ns: ms(100) };
    let plan = Plan { arrivals: Arrivals::Closed { think }, ..ten_seconds(2, 2) };
    let [here, _] = &mut workers(&plan)[..] else { panic!() };
    wake(here, ms(0));
    here.move_client(0, 1);
    wake(here, ms(100));
    assert!(!here.wants_to_move(0));
    answer(here, ms(101), 0, None);
    assert!(here.wants_to_move(0));
}
