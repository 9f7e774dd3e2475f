//! What an agent says of itself and its machine before it has a job.

use crate::limits;
use dbdyno_hist::frame::Greeting;
use rustix::process::{Resource, getrlimit};
use rustix::thread::{CpuSet, sched_getaffinity};
use std::{env, fs, process, thread};

const CLOCK_SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// Who this is: the build of this module, and the machine that it runs on.
pub fn greeting(build: String) -> Greeting {
    let text = |path| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let cpus = thread::available_parallelism().map_or(1, usize::from) as u32;
    Greeting {
        build,
        host: text("/proc/sys/kernel/hostname"),
        boot: text("/proc/sys/kernel/random/boot_id"),
        architecture: env::consts::ARCH,
        pid: process::id(),
        pid_namespace: namespace("pid"),
        cpus,
        cpus_allowed: cpus_allowed().unwrap_or_else(|| (0..cpus).collect()),
        cgroup: format!("{} {}", namespace("cgroup"), text("/proc/self/cgroup")),
        clock_source: text(CLOCK_SOURCE),
        // What a process may raise its limit to.
        open_files_max: getrlimit(Resource::Nofile)
            .maximum
            .unwrap_or(u64::MAX)
            .max(limits::open_files_max()),
    }
}

/// The numbers of the CPUs on which this process may run. The kernel does not say it of machines
/// with more than fit into a set.
fn cpus_allowed() -> Option<Vec<u32>> {
    let allowed = sched_getaffinity(None).ok()?;
    Some((0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)).map(|cpu| cpu as u32).collect())
}

/// That of its control groups, or of its process's number: in each container, they begin anew.
fn namespace(kind: &str) -> String {
    let link = fs::read_link(format!("/proc/self/ns/{kind}")).unwrap_or_default();
    link.to_string_lossy().into_owned()
}
