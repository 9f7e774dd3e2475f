//! epoll: level-triggered readiness, and a system call for each send and receive.
//!
//! Before kernel 5.11, epoll waits in whole milliseconds, which would make an open loop's arrival
//! late by half a millisecond on average. So the last part of a wait uses poll, whose timeout has
//! nanoseconds.

use super::{Io, Ready, Received, Sending, Waker};
use crate::clock;
use crate::link::Link;
use dbdyno_model::Nanos;
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use std::io;

/// Maximum number of events per wait.
const EVENTS_AT_ONCE: usize = 64;
/// The unit of epoll's timeout.
const MILLISECOND: Nanos = Nanos::from_millis(1);
/// The part of a wait that uses poll. The kernel may end a wait late by a thousandth of its length,
/// which is less than this.
const END_OF_WAIT: Nanos = Nanos::from_millis(2);
/// Stands for the waker among the slots.
const WAKER: u64 = u64::MAX;

/// epoll for the links of one thread.
pub(crate) struct Epoll {
    set: OwnedFd,
    waker: Waker,
    events: Vec<Event>,
    /// By slot: whether it waits to send more.
    blocked: Vec<bool>,
}

impl Epoll {
    fn interest(&mut self, slot: usize, link: &Link, blocked: bool) -> io::Result<()> {
        self.blocked[slot] = blocked;
        let wanted = if blocked { EventFlags::IN | EventFlags::OUT } else { EventFlags::IN };
        Ok(epoll::modify(&self.set, &link.socket, EventData::new_u64(slot as u64), wanted)?)
    }

    /// How long epoll is to wait. For a long wait this is all but its last part, and the caller
    /// waits again; the last part is waited for here, until there is an event.
    fn wait_of_epoll(&self, timeout: Nanos) -> io::Result<Nanos> {
        if timeout >= END_OF_WAIT {
            let early = timeout - MILLISECOND;
            return Ok(Nanos(early.0 - early.0 % MILLISECOND.0));
        }
        let mut set = [PollFd::new(&self.set, PollFlags::IN)];
        if timeout > Nanos::ZERO {
            match poll(&mut set, Some(&clock::timespec(timeout))) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(Nanos::ZERO)
    }
}

impl Io for Epoll {
    fn new(slots: usize, _: usize, waker: &Waker) -> io::Result<Self> {
        let set = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(&set, waker.file(), EventData::new_u64(WAKER), EventFlags::IN)?;
        let events = Vec::with_capacity(EVENTS_AT_ONCE);
        Ok(Self { set, waker: waker.clone(), events, blocked: vec![false; slots] })
    }

    fn watch_dial(&mut self, slot: usize, link: &Link) -> io::Result<()> {
        Ok(epoll::add(&self.set, &link.socket, EventData::new_u64(slot as u64), EventFlags::OUT)?)
    }

    fn open(&mut self, slot: usize, link: &mut Link) -> io::Result<()> {
        self.blocked[slot] = false;
        let data = EventData::new_u64(slot as u64);
        match epoll::add(&self.set, &link.socket, data, EventFlags::IN) {
            Err(Errno::EXIST) => self.interest(slot, link, false),
            other => Ok(other?),
        }
    }

    #[inline]
    fn flush(&mut self, slot: usize, link: &mut Link) -> io::Result<()> {
        let blocked = !link.send_now()?;
        if blocked == self.blocked[slot] { Ok(()) } else { self.interest(slot, link, blocked) }
    }

    fn sending(&self, slot: usize, _: &Link) -> Sending {
        if self.blocked[slot] { Sending::Blocked } else { Sending::Done }
    }

    #[inline]
    fn receive(&mut self, _: usize, link: &mut Link) -> io::Result<Received> {
        let (socket, space) = link.socket_and_space();
        match recv(socket, space, RecvFlags::empty()) {
            Ok((0, _)) => Ok(Received::End),
            Ok((count, _)) => Ok(Received::Bytes { count, more: false }),
            Err(Errno::AGAIN | Errno::INTR) => Ok(Received::Nothing),
            Err(errno) => Err(errno.into()),
        }
    }

    fn release(&mut self, _: usize) -> bool {
        true
    }

    fn detach(&mut self, slot: usize, link: &Link) -> io::Result<bool> {
        if self.blocked[slot] {
            return Ok(false);
        }
        epoll::delete(&self.set, &link.socket)?;
        Ok(true)
    }

    fn retire(&mut self, _: usize, link: Box<Link>) -> bool {
        drop(link); // closing the socket removes it from the set
        true
    }

    fn wait(&mut self, timeout: Nanos, ready: &mut Vec<Ready>) -> io::Result<()> {
        self.events.clear();
        let timeout = self.wait_of_epoll(timeout)?;
        match epoll::wait(
            &self.set,
            spare_capacity(&mut self.events),
            Some(&clock::timespec(timeout)),
        ) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        for event in &self.events {
            let (data, flags) = (event.data.u64(), event.flags);
            if data == WAKER {
                self.waker.reset();
                ready.push(Ready::Woken);
                continue;
            }
            let slot = data as usize;
            if flags.contains(EventFlags::OUT) {
                ready.push(Ready::Writable(slot));
            }
            if flags.intersects(EventFlags::IN | EventFlags::HUP | EventFlags::ERR) {
                ready.push(Ready::Readable(slot));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Epoll, Io, MILLISECOND, Waker};
    use crate::clock;
    use dbdyno_model::Nanos;

    #[test]
    fn a_wait_may_be_shorter_than_a_millisecond() {
        let waker = Waker::new().unwrap();
        let mut epoll = Epoll::new(1, 1, &waker).unwrap();
        let mut wait = || {
            let (begin, mut ready) = (clock::now(), Vec::new());
            epoll.wait(Nanos::from_micros(100), &mut ready).unwrap();
            assert!(ready.is_empty());
            clock::now() - begin
        };
        // A busy machine makes many waits longer, but hardly all.
        let shortest = (0..1000).map(|_| wait()).min().unwrap();
        assert!(shortest >= Nanos::from_micros(100) && shortest < MILLISECOND, "{shortest:?}");
    }
}
