//! `io_uring`: one ring a thread; each link has one multishot receive.
//!
//! The kernel fills buffers of the ring as bytes arrive, and bytes being sent are moved to the
//! slot, so the kernel never holds memory of a link: a link can be dropped at any time.
//!
//! Sends are submitted by the system call that waits for the next completions. A separate call for
//! each send would wake a server process each time and, on shared cores, be preempted by it on
//! return: half of all sends would cost one more context switch. A send that the socket accepts at
//! once posts no completion, which would otherwise end that very wait.
//!
//! A thread that has slept gets as many completions as it waited for, one, although more may have
//! come by the time it runs: the kernel gives them out in the next call. If that were the call that
//! submits the first one's next request, the server process that it wakes would run first, and the
//! thread would have to wait for a processor once more before it sees the others.
//!
//! The kernel counts a thread that waits in a ring as waiting for a disk. It is asked not to, where
//! it can be (6.15). Elsewhere a run shows up as I/O pressure.

use super::buffers::{Buffers, GROUP};
use super::slot::Slot;
use super::{Io, Ready, Received, Sending, Waker};
use crate::clock;
use crate::link::{Link, is_peer_gone};
use dbdyno_model::Nanos;
use io_uring::types::{CancelBuilder, Fd, Fixed, SubmitArgs, Timespec};
use io_uring::{EnterFlags, IoUring, cqueue, opcode, squeue};
use rustix::fd::AsRawFd;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::net::{Shutdown, shutdown};
use std::io;

/// Submission queue entries.
const ENTRIES: u32 = 256;
/// This many queued sends are submitted before the end of the round, so that the server is not idle
/// until then. A round of hundreds of clients on shared cores has about forty.
const SENDS_AT_ONCE: u32 = 128;

const RECEIVE: u64 = 0;
const SEND: u64 = 1;
const DIAL: u64 = 2;
const WAKER: u64 = 3;
const OPERATION_BITS: u64 = 2;

/// A ring for the links of one thread. It is dropped before the buffers registered with it.
pub(crate) struct Uring {
    ring: IoUring,
    /// The flags of each wait.
    wait: EnterFlags,
    buffers: Buffers,
    waker: Waker,
    slots: Vec<Slot>,
    /// Slots with a send that may still fail.
    sends: Vec<usize>,
    /// Memory of sends that have ended: few are in flight at a time, so that it stays cached.
    sent: Vec<Vec<u8>>,
    sends_waiting: u32,
    /// Whether a link has more to send than is in flight, so that the thread must not sleep.
    more_waiting: bool,
}

impl Uring {
    fn push(&mut self, entry: &squeue::Entry) -> io::Result<()> {
        // SAFETY: the only memory an entry of ours points to is a slot's outbox, whose bytes stay
        // in place until the send has ended; receive buffers are registered with the ring. A full
        // queue must be submitted before there is room, so here a busy kernel is an error.
        while unsafe { self.ring.submission().push(entry) }.is_err() {
            self.ring.submit()?;
        }
        Ok(())
    }

    /// Submits all queued entries and waits for this many completions, up to the timeout in `args`.
    fn enter(&mut self, completions: usize, args: &SubmitArgs<'_, '_>) -> io::Result<usize> {
        let queued = self.ring.submission().len() as u32;
        let flags = self.wait.bits();
        // SAFETY: the flags say that `args` are extended arguments, which live until the call ends.
        unsafe { self.ring.submitter().enter(queued, completions as u32, flags, Some(args)) }
    }

    fn watch_waker(&mut self) -> io::Result<()> {
        let file = Fd(self.waker.file().as_raw_fd());
        self.push(&opcode::PollAdd::new(file, libc::POLLIN as u32).build().user_data(WAKER))
    }

