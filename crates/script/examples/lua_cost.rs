//! The cost of a Lua client: time per transaction against a server that answers at once, and memory
//! per client.
//!
//!     cargo run --release -p dbdyno-script --example lua_cost /usr/share/sysbench oltp_point_select

// An example reads its script and the clock; the crate itself does neither.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use dbdyno_model::{Purpose, Reply, Script, Stream};
use dbdyno_script::lua::{Driver, Settings, compile};
use dbdyno_script::{Execution, Resume, Step};
use std::collections::BTreeMap;
use std::time::Instant;

const CLIENTS: u32 = 900;
const TRANSACTIONS: u64 = 200_000;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().unwrap_or_else(|| "/usr/share/sysbench".into());
    let name = arguments.next().unwrap_or_else(|| "oltp_point_select".into());
    let modules = modules(&folder);
    let text = modules.get(&name).expect("a script of that name").clone();
    let script = Script { name: format!("{name}.lua"), weight: 1, text, ..Script::default() };
    let program = compile(&script, settings(modules)).expect("no problem");
    let before = resident_kib();
    let begin = Instant::now();
    let mut executions = program.executions(0..CLIENTS).expect("a Lua state");
    for execution in &mut executions {
        execution.set_up(chance(0));
        to_the_end(&mut **execution);
    }
    let took_us = begin.elapsed().as_micros() / u128::from(CLIENTS);
    let each_kib = (resident_kib() - before) / u64::from(CLIENTS);
    println!("entering: {took_us} µs and {each_kib} KiB a client, {CLIENTS} clients");
    let begin = Instant::now();
    let mut requests = 0;
    for (number, client) in (0..TRANSACTIONS).zip((0..CLIENTS as usize).cycle()) {
        executions[client].begin(0, chance(number));
        requests += to_the_end(&mut *executions[client]);
    }
    let nanoseconds = begin.elapsed().as_nanos() / u128::from(TRANSACTIONS);
    println!("{nanoseconds} ns a transaction of {} requests", requests / TRANSACTIONS);
    println!("resident after {TRANSACTIONS} transactions: {} MiB", resident_kib() / 1024);
}

fn settings(modules: BTreeMap<String, String>) -> Settings {
    Settings {
        command: "run".into(),
        path: String::new(),
        arguments: BTreeMap::new(),
        modules,
        driver: Driver::Mysql,
        prepares: true,
        clients: CLIENTS,
        servers: 1,
        seed: 1,
        allow_unsafe: false,
        print: |line| eprintln!("{line}"),
    }
}

fn modules(folder: &str) -> BTreeMap<String, String> {
    let files = std::fs::read_dir(folder).expect("a folder of scripts");
    let paths = files.map(|entry| entry.expect("a file").path());
    let scripts = paths.filter(|path| path.extension().is_some_and(|ending| ending == "lua"));
    let module = |path: std::path::PathBuf| {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        (name, std::fs::read_to_string(path).expect("a text"))
    };
    scripts.map(module).collect()
}

fn chance(number: u64) -> Stream {
    Stream::keyed(1, Purpose::Script, 0, number)
}

/// Answers every request until the transaction is over, and counts them.
fn to_the_end(execution: &mut dyn Execution) -> u64 {
    let reply = Reply { rows_returned: 1, ..Reply::default() };
    let mut requests = 0;
    let mut step = execution.resume(Resume::Continue).expect("no fault");
    while let Step::Request(..) = step {
        requests += 1;
        step = execution.resume(Resume::Reply(&reply)).expect("no fault");
    }
    requests
}

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("a Linux system");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("a size");
    line.split_whitespace().nth(1).and_then(|size| size.parse().ok()).expect("a number")
}
