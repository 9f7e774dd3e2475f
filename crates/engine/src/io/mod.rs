//! Moving bytes between links and sockets: two kernel interfaces of equal standing.
//!
//! A slot is a number under which the kernel knows a link. It is used again only when nothing
//! is under way for its old link any more.

mod buffers;
mod epoll;
mod slot;
mod uring;

use crate::clock;
use crate::link::Link;
use dbdyno_model::Nanos;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::fd::OwnedFd;
use std::io;
use std::sync::Arc;

pub(crate) use epoll::Epoll;
pub(crate) use uring::Uring;

/// What a wait found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ready {
    /// There is something to receive.
    Readable(usize),
    /// The dial is over, or more can be sent.
    Writable(usize),
    /// The slot may be used again.
    Freed(usize),
    /// The link that is to be let go of can be detached, if nothing has come for it meanwhile.
    Released(usize),
    /// Somebody called [`Alarm::ring`].
    Woken,
}

/// What came of a receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Received {
    /// There was nothing after all.
    Nothing,
    /// Bytes were put into the link's space.
    Bytes {
        /// How many.
        count: usize,
        /// Whether more are at hand, which will not be told of again.
        more: bool,
    },
    /// The server has closed the connection.
    End,
}

/// A kernel interface that moves the bytes of one thread's links.
pub(crate) trait Io: Sized {
    /// Ready for so many slots.
    fn new(slots: usize, alarm: &Alarm) -> io::Result<Self>;

    /// Tells, by `Writable`, when the link's dial is over.
    fn watch_dial(&mut self, slot: usize, link: &Link) -> io::Result<()>;

    /// The link's socket is connected: what arrives is told from now on.
    fn open(&mut self, slot: usize, link: &mut Link) -> io::Result<()>;

    /// Sends what stands in the link's `out`, now or as soon as it can be sent, and sees to it
    /// that what arrives is told.
    fn flush(&mut self, slot: usize, link: &mut Link) -> io::Result<()>;

    /// After `Readable`: receives into the link's space.
    fn receive(&mut self, slot: usize, link: &mut Link) -> io::Result<Received>;

    /// Begins to let go of a link that stays open. True when it can be detached now or not at
    /// all; else `Released` will tell.
    fn release(&mut self, slot: usize) -> bool;

    /// Lets go of it, unless something is under way for it: false then, and it stays.
    fn detach(&mut self, slot: usize, link: &Link) -> io::Result<bool>;

    /// Closes the link. True when the slot may be used again after this round of events; else
    /// `Freed` will tell.
    fn retire(&mut self, slot: usize, link: Box<Link>) -> bool;

    /// Waits until something is ready, at most so long.
    fn wait(&mut self, timeout: Nanos, ready: &mut Vec<Ready>) -> io::Result<()>;
}

/// Wakes a thread that waits in its [`Io`].
#[derive(Clone, Debug)]
pub(crate) struct Alarm(Arc<OwnedFd>);

impl Alarm {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(Arc::new(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?)))
    }

    /// Wakes the thread.
    pub(crate) fn ring(&self) {
        // It can fail only when the counter is full: then the thread is being woken already.
        let _ = rustix::io::write(&*self.0, &1_u64.to_ne_bytes());
    }

    /// Waits for the ring, at most so long, where there is nothing else to wait for.
    pub(crate) fn wait(&self, timeout: Nanos) {
        let mut files = [PollFd::new(self.file(), PollFlags::IN)];
        // Whoever wakes early looks around and waits again.
        let _ = poll(&mut files, Some(&clock::timespec(timeout)));
        self.silence();
    }

    /// The thread is awake.
    fn silence(&self) {
        let _ = rustix::io::read(&*self.0, &mut [0_u8; 8]);
    }

    fn file(&self) -> &OwnedFd {
        &self.0
    }
}

/// Whether `io_uring` can be used here; if not, why.
pub(crate) fn probe_uring() -> Result<(), String> {
    let alarm = Alarm::new().map_err(|error| error.to_string())?;
    Uring::new(1, &alarm).map(drop).map_err(|error| match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => {
            "io_uring is forbidden here (kernel.io_uring_disabled, or a container's seccomp profile)".into()
        }
        Some(libc::ENOSYS) => "this kernel has no io_uring".into(),
        Some(libc::EINVAL) => "this kernel's io_uring is too old (6.1 is needed)".into(),
        _ => format!("io_uring cannot be set up: {error}"),
    })
}
