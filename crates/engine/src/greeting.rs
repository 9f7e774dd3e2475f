//! What an agent says of itself and its machine before it has a job.

use crate::limits;
use dbdyno_hist::frame::Greeting;
use rustix::process::{Resource, getrlimit};
use std::{env, fs, process, thread};

const CLOCK_SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// Who this is: the build of this module, and the machine that it runs on.
pub fn greeting(build: String) -> Greeting {
    let text = |path| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    Greeting {
        build,
        host: text("/proc/sys/kernel/hostname"),
        boot: text("/proc/sys/kernel/random/boot_id"),
        architecture: env::consts::ARCH,
        pid: process::id(),
        cpus: thread::available_parallelism().map_or(1, usize::from) as u32,
        clock_source: text(CLOCK_SOURCE),
        // What a process may raise its limit to.
        open_files_max: getrlimit(Resource::Nofile)
            .maximum
            .unwrap_or(u64::MAX)
            .max(limits::open_files_max()),
    }
}