    /// Queues a send of the slot's outbox: without waiting and without a completion, or as soon as
    /// the socket accepts it.
    fn queue_send(&mut self, slot: usize, at_once: bool) -> io::Result<()> {
        let state = &mut self.slots[slot];
        state.in_flight += 1;
        state.outbox.at_once = at_once;
        let (bytes, count) = (state.outbox.bytes.as_ptr(), state.outbox.bytes.len() as u32);
        let wait_flags = if at_once { libc::MSG_DONTWAIT } else { 0 };
        let mut entry = opcode::Send::new(Fixed(slot as u32), bytes, count)
            .flags(libc::MSG_NOSIGNAL | libc::MSG_WAITALL | wait_flags)
            .build();
        if at_once {
            entry = entry.flags(squeue::Flags::SKIP_SUCCESS);
            self.sends.push(slot);
        }
        self.sends_waiting += 1;
        self.push(&entry.user_data(user_data(slot, SEND)))
    }

    fn queue_receive(&mut self, slot: usize) -> io::Result<()> {
        let state = &mut self.slots[slot];
        state.receiving = true;
        state.in_flight += 1;
        let entry = opcode::RecvMulti::new(Fixed(slot as u32), GROUP).build();
        self.push(&entry.user_data(user_data(slot, RECEIVE)))
    }

    fn completed(&mut self, entry: &cqueue::Entry, ready: &mut Vec<Ready>) -> io::Result<()> {
        let slot = (entry.user_data() >> OPERATION_BITS) as usize;
        let state = &mut self.slots[slot];
        let operation = entry.user_data() & ((1 << OPERATION_BITS) - 1);
        let is_last = !cqueue::more(entry.flags());
        state.in_flight -= u32::from(is_last);
        state.outbox.at_once &= operation != SEND;
        let buffer = cqueue::buffer_select(entry.flags());
        if state.retired {
            self.completed_after_retire(slot, buffer, ready);
            return Ok(());
        }
        match operation {
            RECEIVE => ready.push(state.received(slot, entry.result(), buffer, is_last)),
            SEND => return self.sent(slot, entry.result(), ready),
            _ => ready.push(Ready::Writable(slot)),
        }
        Ok(())
    }

    /// A completion for a link that is gone.
    fn completed_after_retire(&mut self, slot: usize, buffer: Option<u16>, ready: &mut Vec<Ready>) {
        if let Some(buffer) = buffer {
            self.buffers.give(buffer);
        }
        if self.slots[slot].in_flight == 0 {
            self.slots[slot] = Slot::default();
            ready.push(Ready::Freed(slot));
        }
    }

    /// The sends without a completion have succeeded.
    fn sent_at_once(&mut self, ready: &mut Vec<Ready>) {
        let queue = self.ring.submission();
        let failures_may_come = !queue.is_empty() || queue.cq_overflow();
        drop(queue);
        if failures_may_come {
            return;
        }
        self.more_waiting = false;
        let mut sends = std::mem::take(&mut self.sends);
        for slot in sends.drain(..) {
            let state = &mut self.slots[slot];
            if !std::mem::take(&mut state.outbox.at_once) {
                continue; // it has failed, and that was handled
            }
            state.in_flight -= 1;
            if state.retired {
                self.completed_after_retire(slot, None, ready);
                continue;
            }
            state.outbox.bytes.clear();
            self.sent.push(std::mem::take(&mut state.outbox.bytes));
            if std::mem::take(&mut state.outbox.more) {
                ready.push(Ready::Writable(slot));
            }
        }
        self.sends = sends;
    }

