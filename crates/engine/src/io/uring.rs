//! `io_uring`: one ring a thread; a send and the receive of its answer are submitted together.
//!
//! The kernel reads and writes memory of a link while an operation is under way. Therefore
//! what is being sent is moved to the slot, where nobody touches it; the link's space is not
//! asked for anew before the receive into it has ended; and a retired link lives on here until
//! the kernel has let go of it.

use super::{Alarm, Io, Ready, is_peer_gone};
use crate::clock;
use crate::link::Link;
use dbdyno_model::Nanos;
use io_uring::types::{Fd, Fixed, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode, squeue};
use rustix::fd::AsRawFd;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::net::{Shutdown, shutdown};
use std::io;

/// Room for submissions.
const ENTRIES: u32 = 256;
/// Sends are handed to the kernel after so many, so that the server is not kept waiting while
/// a long row of completions is worked off.
const SENDS_AT_ONCE: u32 = 4;

const RECEIVE: u64 = 0;
const SEND: u64 = 1;
const DIAL: u64 = 2;
const ALARM: u64 = 3;
const OPERATION_BITS: u64 = 2;

/// What the kernel is doing for a slot.
#[derive(Debug, Default)]
struct Slot {
    under_way: u32,
    receiving: bool,
    /// What is being sent; empty when nothing is.
    sending: Vec<u8>,
    /// Whether more waits in the link's `out` meanwhile.
    more: bool,
    /// The outcome of the last receive, as the kernel told it, until it is taken.
    received: Option<i32>,
    failed: Option<i32>,
    /// The closed link whose memory the kernel still uses.
    retired: Option<Box<Link>>,
}

/// A ring over the links of one thread.
pub(crate) struct Uring {
    ring: IoUring,
    alarm: Alarm,
    slots: Vec<Slot>,
    sends_waiting: u32,
}

impl Uring {
    fn push(&mut self, entry: &squeue::Entry) -> io::Result<()> {
        // SAFETY: the memory an entry points to stays in place until its completion, see above.
        while unsafe { self.ring.submission().push(entry) }.is_err() {
            self.ring.submit()?;
        }
        Ok(())
    }

    fn watch_alarm(&mut self) -> io::Result<()> {
        let file = Fd(self.alarm.file().as_raw_fd());
        self.push(&opcode::PollAdd::new(file, libc::POLLIN as u32).build().user_data(ALARM))
    }

    fn push_send(&mut self, slot: usize, link: &mut Link) -> io::Result<()> {
        let state = &mut self.slots[slot];
        std::mem::swap(&mut state.sending, &mut link.out);
        let mut entry = send_entry(slot, &state.sending);
        // Linked only when its receive follows: else it would bind a stranger's operation.
        if state.may_receive() {
            entry = entry.flags(squeue::Flags::IO_LINK);
        }
        state.under_way += 1;
        self.push(&entry)?;
        self.sends_waiting += 1;
        Ok(())
    }

    fn push_receive(&mut self, slot: usize, link: &mut Link) -> io::Result<()> {
        let (_, space) = link.socket_and_space();
        let entry = opcode::Recv::new(Fixed(slot as u32), space.as_mut_ptr(), space.len() as u32)
            .build()
            .user_data(user_data(slot, RECEIVE));
        let state = &mut self.slots[slot];
        state.receiving = true;
        state.under_way += 1;
        self.push(&entry)
    }

    fn completed(&mut self, data: u64, result: i32, ready: &mut Vec<Ready>) -> io::Result<()> {
        let slot = (data >> OPERATION_BITS) as usize;
        let state = &mut self.slots[slot];
        state.under_way -= 1;
        if state.retired.is_some() {
            if state.under_way == 0 {
                *state = Slot::default();
                ready.push(Ready::Freed(slot));
            }
            return Ok(());
        }
        match data & ((1 << OPERATION_BITS) - 1) {
            RECEIVE => ready.push(state.receive_ended(slot, result)),
            SEND => {
                ready.extend(state.send_ended(slot, result));
                if result >= 0 && !self.slots[slot].sending.is_empty() {
                    return self.push_rest(slot);
                }
            }
            _ => ready.push(Ready::Writable(slot)),
        }
        Ok(())
    }

    /// A send came up short: the rest of it, before anything else of this link.
    fn push_rest(&mut self, slot: usize) -> io::Result<()> {
        self.slots[slot].under_way += 1;
        let entry = send_entry(slot, &self.slots[slot].sending);
        self.push(&entry)
    }
}

impl Slot {
    /// Whether the link's space is free to be received into.
    fn may_receive(&self) -> bool {
        !self.receiving && self.received.is_none()
    }

    fn receive_ended(&mut self, slot: usize, result: i32) -> Ready {
        self.receiving = false;
        // The send it was linked to came up short: it is submitted again with the next flush.
        if result == -libc::ECANCELED {
            return Ready::Writable(slot);
        }
        self.received = Some(result);
        Ready::Readable(slot)
    }

