//! The state of a slot in a ring: operations in flight, bytes received, bytes being sent.

use super::Ready;
use dbdyno_model::Queue;

/// Bytes that have arrived for a link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunk {
    pub(super) buffer: u16,
    pub(super) taken: usize,
    pub(super) count: usize,
}

/// The bytes being sent.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    /// Empty when nothing is being sent; otherwise they stay in place until the kernel is done.
    pub(super) bytes: Vec<u8>,
    /// They are sent at once or not at all; only a failure is reported.
    pub(super) at_once: bool,
    /// Whether the link's `out` has more to send.
    pub(super) more: bool,
}

/// What the kernel is doing for a slot.
#[derive(Debug, Default)]
pub(super) struct Slot {
    /// Operations of which another completion will come.
    pub(super) in_flight: u32,
    pub(super) receiving: bool,
    pub(super) chunks: Queue<Chunk>,
    pub(super) outbox: Outbox,
    /// How the connection ended: 0, or an errno.
    pub(super) ended: Option<i32>,
    /// The link is gone, and the slot waits for its last completion.
    pub(super) retired: bool,
}

impl Slot {
    /// Whether the kernel has no operation in flight and nothing received is left to read.
    pub(super) fn is_clear(&self) -> bool {
        self.in_flight == 0 && self.chunks.is_empty() && self.outbox.bytes.is_empty()
    }

    /// Handles the completion of a receive.
    pub(super) fn received(
        &mut self,
        slot: usize,
        result: i32,
        buffer: Option<u16>,
        is_last: bool,
    ) -> Ready {
        self.receiving = !is_last;
        match buffer {
            Some(buffer) => {
                self.chunks.push_back(Chunk { buffer, taken: 0, count: result.max(0) as usize });
                Ready::Readable(slot)
            }
            // All buffers were in use: the receive is submitted again with the next flush.
            None if result == -libc::ENOBUFS => Ready::Writable(slot),
            None if result == -libc::ECANCELED => Ready::Released(slot),
            None => {
                self.ended = Some(result);
                Ready::Readable(slot)
            }
        }
    }
}