    /// A send has completed: in full, or partly, in which case the rest goes before anything else.
    /// That the peer has closed is no error of the send: its last bytes are still to be received.
    fn sent(&mut self, slot: usize, result: i32, ready: &mut Vec<Ready>) -> io::Result<()> {
        let state = &mut self.slots[slot];
        match result {
            count @ 0.. => drop(state.outbox.bytes.drain(..count as usize)),
            // The socket's buffer was full: all of it is sent as soon as there is room.
            _ if result == -libc::EAGAIN => {}
            _ if is_peer_gone(Errno::from_raw_os_error(-result)) => state.outbox.bytes.clear(),
            _ => {
                state.ended = Some(result);
                ready.push(Ready::Readable(slot));
                return Ok(());
            }
        }
        if !state.outbox.bytes.is_empty() {
            return self.queue_send(slot, false);
        }
        if std::mem::take(&mut state.outbox.more) {
            ready.push(Ready::Writable(slot));
        }
        Ok(())
    }
}

fn user_data(slot: usize, operation: u64) -> u64 {
    (slot as u64) << OPERATION_BITS | operation
}

/// Asks not to be counted as waiting for a disk, if the kernel can tell the two apart.
fn wait_flags(ring: &IoUring) -> EnterFlags {
    let mut flags = EnterFlags::GETEVENTS | EnterFlags::EXT_ARG;
    flags.set(EnterFlags::NO_IOWAIT, ring.params().is_feature_no_iowait());
    flags
}

/// Entries that the kernel did not take stay queued for the next wait: it takes none while
/// overflowed completions are pending, or when the wait itself was interrupted.
fn taken_or_waiting(submitted: io::Result<usize>) -> io::Result<()> {
    match submitted {
        Err(error) if !is_transient(&error) => Err(error),
        _ => Ok(()),
    }
}

fn is_transient(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ETIME | libc::EINTR | libc::EBUSY))
}

impl Io for Uring {
    fn new(slots: usize, usual: usize, waker: &Waker) -> io::Result<Self> {
        let ring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_coop_taskrun()
            .build(ENTRIES)?;
        ring.submitter().register_files_sparse(slots as u32)?;
        let buffers = Buffers::register(&ring, usual)?;
        let slots = std::iter::repeat_with(Slot::default).take(slots).collect();
        let mut uring = Self {
            wait: wait_flags(&ring),
            ring,
            buffers,
            waker: waker.clone(),
            slots,
            sends: Vec::new(),
            sent: Vec::new(),
            sends_waiting: 0,
            more_waiting: false,
        };
        uring.watch_waker()?;
        Ok(uring)
    }

    fn watch_dial(&mut self, slot: usize, link: &Link) -> io::Result<()> {
        self.slots[slot].in_flight += 1;
        let socket = Fd(link.socket.as_raw_fd());
        let entry = opcode::PollAdd::new(socket, libc::POLLOUT as u32).build();
        self.push(&entry.user_data(user_data(slot, DIAL)))
    }

    fn open(&mut self, slot: usize, link: &mut Link) -> io::Result<()> {
        // On a non-blocking socket the receive would complete at once instead of waiting.
        let flags = fcntl_getfl(&link.socket)?;
        fcntl_setfl(&link.socket, flags - OFlags::NONBLOCK)?;
        self.ring.submitter().register_files_update(slot as u32, &[link.socket.as_raw_fd()])?;
        self.queue_receive(slot)
    }

    #[inline]
    fn flush(&mut self, slot: usize, link: &mut Link) -> io::Result<()> {
        let outbox = &mut self.slots[slot].outbox;
        let busy = !outbox.bytes.is_empty();
        outbox.more = busy && !link.out.is_empty();
        self.more_waiting |= outbox.more && outbox.at_once;
        if !busy && !link.out.is_empty() {
            let empty = self.sent.pop().unwrap_or_default();
            outbox.bytes = std::mem::replace(&mut link.out, empty);
            self.queue_send(slot, true)?;
        }
        let state = &self.slots[slot];
        if !state.receiving && state.ended.is_none() {
            self.queue_receive(slot)?;
        }
        if self.sends_waiting >= SENDS_AT_ONCE {
            self.sends_waiting = 0;
            taken_or_waiting(self.ring.submit())?;
        }
        Ok(())
    }

