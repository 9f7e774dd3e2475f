//! The loop itself: a thread's sessions in one `io_uring`.

use crate::Failure;
use crate::exchange::End;
use crate::session::{ANSWER_BYTES, Protocol, Session};
use crate::template::Chance;
use io_uring::types::{Fixed, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode, squeue};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

const SENT: u64 = u64::MAX;

/// What the clients of a thread did.
#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) transactions: u64,
    pub(crate) failed: u64,
}

struct Client<'a> {
    session: &'a Session,
    protocol: Protocol,
    chance: Chance,
    out: Vec<u8>,
    answer: Vec<u8>,
    received: usize,
    /// The statement in flight; the last one is the rollback.
    at: usize,
}

/// Runs the sessions until the time is over.
pub(crate) fn run(
    sessions: &mut [Session],
    protocol: Protocol,
    time: Duration,
    seed: u64,
) -> Result<Counts, Failure> {
    let mut ring = IoUring::builder()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .setup_coop_taskrun()
        .build((2 * sessions.len().max(1)).next_power_of_two() as u32)?;
    let files: Vec<_> = sessions.iter().map(|session| session.socket.as_raw_fd()).collect();
    ring.submitter().register_files(&files)?;
    let clients = (1..).zip(sessions).map(|(number, session)| Client {
        session,
        protocol,
        chance: Chance::new(seed << 32 | number),
        out: Vec::new(),
        answer: vec![0; ANSWER_BYTES],
        received: 0,
        at: 0,
    });
    let mut clients: Vec<_> = clients.collect();
    for (number, client) in clients.iter_mut().enumerate() {
        client.send(&mut ring, number)?;
    }
    let patience = Timespec::from(Duration::from_millis(100));
    let (begin, mut counts, mut failure) = (Instant::now(), Counts::default(), None);
    while begin.elapsed() < time {
        let waited = ring.submitter().submit_with_args(1, &SubmitArgs::new().timespec(&patience));
        // A wait is also interrupted where the bench stops the process for another tool's turn.
        if let Err(error) = waited
            && !matches!(error.raw_os_error(), Some(libc::ETIME | libc::EINTR))
        {
            return Err(error.into());
        }
        let ended: Vec<_> =
            ring.completion().map(|entry| (entry.user_data(), entry.result())).collect();
        for (number, count) in ended {
            let client = clients.get_mut(number as usize).ok_or("a send failed")?;
            if count == 0 {
                return Err("the server closed a connection".into());
            }
            client.received += usize::try_from(count)?;
            match protocol.end(&client.answer[..client.received]) {
                None => {
                    client.receive(&mut ring, number as usize)?;
                    continue;
                }
                Some(End::Done) => client.advance(&mut counts),
                Some(End::Failed) => {
                    failure = Some(client.failed(&mut counts));
                }
            }
            client.send(&mut ring, number as usize)?;
        }
    }
    failure.filter(|_| counts.transactions == 0).map_or(Ok(counts), |text| Err(text.into()))
}

impl Client<'_> {
    fn rollback(&self) -> usize {
        self.session.statements.len() - 1
    }

    fn advance(&mut self, counts: &mut Counts) {
        let was_rollback = self.at == self.rollback();
        self.at += 1;
        if self.at >= self.rollback() {
            counts.transactions += u64::from(!was_rollback);
            self.at = 0;
        }
    }

    /// Rolls back; returns the server's answer.
    fn failed(&mut self, counts: &mut Counts) -> String {
        counts.failed += 1;
        self.at = self.rollback();
        String::from_utf8_lossy(&self.answer[..self.received]).into_owned()
    }

    /// Queues the statement with newly drawn numbers, and the receive of its answer.
    fn send(&mut self, ring: &mut IoUring, number: usize) -> Result<(), Failure> {
        let statement = &self.session.statements[self.at];
        self.out.clear();
        self.out.extend(&statement.bytes);
        for (at, draw) in &statement.draws {
            self.protocol.put(&mut self.out[*at..], self.chance.draw(draw));
        }
        self.received = 0;
        let send =
            opcode::Send::new(Fixed(number as u32), self.out.as_ptr(), self.out.len() as u32)
                .flags(libc::MSG_NOSIGNAL)
                .build()
                .flags(squeue::Flags::IO_LINK | squeue::Flags::SKIP_SUCCESS)
                .user_data(SENT);
        // SAFETY: the buffer belongs to the client, which lives longer than the ring, and is not
        // touched before the receive that follows has completed.
        unsafe { ring.submission().push(&send)? };
        self.receive(ring, number)
    }

    /// Queues the receive of the rest of an answer.
    fn receive(&mut self, ring: &mut IoUring, number: usize) -> Result<(), Failure> {
        let space = &mut self.answer[self.received..];
        if space.is_empty() {
            return Err("an answer is too long".into());
        }
        let file = Fixed(number as u32);
        let receive = opcode::Recv::new(file, space.as_mut_ptr(), space.len() as u32)
            .build()
            .user_data(number as u64);
        // SAFETY: as above.
        unsafe { ring.submission().push(&receive)? };
        Ok(())
    }
}
