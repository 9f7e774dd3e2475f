//! Opens the kernel's sampling events and reads their ring buffers.
//!
//! With the right to look at the whole machine, one event for each CPU sees all tasks, those that
//! begin later included. Without it, an ordinary user may sample processes of its own: each
//! thread of the server on each CPU, which what they start inherits, as far as the limits on open
//! files and locked memory allow.
//!
//! The processor's cycles are sampled where the hardware counts them: they also show what runs while
//! interrupts are off. A sample each so many cycles says nothing of time, since the processor's
//! clock changes; who reads them has to scale them to the time that the kernel counted. Elsewhere,
//! as in many virtual machines, a timer of the kernel takes the samples: n of them at f Hz are n/f
//! seconds.

use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;

use perf_event::data::{Record, SampleFlags};
use perf_event::events::{Hardware, Software};
use perf_event::{Builder, Clock, Counter, Sampler};
use perf_event_open_sys::ioctls;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::tasks::{Family, threads_of};

/// The size of a CPU's ring buffer: seconds of samples. An ordinary user may lock 516 KiB for each.
const RING_BYTES: usize = 256 << 10;

/// What a sample consists of. The weight is of no use, but it comes last: a sample that ended in the
/// empty call chain of a task's own code could not be read.
const SAMPLED: SampleFlags = SampleFlags::IP
    .union(SampleFlags::TID)
    .union(SampleFlags::TIME)
    .union(SampleFlags::CALLCHAIN)
    .union(SampleFlags::WEIGHT);

/// In a record's header: its task has begun to run another program.
const COMM_EXEC: u16 = 1 << 13;

/// How far the view reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Whatever runs on any CPU, the kernel included.
    Machine,
    /// The server's processes, the kernel included.
    Server,
    /// The server's processes, without what the kernel does for them.
    ServerWithoutKernel,
}

/// What takes the samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The processor, each time it has gone through so many cycles.
    Cycles,
    /// A timer of the kernel, while a task is on a CPU.
    CpuClock,
}

/// Cycles of a processor in a second, about: the samples are only about as many as were asked for.
const CYCLES_PER_SECOND: u64 = 3_000_000_000;

/// One sample.
#[derive(Debug)]
pub(crate) struct Sample {
    pub(crate) pid: u32,
    pub(crate) tid: u32,
    pub(crate) time_ns: u64,
    /// Code addresses of the kernel, innermost first; empty while the task ran its own code.
    pub(crate) kernel: Vec<u64>,
    /// Where the task was interrupted, in the kernel's code or in its own.
    pub(crate) address: u64,
}

/// What a ring buffer held.
#[derive(Debug)]
pub(crate) enum Seen {
    Sample(Sample),
    Born {
        pid: u32,
        parent: u32,
    },
    Ended {
        pid: u32,
        tid: u32,
    },
    /// It runs another program now.
    Changed {
        pid: u32,
    },
    Lost {
        samples: u64,
    },
}

/// The open events of a profile.
pub(crate) struct Events {
    rings: Vec<Sampler>,
    /// Write into the ring buffer of their CPU.
    followers: Vec<Counter>,
    pub(crate) scope: Scope,
    pub(crate) source: Source,
}

impl Events {
    /// Open what this user may, the widest view first. Nothing is sampled before `begin`.
    pub(crate) fn open(family: &mut Family, hz: u64, cpus: &[usize]) -> io::Result<Self> {
        let mut refused = None;
        for scope in [Scope::Machine, Scope::Server, Scope::ServerWithoutKernel] {
            let threads: Vec<_> = match scope {
                Scope::Machine => vec![None],
                _ => family.alive().into_iter().flat_map(threads_of).map(Some).collect(),
            };
            allow_files((threads.len() * cpus.len()) as u64);
            for source in [Source::Cycles, Source::CpuClock] {
                match Self::open_as(&threads, hz, cpus, scope, source) {
                    Ok(events) => return Ok(events),
                    // The last attempt asks for the least: its reason is the one to tell.
                    Err(error) => refused = Some(error),
                }
            }
        }
        Err(refused.unwrap_or_else(|| ErrorKind::Unsupported.into()))
    }

    fn open_as(
        threads: &[Option<u32>],
        hz: u64,
        cpus: &[usize],
        scope: Scope,
        source: Source,
    ) -> io::Result<Self> {
        let mut events = Self { rings: Vec::new(), followers: Vec::new(), scope, source };
        for cpu in cpus {
            let ring = events.rings.len();
            for thread in threads {
                let counter = match builder(hz, *cpu, scope, source, *thread).build() {
                    Ok(counter) => counter,
                    // It ended meanwhile.
                    Err(error) if is_gone(&error) && thread.is_some() => continue,
                    Err(error) => return Err(error),
                };
                if let Some(ring) = events.rings.get(ring) {
                    // SAFETY: both are open events, and the ring buffer outlives this call.
                    let done = unsafe { ioctls::SET_OUTPUT(counter.as_raw_fd(), ring.as_raw_fd()) };
                    if done != 0 {
                        return Err(io::Error::last_os_error());
                    }
                    events.followers.push(counter);
                } else {
                    events.rings.push(counter.sampled(RING_BYTES)?);
                }
            }
        }
        if events.rings.is_empty() {
            return Err(ErrorKind::NotFound.into());
        }
        Ok(events)
    }

