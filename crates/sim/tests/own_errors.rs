//! Scripts that handle their own errors, and that have a setup and a teardown: with a planned
//! server the outcome can be worked out by hand.

mod common;

use common::{closed, ms, open, plan, stage};
use dbdyno_model::{
    ArrivalLaw, Arrivals, ConnectionId, FailureClass, Keep, Nanos, Plan, Request, ServerError,
    StatementId, Stream, Think, ThinkLaw,
};
use dbdyno_script::{Execution, Fault, Resume, Step};
use dbdyno_sim::{Outcome, Server, simulate};
use std::sync::{Arc, Mutex};

/// What an execution does next.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Act {
    Ask,
    Reconnect,
    Stop { is_over: bool },
    Fail,
}
use Act::{Ask, Fail, Reconnect, Stop};

/// The calls to executions, in order.
type Log = Arc<Mutex<Vec<&'static str>>>;

/// An execution with actions for its setup, for each of its transactions, and for its teardown.
#[derive(Clone, Default)]
struct Governed {
    entering: Vec<Act>,
    transaction: Vec<Act>,
    leaving: Vec<Act>,
    log: Log,
    acts: Vec<Act>,
    next: usize,
}

impl Governed {
    fn start(&mut self, word: &'static str, acts: Vec<Act>) {
        self.log.lock().expect("no panic").push(word);
        (self.acts, self.next) = (acts, 0);
    }

    fn calls(&self) -> Vec<&'static str> {
        self.log.lock().expect("no panic").clone()
    }

    fn run(&self, plan: &Plan, server: &Server) -> Outcome {
        simulate(plan, server, |_| Box::new(self.clone()))
    }
}

impl Execution for Governed {
    fn handles_own_errors(&self) -> bool {
        true
    }

    fn set_up(&mut self, _: Stream) -> bool {
        self.start("enter", self.entering.clone());
        true
    }

    fn begin(&mut self, _: usize, _: Stream) {
        self.start("begin", self.transaction.clone());
    }

    fn restart(&mut self) {
        self.start("restart", self.transaction.clone());
    }

    fn tear_down(&mut self, _: Stream) -> bool {
        self.start("leave", self.leaving.clone());
        true
    }

