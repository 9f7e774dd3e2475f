//! What a ring knows of a slot: the orders under way, what has arrived, what is being sent.

use super::Ready;
use dbdyno_model::Queue;

/// Bytes that have arrived for a link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunk {
    pub(super) buffer: u16,
    pub(super) taken: usize,
    pub(super) count: usize,
}

/// What is being sent.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    /// Empty when nothing is; else they stay where they are until the kernel has done.
    pub(super) bytes: Vec<u8>,
    /// They go at once or not at all: only a failure would be told.
    pub(super) at_once: bool,
    /// Whether more waits in the link's `out` meanwhile.
    pub(super) more: bool,
}

/// What the kernel is doing for a slot.
#[derive(Debug, Default)]
pub(super) struct Slot {
    /// Orders that will be completed once more.
    pub(super) under_way: u32,
    pub(super) receiving: bool,
    pub(super) chunks: Queue<Chunk>,
    pub(super) outbox: Outbox,
    /// How the connection ended: 0, or an error.
    pub(super) ended: Option<i32>,
    /// The link is gone, and the slot waits for its last completion.
    pub(super) retired: bool,
}

impl Slot {
    /// Whether the kernel has nothing of its link, nor is there anything for it.
    pub(super) fn is_clear(&self) -> bool {
        self.under_way == 0 && self.chunks.is_empty() && self.outbox.bytes.is_empty()
    }

    /// Takes the completion of an order to receive.
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
            // All buffers were in use: the order is given anew with the next flush.
            None if result == -libc::ENOBUFS => Ready::Writable(slot),
            None if result == -libc::ECANCELED => Ready::Released(slot),
            None => {
                self.ended = Some(result);
                Ready::Readable(slot)
            }
        }
    }
}
