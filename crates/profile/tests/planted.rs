//! A process that burns its time in one function is found there.

use std::collections::BTreeSet;
use std::hint::black_box;
use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use dbdyno_profile::{Count, Function, Kind, Profile, Scope, Task};

const HZ: u32 = 499;
const ENOUGH: u32 = 300;
const PATIENCE: Duration = Duration::from_secs(60);
const SHORT: &str = "n=0; while [ $n -lt 9999 ]; do n=$((n+1)); done";
const BURNS: &str = "DBDYNO_PROFILE_TEST_BURNS";

/// The function that is to be found.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn planted_function(until: &Instant) -> u64 {
    let mut number = 1_u64;
    while until.elapsed() < Duration::from_millis(1) {
        for _ in 0..100_000 {
            number = black_box(number).wrapping_mul(6_364_136_223_846_793_005);
        }
    }
    number
}

/// A test in name only: what the process under test does.
#[test]
fn burns() {
    if std::env::var_os(BURNS).is_some() {
        loop {
            black_box(planted_function(&Instant::now()));
        }
    }
}

fn burner() -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "burns"])
        .env(BURNS, "1")
        .spawn()
        .unwrap()
}

fn cpus() -> Vec<usize> {
    (0..std::thread::available_parallelism().unwrap().get()).collect()
}

fn begun(server: u32) -> Profile {
    let mut profile = Profile::of(server, HZ, &cpus()).unwrap();
    profile.begin(0).unwrap();
    profile
}

#[test]
fn the_planted_function_is_found() {
    let mut child = burner();
    let mut profile = begun(child.id());
    let (mut counts, mut functions, mut tasks) = (Vec::new(), Vec::new(), Vec::new());
    let deadline = Instant::now() + PATIENCE;
    while samples(&counts) < ENOUGH && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(200));
        let taken = profile.take_before(u64::MAX);
        counts.extend(taken.counts);
        functions.extend(taken.functions);
        tasks.extend(taken.tasks);
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let is_planted = |its: &Function| its.name == "planted_function" && its.kind == Kind::Named;
    let number = functions.iter().position(is_planted).unwrap() as u32;
    let all = samples(&counts);
    counts.retain(|count| count.function == number);
    assert!(samples(&counts) * 10 > all * 8, "{} of {all}: {functions:?}", samples(&counts));
    assert!(tasks.iter().any(|task| task.title.contains("--exact burns")));
}

fn samples(counts: &[Count]) -> u32 {
    counts.iter().map(|count| count.samples).sum()
}

#[test]
fn what_begins_later_is_followed() {
    let mut profile_of = Command::new("sh")
        .args(["-c", "read go; sh -c 'while :; do :; done' & sleep 3; kill $!"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut profile = begun(profile_of.id());
    profile_of.stdin.take().unwrap().write_all(b"go\n").unwrap();
    while profile_of.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(100));
        profile.look();
    }
    let taken = profile.take_before(u64::MAX);
    let late = |task: &&Task| task.title.contains("while");
    let late = taken.tasks.iter().find(late).unwrap_or_else(|| panic!("{:?}", taken.tasks));
    assert!(taken.counts.iter().any(|count| count.pid == late.pid));
}

#[test]
fn what_the_kernel_does_is_known_by_the_way_in() {
    let mut child =
        Command::new("dd").args(["if=/dev/zero", "of=/dev/null", "bs=1"]).spawn().unwrap();
    let mut profile = begun(child.id());
    std::thread::sleep(Duration::from_secs(1));
    let taken = profile.take_before(u64::MAX);
    child.kill().unwrap();
    child.wait().unwrap();
    if profile.scope() == Scope::ServerWithoutKernel {
        assert!(taken.functions.iter().all(|its| its.kind != Kind::Kernel));
        return;
    }
    let in_write = |its: &Function| its.kind == Kind::Kernel && its.object == "write";
    assert!(taken.functions.iter().any(in_write), "{:?}", taken.functions);
}

#[test]
fn a_process_that_is_gone_has_no_samples() {
    let mut child = Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    // Whoever sees the machine finds nothing of it; who sees its threads only cannot begin.
    if let Ok(mut profile) = Profile::of(child.id(), HZ, &cpus()) {
        profile.begin(0).unwrap();
        assert!(profile.take_before(u64::MAX).counts.is_empty());
    }
}

#[test]
fn what_a_short_process_did_is_counted_after_its_end() {
    let mut parent = Command::new("sh")
        .args(["-c", &format!("read go; for i in 1 2 3 4 5 6 7 8; do sh -c '{SHORT}'; done")])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let server = parent.id();
    let mut profile = begun(server);
    parent.stdin.take().unwrap().write_all(b"go\n").unwrap();
    parent.wait().unwrap();
    let taken = profile.take_before(u64::MAX);
    if profile.scope() == Scope::Machine {
        let of_children = taken.counts.iter().filter(|count| count.pid != server);
        let children: BTreeSet<_> = of_children.map(|count| count.pid).collect();
        assert!(children.len() > 4, "{children:?} {} {:?}", taken.lost, taken.tasks);
    }
}

#[test]
fn nothing_is_counted_while_it_is_paused() {
    let mut child = burner();
    let mut profile = begun(child.id());
    std::thread::sleep(Duration::from_millis(500));
    profile.pause().unwrap();
    let before = samples(&profile.take_before(u64::MAX).counts);
    std::thread::sleep(Duration::from_millis(300));
    let paused = samples(&profile.take_before(u64::MAX).counts);
    profile.resume().unwrap();
    std::thread::sleep(Duration::from_millis(500));
    let after = samples(&profile.take_before(u64::MAX).counts);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(before > 0 && paused == 0 && after > 0, "{before}, {paused}, {after}");
}
