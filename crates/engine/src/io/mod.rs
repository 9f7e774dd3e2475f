//! Moves bytes between links and sockets, by one of two equivalent kernel interfaces.
//!
//! A slot is a number that identifies a link to the kernel. It is reused only when the kernel has
//! no operation in flight for its previous link.

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

/// An event that a wait returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ready {
    /// There are bytes to receive.
    Readable(usize),
    /// The connect has finished, or more can be sent.
    Writable(usize),
    /// The slot may be reused.
    Freed(usize),
    /// The link being released can be detached, unless bytes have arrived meanwhile.
    Released(usize),
    /// [`Waker::wake`] was called.
    Woken,
}

/// The outcome of a receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Received {
    /// Nothing was there.
    Nothing,
    /// Bytes were received into the link's space.
    Bytes {
        /// How many.
        count: usize,
        /// Whether more have already arrived, for which no further event will come.
        more: bool,
    },
    /// The server has closed the connection.
    End,
}

/// What became of the bytes that a link had to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sending {
    /// The socket has taken all.
    Done,
    /// The next wait tells.
    Soon,
    /// The socket takes no more at present.
    Blocked,
}

/// A kernel interface that moves the bytes of one thread's links.
pub(crate) trait Io: Sized {
    /// With this many slots, of which `usual` are expected to be used.
    fn new(slots: usize, usual: usize, waker: &Waker) -> io::Result<Self>;

    /// Reports `Writable` when the link's connect has finished.
    fn watch_dial(&mut self, slot: usize, link: &Link) -> io::Result<()>;

    /// The link's socket is connected: bytes that arrive are reported from now on.
    fn open(&mut self, slot: usize, link: &mut Link) -> io::Result<()>;

    /// Sends the link's `out`, now or as soon as possible, and makes sure that bytes that arrive
    /// are reported.
    fn flush(&mut self, slot: usize, link: &mut Link) -> io::Result<()>;

    /// How far the link's `out` has been sent since it was flushed.
    fn sending(&self, slot: usize, link: &Link) -> Sending;

    /// After `Readable`: receives into the link's space.
    fn receive(&mut self, slot: usize, link: &mut Link) -> io::Result<Received>;

    /// Starts to release a link that stays open. True when it can be detached now, or not at all;
    /// otherwise `Released` follows.
    fn release(&mut self, slot: usize) -> bool;

    /// Detaches the link. False when an operation of it is in flight: then it stays.
    fn detach(&mut self, slot: usize, link: &Link) -> io::Result<bool>;

    /// Closes the link. True when the slot may be reused after this round of events; otherwise
    /// `Freed` follows.
    fn retire(&mut self, slot: usize, link: Box<Link>) -> bool;

    /// Waits until something is ready, up to the timeout.
    fn wait(&mut self, timeout: Nanos, ready: &mut Vec<Ready>) -> io::Result<()>;
}

/// Wakes a thread that waits in its [`Io`].
#[derive(Clone, Debug)]
pub(crate) struct Waker(Arc<OwnedFd>);

impl Waker {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(Arc::new(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?)))
    }

    /// Wakes the thread.
    pub(crate) fn wake(&self) {
        // It fails only when the counter is full: then the thread is being woken already.
        let _ = rustix::io::write(&*self.0, &1_u64.to_ne_bytes());
    }

    /// Waits until woken, up to the timeout, for threads that wait for nothing else.
    pub(crate) fn wait(&self, timeout: Nanos) {
        let mut files = [PollFd::new(self.file(), PollFlags::IN)];
        // A caller that wakes early checks its state and waits again.
        let _ = poll(&mut files, Some(&clock::timespec(timeout)));
        self.reset();
    }

    /// Called by the thread once it is awake.
    fn reset(&self) {
        let _ = rustix::io::read(&*self.0, &mut [0_u8; 8]);
    }

    fn file(&self) -> &OwnedFd {
        &self.0
    }
}

/// Checks that `io_uring` can be used here; the error says why not.
pub(crate) fn probe_uring() -> Result<(), String> {
    let waker = Waker::new().map_err(|error| error.to_string())?;
    Uring::new(1, 1, &waker).map(drop).map_err(|error| match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => {
            "io_uring is forbidden here (kernel.io_uring_disabled, or a container's seccomp profile)".into()
        }
        Some(libc::ENOSYS) => "this kernel has no io_uring".into(),
        Some(libc::EINVAL) => "this kernel's io_uring is too old (6.1 is needed)".into(),
        _ => format!("io_uring cannot be set up: {error}"),
    })
}