    fn resume(&mut self, input: Resume<'_>) -> Result<Step<'_>, Fault> {
        if matches!(input, Resume::Reply(reply) if reply.error.is_some()) {
            return Ok(Step::Restart);
        }
        let Some(act) = self.acts.get(self.next) else { return Ok(Step::Done) };
        self.next += 1;
        match act {
            Ask => Ok(Step::Request(
                ConnectionId::FIRST,
                Request::Text { statement: StatementId(0), sql: "select", keep: Keep::None },
            )),
            Reconnect => Ok(Step::Connect { connection: ConnectionId::FIRST, server: 0 }),
            Stop { is_over } => Ok(Step::Stop { is_over: *is_over }),
            Fail => Err(Fault {
                script: 0,
                command: 0,
                line: 1,
                message: "it failed".into(),
                sqlstate: None,
            }),
        }
    }
}

/// One client for two seconds, the first of which is warm-up.
fn short() -> Plan {
    plan(1, 1, closed(), vec![stage(1, None)])
}

fn deadlock() -> ServerError {
    ServerError::new(FailureClass::Deadlock, "1213", "deadlock")
}

#[test]
fn what_is_done_around_the_transactions_is_not_counted() {
    let server = Server { service: ms(10), ..Server::default() };
    let execution = Governed {
        entering: vec![Ask, Ask, Ask],
        transaction: vec![Ask],
        leaving: vec![Ask, Ask],
        ..Governed::default()
    };
    let outcome = execution.run(&short(), &server);
    let calls = execution.calls();
    assert_eq!((calls[0], calls[calls.len() - 1]), ("enter", "leave"));
    assert_eq!(calls.iter().filter(|word| **word != "begin").count(), 2);
    assert_eq!(outcome.counters.ok, 100);
    assert_eq!(outcome.response.count(), 100);
    assert!(outcome.faults.is_empty() && outcome.unfinished_ages.is_empty());
}

#[test]
fn a_restarted_transaction_is_one_transaction() {
    let server = Server { service: ms(10), error: Some((3, deadlock())), ..Server::default() };
    let execution = Governed { transaction: vec![Ask], ..Governed::default() };
    let mut plan = short();
    plan.retry.tries_max = 0;
    let outcome = execution.run(&plan, &server);
    // Of three requests one fails: two transactions take 10 and 20 ms in turn.
    let counters = outcome.counters;
    assert_eq!(counters.failed, 0);
    assert!((66..=67).contains(&counters.ok), "{counters:?}");
    assert_eq!(counters.retried, counters.retries);
    assert!((33..=34).contains(&counters.retried), "{counters:?}");
    assert!(outcome.response.quantile(1.0) >= ms(20));
    let [failed] = &outcome.tried_again[..] else { panic!("{:?}", outcome.tried_again) };
    assert_eq!((failed.code.as_str(), failed.count), ("1213", counters.retries));
    assert_eq!(failed.took_ns, counters.retries * ms(10).0);
}

#[test]
fn without_tries_left_it_has_failed_with_the_servers_error() {
    let server = Server { service: ms(10), error: Some((2, deadlock())), ..Server::default() };
    let execution = Governed { transaction: vec![Ask], ..Governed::default() };
    let outcome = execution.run(&short(), &server);
    assert_eq!((outcome.counters.ok, outcome.counters.failed), (50, 50));
    let failures: Vec<&str> = outcome
        .intervals
        .iter()
        .flat_map(|interval| &interval.failures)
        .map(|failure| failure.code.as_str())
        .collect();
    assert!(!failures.is_empty() && failures.iter().all(|code| *code == "1213"), "{failures:?}");
}

#[test]
fn the_end_of_the_run_leaves_time_for_another_try() {
    // Requests end at 0.7, 1.4 and 2.1 s; the third fails, and the run was over at 2 s.
    let server = Server { service: ms(700), error: Some((3, deadlock())), ..Server::default() };
    let execution = Governed { transaction: vec![Ask], ..Governed::default() };
    let mut plan = short();
    plan.retry.tries_max = 2;
    let outcome = execution.run(&plan, &server);
    let counters = outcome.counters;
    assert_eq!((counters.ok, counters.failed, counters.retried), (1, 0, 1), "{counters:?}");
}

#[test]
fn tries_without_end_are_cut_off_with_the_grace() {
    let server = Server { service: ms(10), error: Some((1, deadlock())), ..Server::default() };
    let execution = Governed { transaction: vec![Ask], ..Governed::default() };
    let mut plan = short();
    (plan.warmup_ns, plan.retry.tries_max) = (ms(0), 0);
    let outcome = execution.run(&plan, &server);
    assert_eq!((outcome.counters.unfinished, outcome.counters.failed), (1, 0));
    assert_eq!(outcome.unfinished_ages, [ms(2000)]);
    // All of 2 s; the last request is not answered any more.
    assert_eq!((outcome.counters.retried, outcome.counters.retries), (1, 199));
}

#[test]
fn a_new_connection_is_a_part_of_its_transaction() {
    let server = Server { service: ms(10), connect: ms(15), ..Server::default() };
    let execution = Governed { transaction: vec![Ask, Reconnect], ..Governed::default() };
    let outcome = execution.run(&short(), &server);
    assert_eq!(outcome.counters.ok, 40);
    assert!(outcome.outage_events.is_empty());
    assert_eq!(execution.calls().iter().filter(|word| **word == "enter").count(), 1);
}

#[test]
fn after_a_failure_too_the_next_transaction_has_a_connection_of_its_own() {
    let server = Server {
        service: ms(10),
        connect: ms(15),
        error: Some((2, deadlock())),
        ..Server::default()
    };
    let execution = Governed { transaction: vec![Ask], ..Governed::default() };
    let plan = Plan { reconnect_each_transaction: true, ..short() };
    let counters = execution.run(&plan, &server).counters;
    assert_eq!((counters.ok, counters.failed), (20, 20));
}

#[test]
fn a_client_that_stops_takes_its_leave() {
    for transaction in [vec![Ask, Stop { is_over: true }], vec![Stop { is_over: false }]] {
        let server = Server { service: ms(10), ..Server::default() };
        let execution = Governed { transaction, ..Governed::default() };
        let outcome = execution.run(&short(), &server);
        assert_eq!(execution.calls(), ["enter", "begin", "leave"]);
        assert!(outcome.over < Nanos::from_secs(2));
    }
}

#[test]
fn the_transaction_in_which_a_client_stops_counts_only_if_it_is_over() {
    let ended = |is_over| {
        let plan = Plan { warmup_ns: ms(0), ..short() };
        let transaction = vec![Ask, Stop { is_over }];
        let execution = Governed { transaction, ..Governed::default() };
        let outcome = execution.run(&plan, &Server { service: ms(10), ..Server::default() });
        assert_eq!((outcome.counters.started, outcome.counters.in_flight), (1, 0));
        (outcome.counters.ok, outcome.counters.unfinished, outcome.unfinished_ages)
    };
    assert_eq!(ended(true), (1, 0, vec![]));
    assert_eq!(ended(false), (0, 1, vec![ms(10)]));
}

#[test]
fn many_transactions_without_requests_read_the_clock_once() {
    let over = |transactions| {
        let mut plan = short();
        (plan.warmup_ns, plan.transactions_per_client) = (ms(0), Some(transactions));
        let outcome = Governed::default().run(&plan, &Server::default());
        assert_eq!(outcome.counters.ok, transactions);
        outcome.over
    };
    // A nanosecond each time the clock is read, which happens for the first transaction of all.
    assert_eq!(over(80) - over(1), Nanos(9));
}

#[test]
fn clients_think_between_transactions_without_requests() {
    let think = Think { law: ThinkLaw::Constant, mean_ns: ms(10) };
    let mut plan = plan(1, 1, Arrivals::Closed { think }, vec![stage(1, None)]);
    (plan.warmup_ns, plan.transactions_per_client) = (ms(0), Some(17));
    let outcome = Governed::default().run(&plan, &Server::default());
    // Each of them after a pause, and every eighth waits a nanosecond for the clock.
    assert_eq!(outcome.over, ms(170) + Nanos(3));
}

#[test]
fn who_cannot_enter_keeps_the_load_from_beginning() {
    let execution = Governed { entering: vec![Ask, Fail], ..Governed::default() };
    let outcome = execution.run(&short(), &Server::default());
    assert_eq!(outcome.fatal.expect("an error").message, "it failed");
    assert_eq!(execution.calls(), ["enter"]);
}

#[test]
fn a_client_that_stops_on_entering_keeps_nobody_from_beginning() {
    let server = Server { service: ms(10), ..Server::default() };
    let plan = plan(2, 1, closed(), vec![stage(1, None)]);
    let outcome = simulate(&plan, &server, |client| {
        let entering = if client == 0 { vec![Stop { is_over: false }] } else { vec![] };
        Box::new(Governed { entering, transaction: vec![Ask], ..Governed::default() })
    });
    assert_eq!(outcome.counters.ok, 100);
    assert!(outcome.fatal.is_none() && outcome.faults.is_empty());
}

#[test]
fn a_fault_on_leaving_is_reported() {
    let execution = Governed { transaction: vec![Ask], leaving: vec![Fail], ..Governed::default() };
    let server = Server { service: ms(10), ..Server::default() };
    let outcome = execution.run(&short(), &server);
    assert_eq!(outcome.counters.ok, 100);
    assert_eq!(outcome.faults.len(), 1);
}

/// One client on each thread, and a hundred arrivals a second for four seconds.
fn open_loop(threads: u32) -> Plan {
    let plan = plan(threads, threads, open(ArrivalLaw::Constant), vec![stage(4, Some(100.0))]);
    Plan { warmup_ns: Nanos::ZERO, ..plan }
}

#[test]
fn arrivals_of_a_thread_whose_clients_have_ended_wait_in_vain() {
    let server = Server { service: ms(1), ..Server::default() };
    let outcome = simulate(&open_loop(2), &server, |client| {
        let end = if client == 0 { vec![Stop { is_over: true }] } else { vec![] };
        Box::new(Governed { transaction: [vec![Ask], end].concat(), ..Governed::default() })
    });
    // The last arrival of either thread is due when the run ends: it is not part of it.
    let counters = outcome.counters;
    assert_eq!((counters.due, counters.waiting, counters.ok), (399, 199, 200));
}

#[test]
fn without_any_client_an_open_loop_ends() {
    let server = Server { service: ms(1), ..Server::default() };
    let transaction = vec![Ask, Stop { is_over: true }];
    let execution = Governed { transaction, ..Governed::default() };
    let outcome = execution.run(&open_loop(1), &server);
    assert_eq!((outcome.counters.ok, outcome.over), (1, ms(11)));
}