    fn sending(&self, slot: usize, link: &Link) -> Sending {
        let outbox = &self.slots[slot].outbox;
        match outbox.bytes.is_empty() {
            true if link.out.is_empty() => Sending::Done,
            false if !outbox.at_once => Sending::Blocked,
            _ => Sending::Soon,
        }
    }

    #[inline]
    fn receive(&mut self, slot: usize, link: &mut Link) -> io::Result<Received> {
        let state = &mut self.slots[slot];
        let Some(chunk) = state.chunks.front_mut() else {
            return match state.ended {
                None => Ok(Received::Nothing),
                Some(result) if result >= 0 => Ok(Received::End),
                Some(errno) => Err(io::Error::from_raw_os_error(-errno)),
            };
        };
        let bytes = &self.buffers.bytes(chunk.buffer, chunk.count)[chunk.taken..];
        let (_, space) = link.socket_and_space();
        let count = bytes.len().min(space.len());
        space[..count].copy_from_slice(&bytes[..count]);
        chunk.taken += count;
        if chunk.taken == chunk.count {
            let buffer = chunk.buffer;
            state.chunks.pop_front();
            self.buffers.give(buffer);
        }
        Ok(Received::Bytes { count, more: !state.chunks.is_empty() })
    }

    fn release(&mut self, slot: usize) -> bool {
        let receive = CancelBuilder::user_data(user_data(slot, RECEIVE));
        // It is refused where the receive has ended by itself, or is yet to be submitted.
        self.ring.submitter().register_sync_cancel(None, receive).is_err()
    }

    fn detach(&mut self, slot: usize, _: &Link) -> io::Result<bool> {
        let is_clear = self.slots[slot].is_clear();
        if is_clear {
            self.slots[slot] = Slot::default();
            self.ring.submitter().register_files_update(slot as u32, &[-1])?;
        }
        Ok(is_clear)
    }

    fn retire(&mut self, slot: usize, link: Box<Link>) -> bool {
        // This completes every operation that waits on the socket.
        let _ = shutdown(&link.socket, Shutdown::Both);
        let _ = self.ring.submitter().register_files_update(slot as u32, &[-1]);
        let state = &mut self.slots[slot];
        while let Some(chunk) = state.chunks.pop_front() {
            self.buffers.give(chunk.buffer);
        }
        state.retired = state.in_flight > 0;
        if !state.retired {
            *state = Slot::default();
        }
        !self.slots[slot].retired
    }

    fn wait(&mut self, timeout: Nanos, ready: &mut Vec<Ready>) -> io::Result<()> {
        let time = clock::timespec(timeout);
        let time = Timespec::new().sec(time.tv_sec as u64).nsec(time.tv_nsec as u32);
        let args = SubmitArgs::new().timespec(&time);
        let completions = usize::from(!self.more_waiting);
        self.sends_waiting = 0;
        taken_or_waiting(self.enter(completions, &args))?;
        if self.ring.completion().len() == 1 {
            taken_or_waiting(self.enter(0, &args))?;
        }
        while let Some(entry) = { self.ring.completion().next() } {
            if entry.user_data() == WAKER {
                self.waker.reset();
                ready.push(Ready::Woken);
                self.watch_waker()?;
            } else {
                self.completed(&entry, ready)?;
            }
        }
        self.sent_at_once(ready);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::taken_or_waiting;
    use std::io;

    #[test]
    fn a_kernel_that_is_busy_ends_no_link_and_one_that_refuses_does() {
        let outcome = |errno| taken_or_waiting(Err(io::Error::from_raw_os_error(errno)));
        for transient in [libc::EBUSY, libc::EINTR, libc::ETIME] {
            assert!(outcome(transient).is_ok());
        }
        assert_eq!(outcome(libc::EBADF).unwrap_err().raw_os_error(), Some(libc::EBADF));
        assert!(taken_or_waiting(Ok(1)).is_ok());
    }
}