    /// Begin to sample.
    pub(crate) fn begin(&mut self) -> io::Result<()> {
        self.rings.iter_mut().try_for_each(|ring| ring.enable())?;
        self.followers.iter_mut().try_for_each(Counter::enable)
    }

    /// Sample nothing until `begin` is called again.
    pub(crate) fn pause(&mut self) -> io::Result<()> {
        self.rings.iter_mut().try_for_each(|ring| ring.disable())?;
        self.followers.iter_mut().try_for_each(Counter::disable)
    }

    /// Pass on all that the ring buffers hold.
    pub(crate) fn drain(&mut self, mut see: impl FnMut(Seen)) {
        for ring in &mut self.rings {
            while let Some(record) = ring.next_record() {
                let changes_program = record.misc() & COMM_EXEC != 0;
                if let Ok(record) = record.parse_record()
                    && let Some(seen) = seen(record, changes_program)
                {
                    see(seen);
                }
            }
        }
    }
}

/// Let this process open so many more files, as far as its hard limit goes.
///
/// Thousands of sessions are more threads than files may usually be open. If it is not enough, the
/// event that is one too many says so.
fn allow_files(more: u64) {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = current.unwrap_or(u64::MAX).saturating_add(more);
    let current = Some(maximum.unwrap_or(u64::MAX).min(wanted));
    let _ = setrlimit(Resource::Nofile, Rlimit { current, maximum });
}

fn builder(
    hz: u64,
    cpu: usize,
    scope: Scope,
    source: Source,
    thread: Option<u32>,
) -> Builder<'static> {
    let mut builder = match source {
        Source::Cycles => Builder::new(Hardware::CPU_CYCLES),
        Source::CpuClock => Builder::new(Software::CPU_CLOCK),
    };
    match source {
        // A frequency would give an idle processor as many samples as a busy one.
        Source::Cycles => builder.sample_period(CYCLES_PER_SECOND / hz.max(1)),
        Source::CpuClock => builder.sample_frequency(hz).exclude_idle(true),
    };
    builder
        .one_cpu(cpu)
        .sample(SAMPLED)
        .clockid(Clock::MONOTONIC)
        .task(true)
        .comm(true)
        .comm_exec(true)
        .exclude_callchain_user(true)
        .sample_id_all(true)
        .exclude_kernel(scope == Scope::ServerWithoutKernel);
    match thread {
        Some(thread) => builder.observe_pid(thread as i32).inherit(true),
        None => builder.any_pid(),
    };
    builder
}

fn is_gone(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error())
}

fn seen(record: Record<'_>, changes_program: bool) -> Option<Seen> {
    Some(match record {
        Record::Sample(sample) => Seen::Sample(Sample {
            pid: sample.pid()?,
            tid: sample.tid()?,
            time_ns: sample.time()?,
            kernel: kernel_part(sample.callchain()?),
            address: sample.ip()?,
        }),
        Record::Fork(fork) => Seen::Born { pid: fork.pid, parent: fork.ppid },
        Record::Exit(exit) => Seen::Ended { pid: exit.pid, tid: exit.tid },
        Record::Comm(comm) if changes_program => Seen::Changed { pid: comm.pid },
        Record::Lost(lost) => Seen::Lost { samples: lost.lost },
        Record::LostSamples(lost) => Seen::Lost { samples: lost.lost },
        _ => return None,
    })
}

/// The kernel's addresses of a call chain.
///
/// Markers among the addresses say whose code follows (`PERF_CONTEXT_*` of `perf_event.h`).
fn kernel_part(chain: &[u64]) -> Vec<u64> {
    const KERNEL: u64 = -128_i64 as u64;
    const MARKERS: u64 = -4095_i64 as u64;
    let mut context = 0;
    let mut part = Vec::new();
    for address in chain {
        match *address {
            marker if marker >= MARKERS => context = marker,
            address if context == KERNEL => part.push(address),
            _ => {}
        }
    }
    part
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_has_a_part_of_the_kernel_and_one_of_the_task() {
        let (kernel, user) = (-128_i64 as u64, -512_i64 as u64);
        assert_eq!(kernel_part(&[kernel, 1, 2, user, 3, 4]), vec![1, 2]);
        assert_eq!(kernel_part(&[user, 3, 4]), Vec::<u64>::new());
        assert_eq!(kernel_part(&[kernel, 1]), vec![1]);
        assert_eq!(kernel_part(&[]), Vec::<u64>::new());
    }
}
