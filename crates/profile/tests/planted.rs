//! A process that burns its time in one function is found there.

use std::collections::BTreeSet;
use std::fs;
use std::hint::black_box;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use perf_event::Builder;
use perf_event::events::Hardware;

use dbdyno_profile::{Count, Function, Kind, Profile, Scope, Source, Task};

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
    burner_of(&std::env::current_exe().unwrap())
}

fn burner_of(program: &Path) -> Child {
    let mut command = Command::new(program);
    command.args(["--exact", "burns"]).env(BURNS, "1");
    loop {
        match command.spawn() {
            Ok(child) => return child,
            // A child of another test that has just begun still has the new file open for writing.
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => {}
            Err(error) => panic!("{error}"),
        }
    }
}

fn cpus() -> Vec<usize> {
    (0..std::thread::available_parallelism().unwrap().get()).collect()
}

fn begun(server: u32) -> Profile {
    let mut profile = Profile::of(server, HZ, &cpus()).unwrap();
    profile.begin(0).unwrap();
    profile
}

/// What a profile shows of a process until it has been seen often enough.
#[derive(Default)]
struct Watched {
    counts: Vec<Count>,
    functions: Vec<Function>,
    tasks: Vec<Task>,
}

impl Watched {
    fn of(mut child: Child) -> Self {
        let mut profile = begun(child.id());
        let mut watched = Self::default();
        let deadline = Instant::now() + PATIENCE;
        while samples(&watched.counts) < ENOUGH && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(200));
            let taken = profile.take_before(u64::MAX);
            watched.counts.extend(taken.counts);
            watched.functions.extend(taken.functions);
            watched.tasks.extend(taken.tasks);
        }
        child.kill().unwrap();
        child.wait().unwrap();
        watched
    }

    /// Most samples are in such a function.
    fn assert_most(&self, is_it: impl Fn(&Function) -> bool) {
        let all = samples(&self.counts);
        let such =
            self.counts.iter().filter(|count| is_it(&self.functions[count.function as usize]));
        let such: u32 = such.map(|count| count.samples).sum();
        assert!(all >= ENOUGH && such * 10 > all * 8, "{such} of {all}: {:?}", self.functions);
    }
}

fn is_planted(its: &Function) -> bool {
    its.name == "planted_function" && its.kind == Kind::Named
}

/// A program of this test's code at a path of its own.
fn copied(name: &str, change: impl Fn(&mut Vec<u8>)) -> PathBuf {
    let path = std::env::temp_dir().join(format!("dbdyno-{name}-{}", std::process::id()));
    let mut program = fs::read("/proc/self/exe").unwrap();
    change(&mut program);
    fs::write(&path, program).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[test]
fn the_planted_function_is_found() {
    let watched = Watched::of(burner());
    watched.assert_most(is_planted);
    assert!(watched.tasks.iter().any(|task| task.title.contains("--exact burns")));
}

#[test]
fn a_program_that_was_replaced_while_it_runs_keeps_its_names() {
    let program = copied("replaced", |_| ());
    let child = burner_of(&program);
    let other = copied("successor", Vec::clear);
    fs::rename(other, &program).unwrap();
    let watched = Watched::of(child);
    fs::remove_file(program).unwrap();
    watched.assert_most(is_planted);
    assert!(watched.functions.iter().all(|its| !its.object.contains("(deleted)")));
}

#[test]
fn a_program_without_any_names_is_counted_by_its_file() {
    const SECTIONS: [std::ops::Range<usize>; 2] = [0x28..0x30, 0x3a..0x40];
    let program = copied("nameless", |program| {
        for at in SECTIONS {
            program[at].fill(0);
        }
    });
    let watched = Watched::of(burner_of(&program));
    fs::remove_file(&program).unwrap();
    let file = program.file_name().unwrap().to_str().unwrap();
    watched
        .assert_most(|its| its.kind == Kind::Unnamed && its.object == file && its.name.is_empty());
}

fn samples(counts: &[Count]) -> u32 {
    counts.iter().map(|count| count.samples).sum()
}

#[test]
fn cycles_are_sampled_where_the_hardware_counts_them() {
    let profile = Profile::of(std::process::id(), HZ, &cpus()).unwrap();
    let is_counted = Builder::new(Hardware::CPU_CYCLES).exclude_kernel(true).build().is_ok();
    let source = if is_counted { Source::Cycles } else { Source::CpuClock };
    assert_eq!(profile.source(), source);
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
    let mut has_begun = false;
    while profile_of.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(100));
        has_begun |= profile.look();
    }
    assert!(has_begun);
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
    assert!(!profile.look());
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
