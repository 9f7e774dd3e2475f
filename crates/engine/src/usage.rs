//! The resources this process has used so far.

use dbdyno_hist::EngineUse;
use dbdyno_model::Nanos;

/// User and system time and context switches of the process since it started.
pub(crate) fn so_far() -> EngineUse {
    // SAFETY: an all-zero `rusage` is a valid value of this plain struct.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a live `rusage`; RUSAGE_SELF with a valid pointer cannot fail.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) };
    let micros = |time: libc::timeval| time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64;
    EngineUse {
        cpu_us: micros(usage.ru_utime) + micros(usage.ru_stime),
        voluntary_switches: usage.ru_nvcsw as u64,
        involuntary_switches: usage.ru_nivcsw as u64,
    }
}

/// The difference between two readings.
pub(crate) fn between(before: EngineUse, after: EngineUse) -> EngineUse {
    EngineUse {
        cpu_us: after.cpu_us - before.cpu_us,
        voluntary_switches: after.voluntary_switches - before.voluntary_switches,
        involuntary_switches: after.involuntary_switches - before.involuntary_switches,
    }
}

/// How long the threads of the process were ready to run and had no processor, those that have ended
/// left out; zero where the kernel does not tell.
pub(crate) fn waited_so_far() -> Nanos {
    let Ok(threads) = std::fs::read_dir("/proc/self/task") else { return Nanos::ZERO };
    let waited = |thread: std::io::Result<std::fs::DirEntry>| {
        let text = std::fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
        text.split(' ').nth(1)?.parse().ok().map(Nanos)
    };
    threads.filter_map(waited).fold(Nanos::ZERO, |sum, each| sum + each)
}
