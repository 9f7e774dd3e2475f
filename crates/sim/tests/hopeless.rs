//! Scripts that can never work, and those that only appear so.

mod common;

use common::{closed, ms, plan, stage};
use dbdyno_model::{FailureClass, Nanos, Plan, ServerError, StatementId};
use dbdyno_sim::{Asking, Drawn, Outcome, Server, simulate};

/// Four clients of one thread, from the first transaction on measured.
fn whole() -> Plan {
    Plan { warmup_ns: Nanos::ZERO, ..plan(4, 1, closed(), vec![stage(60, None)]) }
}

/// On a server that answers every n-th request with an error of this class.
fn failing(plan: &Plan, each: u64, class: FailureClass) -> Outcome {
    let error = ServerError::new(class, "42P01", "no such table");
    let server = Server { service: ms(1), error: Some((each, error)), ..Server::default() };
    simulate(plan, &server, |_| Asking::boxed(1, &Drawn::default()))
}

#[test]
fn ten_lasting_failures_end_the_run() {
    for class in [FailureClass::Statement, FailureClass::Permission] {
        let outcome = failing(&whole(), 1, class);
        let hopeless = outcome.hopeless.unwrap();
        assert_eq!((hopeless.script, hopeless.statement), (0, StatementId(0)));
        assert_eq!(hopeless.error.message, "no such table");
        // Each of the other three may have been in flight when the tenth was reported.
        assert!((10..=13).contains(&outcome.counters.failed), "{:?}", outcome.counters);
        assert!(outcome.over < ms(60), "{:?}", outcome.over);
    }
}

#[test]
fn what_another_try_may_be_spared_ends_nothing() {
    let outcome = failing(&whole(), 1, FailureClass::LockTimeout);
    assert_eq!(outcome.hopeless, None);
    assert!(outcome.counters.failed > 100_000, "{:?}", outcome.counters);
}

#[test]
fn a_script_that_works_now_and_then_is_not_hopeless() {
    let outcome = failing(&whole(), 4, FailureClass::Statement);
    assert_eq!(outcome.hopeless, None);
    assert!(outcome.counters.ok > 0 && outcome.counters.failed > 10_000, "{:?}", outcome.counters);
}

#[test]
fn failures_that_are_let_pass_end_nothing() {
    let plan = Plan { ends_on_hopeless_script: false, ..whole() };
    let outcome = failing(&plan, 1, FailureClass::Statement);
    assert_eq!(outcome.hopeless, None);
    assert_eq!(outcome.over, Nanos::from_secs(60));
}
