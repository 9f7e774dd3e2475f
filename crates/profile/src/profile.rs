//! Draws the parts together: samples come out of the kernel, counts go to who asks.

use std::collections::BTreeSet;
use std::io;

use crate::events::{Events, Sample, Scope, Seen, Source};
use crate::functions::{Function, Functions, Kind};
use crate::images::Images;
use crate::kernel::{Kernel, entry};
use crate::tally::{Count, Tally};
use crate::tasks::{Family, thread_name};

/// What was counted since the last time.
#[derive(Debug, Default)]
pub struct Taken {
    /// Counts, by second.
    pub counts: Vec<Count>,
    /// Functions that were met for the first time; their numbers follow those of earlier ones.
    pub functions: Vec<Function>,
    /// What the tasks call themselves that were met for the first time.
    pub tasks: Vec<Task>,
    /// Samples that the kernel had to drop.
    pub lost: u64,
}

/// A task's names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// The process.
    pub pid: u32,
    /// The thread.
    pub tid: u32,
    /// The process's command line, which servers overwrite with what they do.
    pub title: String,
    /// The thread's name.
    pub thread: String,
}

/// A profile that is being taken.
///
/// Whoever holds it has to look several times a second: the ring buffers hold a few seconds, and a
/// process that begins can be asked for its title only while it exists.
pub struct Profile {
    events: Events,
    family: Family,
    kernel: Kernel,
    images: Images,
    functions: Functions,
    functions_taken: usize,
    tasks: BTreeSet<(u32, u32)>,
    new_tasks: Vec<Task>,
    /// Tasks that the last look saw end. Their samples may be in a ring buffer that was read
    /// before, so that they are forgotten one look later.
    ended: Vec<(u32, u32)>,
    tally: Tally,
    lost: u64,
}

impl Profile {
    /// Make ready to sample a process and its descendants so many times a second on each CPU.
    pub fn of(server: u32, hz: u32, cpus: &[usize]) -> io::Result<Self> {
        let mut family = Family::of(server);
        let events = Events::open(&mut family, hz.into(), cpus)?;
        let kernel = match events.scope {
            Scope::ServerWithoutKernel => Kernel::default(),
            Scope::Machine | Scope::Server => Kernel::read(),
        };
        Ok(Self {
            events,
            family,
            kernel,
            images: Images::of(server),
            functions: Functions::default(),
            functions_taken: 0,
            tasks: BTreeSet::new(),
            new_tasks: Vec::new(),
            ended: Vec::new(),
            tally: Tally::default(),
            lost: 0,
        })
    }

    /// Begin to sample; seconds are counted from an instant of the monotonic clock.
    pub fn begin(&mut self, origin_ns: u64) -> io::Result<()> {
        self.tally.begin(origin_ns);
        self.events.begin()
    }

    /// Sample nothing until `resume`.
    pub fn pause(&mut self) -> io::Result<()> {
        self.events.pause()
    }

    /// Sample again.
    pub fn resume(&mut self) -> io::Result<()> {
        self.events.begin()
    }

    /// How far the view reaches.
    pub fn scope(&self) -> Scope {
        self.events.scope
    }

    /// What takes its samples.
    pub fn source(&self) -> Source {
        self.events.source
    }

    /// Whether the kernel shows the names of its functions.
    pub fn names_kernel(&self) -> bool {
        self.kernel.is_known()
    }

    /// Count what the ring buffers hold; return whether the server has begun processes or threads
    /// meanwhile.
    pub fn look(&mut self) -> bool {
        let (mut samples, mut ended) = (Vec::new(), Vec::new());
        let mut has_begun = false;
        let Self { events, family, images, lost, .. } = self;
        events.drain(|seen| match seen {
            Seen::Sample(sample) => samples.push(sample),
            Seen::Born { pid, parent } => {
                family.born(pid, parent);
                has_begun |= family.has(pid);
            }
            Seen::Changed { pid } => images.forget(pid),
            Seen::Ended { pid, tid } => ended.push((pid, tid)),
            Seen::Lost { samples } => *lost += samples,
        });
        for sample in &samples {
            self.count(sample);
        }
        for (pid, tid) in std::mem::replace(&mut self.ended, ended) {
            self.tasks.remove(&(pid, tid));
            if pid == tid {
                self.family.ended(pid);
                self.images.forget(pid);
            }
        }
        has_begun
    }

    /// Take what was counted in seconds that began before an instant of the monotonic clock.
    pub fn take_before(&mut self, until_ns: u64) -> Taken {
        self.look();
        let functions = self.functions.since(self.functions_taken).to_vec();
        self.functions_taken += functions.len();
        Taken {
            counts: self.tally.take_before(until_ns),
            functions,
            tasks: std::mem::take(&mut self.new_tasks),
            lost: std::mem::take(&mut self.lost),
        }
    }

    fn count(&mut self, sample: &Sample) {
        let Sample { pid, tid, time_ns, address, .. } = *sample;
        if pid == 0 || !self.family.has(pid) {
            return;
        }
        let function = match sample.kernel.first() {
            Some(innermost) => self.kernel_function(*innermost, &sample.kernel),
            None => self.images.function(pid, address),
        };
        if self.tasks.insert((pid, tid)) {
            let title = self.family.title(pid);
            self.new_tasks.push(Task { pid, tid, title, thread: thread_name(pid, tid) });
        }
        let number = self.functions.number_of(function);
        self.tally.add(time_ns, pid, tid, number);
    }

    fn kernel_function(&self, innermost: u64, chain: &[u64]) -> Function {
        let names: Vec<_> = chain.iter().filter_map(|address| self.kernel.at(*address)).collect();
        Function {
            kind: Kind::Kernel,
            name: self.kernel.at(innermost).unwrap_or_default().to_owned(),
            object: entry(&names).unwrap_or_default().to_owned(),
        }
    }
}
