//! `io_uring`: one ring a thread; each link has one standing order to receive.
//!
//! The kernel fills buffers of the ring itself as bytes arrive, so it never holds memory of a
//! link: a link can go at any time. Sends are plain system calls. They are done at once, so
//! that the server has something to do while we go on, and at the end of a round one call
//! collects everything that has arrived meanwhile.

use super::buffers::{Buffers, GROUP};
use super::{Alarm, Io, Ready, Received};
use crate::clock;
use crate::link::Link;
use dbdyno_model::Nanos;
use io_uring::types::{Fd, Fixed, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, opcode, squeue};
use rustix::fd::AsRawFd;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::net::{Shutdown, shutdown};
use std::collections::VecDeque;
use std::io;

/// Room for submissions.
const ENTRIES: u32 = 256;

const RECEIVE: u64 = 0;
/// The socket is to become writable.
const WRITABLE: u64 = 1;
const ALARM: u64 = 2;
const OPERATION_BITS: u64 = 2;

/// Bytes that have arrived for a link.
#[derive(Clone, Copy, Debug)]
struct Chunk {
    buffer: u16,
    taken: usize,
    count: usize,
}

/// What the kernel is doing for a slot.
#[derive(Debug, Default)]
struct Slot {
    /// Orders that will be completed once more.
    under_way: u32,
    receiving: bool,
    chunks: VecDeque<Chunk>,
    /// How the connection ended: 0, or an error.
    ended: Option<i32>,
    /// The link is gone, and the slot waits for its last completion.
    retired: bool,
}

/// A ring over the links of one thread. The ring goes before the buffers it knows.
pub(crate) struct Uring {
    ring: IoUring,
    buffers: Buffers,
    alarm: Alarm,
    slots: Vec<Slot>,
}

impl Uring {
    fn push(&mut self, entry: &squeue::Entry) -> io::Result<()> {
        // SAFETY: no entry of ours points to memory; buffers are registered with the ring.
        while unsafe { self.ring.submission().push(entry) }.is_err() {
            self.ring.submit()?;
        }
        Ok(())
    }

    fn watch_alarm(&mut self) -> io::Result<()> {
        let file = Fd(self.alarm.file().as_raw_fd());
        self.push(&opcode::PollAdd::new(file, libc::POLLIN as u32).build().user_data(ALARM))
    }

    fn watch_writable(&mut self, slot: usize, link: &Link) -> io::Result<()> {
        self.slots[slot].under_way += 1;
        let socket = Fd(link.socket.as_raw_fd());
        let entry = opcode::PollAdd::new(socket, libc::POLLOUT as u32).build();
        self.push(&entry.user_data(user_data(slot, WRITABLE)))
    }

    fn order_receives(&mut self, slot: usize) -> io::Result<()> {
        let state = &mut self.slots[slot];
        state.receiving = true;
        state.under_way += 1;
        let entry = opcode::RecvMulti::new(Fixed(slot as u32), GROUP).build();
        self.push(&entry.user_data(user_data(slot, RECEIVE)))
    }

    fn completed(&mut self, entry: &cqueue::Entry, ready: &mut Vec<Ready>) {
        let slot = (entry.user_data() >> OPERATION_BITS) as usize;
        let state = &mut self.slots[slot];
        let is_last = !cqueue::more(entry.flags());
        state.under_way -= u32::from(is_last);
        let buffer = cqueue::buffer_select(entry.flags());
        if state.retired {
            if let Some(buffer) = buffer {
                self.buffers.give(buffer);
            }
            if state.under_way == 0 {
                *state = Slot::default();
                ready.push(Ready::Freed(slot));
            }
        } else if entry.user_data() & ((1 << OPERATION_BITS) - 1) == RECEIVE {
            ready.push(state.received(slot, entry.result(), buffer, is_last));
        } else {
            ready.push(Ready::Writable(slot));
        }
    }
}

impl Slot {
    fn received(&mut self, slot: usize, result: i32, buffer: Option<u16>, is_last: bool) -> Ready {
        self.receiving = !is_last;
        match buffer {
            Some(buffer) => {
                self.chunks.push_back(Chunk { buffer, taken: 0, count: result.max(0) as usize });
                Ready::Readable(slot)
            }
            // All buffers were in use: the order is given anew with the next flush.
            None if result == -libc::ENOBUFS => Ready::Writable(slot),
            None => {
                self.ended = Some(result);
                Ready::Readable(slot)
            }
        }
    }
}

fn user_data(slot: usize, operation: u64) -> u64 {
    (slot as u64) << OPERATION_BITS | operation
}

impl Io for Uring {
    fn new(slots: usize, alarm: &Alarm) -> io::Result<Self> {
        let ring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_coop_taskrun()
            .build(ENTRIES)?;
        ring.submitter().register_files_sparse(slots as u32)?;
        let buffers = Buffers::register(&ring)?;
        let slots = std::iter::repeat_with(Slot::default).take(slots).collect();
        let mut uring = Self { ring, buffers, alarm: alarm.clone(), slots };
        uring.watch_alarm()?;
        Ok(uring)
    }

    fn watch_dial(&mut self, slot: usize, link: &Link) -> io::Result<()> {
        self.watch_writable(slot, link)
    }

    fn open(&mut self, slot: usize, link: &mut Link) -> io::Result<()> {
        // On a non-blocking socket the kernel would answer at once instead of waiting.
        let flags = fcntl_getfl(&link.socket)?;
        fcntl_setfl(&link.socket, flags - OFlags::NONBLOCK)?;
        self.ring.submitter().register_files_update(slot as u32, &[link.socket.as_raw_fd()])?;
        self.order_receives(slot)
    }

    #[inline]
    fn flush(&mut self, slot: usize, link: &mut Link) -> io::Result<()> {
        if !link.send_now()? {
            self.watch_writable(slot, link)?;
        }
        let state = &self.slots[slot];
        if !state.receiving && state.ended.is_none() {
            self.order_receives(slot)?;
        }
        Ok(())
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

    fn retire(&mut self, slot: usize, link: Box<Link>) -> bool {
        // Whatever waits on the socket ends with this.
        let _ = shutdown(&link.socket, Shutdown::Both);
        let _ = self.ring.submitter().register_files_update(slot as u32, &[-1]);
        let state = &mut self.slots[slot];
        for chunk in state.chunks.drain(..) {
            self.buffers.give(chunk.buffer);
        }
        state.retired = state.under_way > 0;
        if !state.retired {
            *state = Slot::default();
        }
        !self.slots[slot].retired
    }

    fn wait(&mut self, timeout: Nanos, ready: &mut Vec<Ready>) -> io::Result<()> {
        let time = clock::timespec(timeout);
        let time = Timespec::new().sec(time.tv_sec as u64).nsec(time.tv_nsec as u32);
        match self.ring.submitter().submit_with_args(1, &SubmitArgs::new().timespec(&time)) {
            Ok(_) => {}
            Err(error)
                if matches!(
                    error.raw_os_error(),
                    Some(libc::ETIME | libc::EINTR | libc::EBUSY)
                ) => {}
            Err(error) => return Err(error),
        }
        while let Some(entry) = { self.ring.completion().next() } {
            if entry.user_data() == ALARM {
                self.alarm.silence();
                ready.push(Ready::Woken);
                self.watch_alarm()?;
            } else {
                self.completed(&entry, ready);
            }
        }
        Ok(())
    }
}
