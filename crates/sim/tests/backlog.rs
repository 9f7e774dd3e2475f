//! The memory of a backlog, in a program of its own: memory is measured per process, and the tests
//! of a program run in parallel.

mod common;

use common::{ms, open, plan, stage};
use dbdyno_model::{ArrivalLaw, Nanos, Plan};
use dbdyno_sim::{Asking, Drawn, Server, simulate};
use std::fs;

#[test]
fn a_backlog_takes_no_memory_however_long_it_grows() {
    let arrivals = open(ArrivalLaw::Constant);
    let plan = plan(1, 1, arrivals, vec![stage(10, Some(500_000.0))]);
    let plan = Plan { warmup_ns: Nanos::ZERO, ..plan };
    let server = Server { service: ms(20_000), ..Server::default() };
    let before = most_bytes();
    let outcome = simulate(&plan, &server, |_| Asking::boxed(1, &Drawn::default()));
    assert_eq!(outcome.counters.waiting, 10 * 500_000 - 2, "one is under way, one due at the end");
    let taken = most_bytes() - before;
    assert!(taken < 16 << 20, "{taken} bytes more than {before}");
}

/// The peak memory of this process so far.
fn most_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    let kilobytes: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kilobytes << 10
}