    fn send_ended(&mut self, slot: usize, result: i32) -> Option<Ready> {
        if result < 0 {
            return self.send_failed(slot, -result);
        }
        self.sending.drain(..result as usize);
        (self.sending.is_empty() && std::mem::take(&mut self.more)).then_some(Ready::Writable(slot))
    }

    fn send_failed(&mut self, slot: usize, errno: i32) -> Option<Ready> {
        if is_peer_gone(errno) {
            self.sending.clear();
            return None;
        }
        self.failed = Some(errno);
        Some(Ready::Readable(slot))
    }
}

fn user_data(slot: usize, operation: u64) -> u64 {
    (slot as u64) << OPERATION_BITS | operation
}

fn send_entry(slot: usize, bytes: &[u8]) -> squeue::Entry {
    opcode::Send::new(Fixed(slot as u32), bytes.as_ptr(), bytes.len() as u32)
        .flags(libc::MSG_NOSIGNAL | libc::MSG_WAITALL)
        .build()
        .user_data(user_data(slot, SEND))
}

impl Io for Uring {
    fn new(slots: usize, alarm: &Alarm) -> io::Result<Self> {
        let ring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_coop_taskrun()
            .build(ENTRIES)?;
        ring.submitter().register_files_sparse(slots as u32)?;
        let slots = std::iter::repeat_with(Slot::default).take(slots).collect();
        let mut uring = Self { ring, alarm: alarm.clone(), slots, sends_waiting: 0 };
        uring.watch_alarm()?;
        Ok(uring)
    }

    fn watch_dial(&mut self, slot: usize, link: &Link) -> io::Result<()> {
        let socket = Fd(link.socket.as_raw_fd());
        self.slots[slot].under_way += 1;
        let entry = opcode::PollAdd::new(socket, libc::POLLOUT as u32).build();
        self.push(&entry.user_data(user_data(slot, DIAL)))
    }

    fn open(&mut self, slot: usize, link: &mut Link) -> io::Result<()> {
        // On a non-blocking socket the kernel would answer at once instead of waiting.
        let flags = fcntl_getfl(&link.socket)?;
        fcntl_setfl(&link.socket, flags - OFlags::NONBLOCK)?;
        self.ring.submitter().register_files_update(slot as u32, &[link.socket.as_raw_fd()])?;
        self.push_receive(slot, link)
    }

    #[inline]
    fn flush(&mut self, slot: usize, link: &mut Link) -> io::Result<()> {
        let idle = self.slots[slot].sending.is_empty();
        if idle && !link.out.is_empty() {
            self.push_send(slot, link)?;
        }
        self.slots[slot].more = !link.out.is_empty();
        if self.slots[slot].may_receive() {
            self.push_receive(slot, link)?;
        }
        if self.sends_waiting >= SENDS_AT_ONCE {
            self.sends_waiting = 0;
            self.ring.submit()?;
        }
        Ok(())
    }

    #[inline]
    fn receive(&mut self, slot: usize, _: &mut Link) -> io::Result<Option<usize>> {
        let state = &mut self.slots[slot];
        if let Some(errno) = state.failed.take() {
            return Err(io::Error::from_raw_os_error(errno));
        }
        match state.received.take() {
            None => Ok(None),
            Some(count) if count >= 0 => Ok(Some(count as usize)),
            Some(errno) => Err(io::Error::from_raw_os_error(-errno)),
        }
    }

    fn retire(&mut self, slot: usize, link: Box<Link>) -> bool {
        // Whatever waits on the socket ends with this.
        let _ = shutdown(&link.socket, Shutdown::Both);
        let _ = self.ring.submitter().register_files_update(slot as u32, &[-1]);
        let state = &mut self.slots[slot];
        if state.under_way == 0 {
            *state = Slot::default();
            return true;
        }
        state.retired = Some(link);
        false
    }

    fn wait(&mut self, timeout: Nanos, ready: &mut Vec<Ready>) -> io::Result<()> {
        let time = clock::timespec(timeout);
        let time = Timespec::new().sec(time.tv_sec as u64).nsec(time.tv_nsec as u32);
        self.sends_waiting = 0;
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
                self.completed(entry.user_data(), entry.result(), ready)?;
            }
        }
        Ok(())
    }
}

/// The memory of retired links must outlive what the kernel does with it.
impl Drop for Uring {
    fn drop(&mut self) {
        let mut ready = Vec::new();
        while self.slots.iter().any(|slot| slot.retired.is_some()) {
            if self.wait(Nanos::from_millis(100), &mut ready).is_err() {
                // Rather leak than let the kernel write into memory that is used again.
                self.slots.drain(..).for_each(std::mem::forget);
            }
        }
    }
}
