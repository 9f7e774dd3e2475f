//! Receive buffers that all links of a ring share.
//!
//! The kernel takes a buffer when bytes arrive, not when a receive is submitted, so ten thousand
//! idle connections hold none.

use io_uring::IoUring;
use io_uring::types::BufRingEntry;
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::io;
use std::ops::RangeInclusive;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

/// Buffers per ring. The kernel uses them in turn, so each one beyond what is needed adds one that
/// is in no cache when it is used.
const COUNTS: RangeInclusive<usize> = 32..=256;
/// Buffers per link: one is being read while the next one is filled.
const COUNT_PER_LINK: usize = 2;
/// Size of a buffer. What servers send at once (PostgreSQL 8 KiB, MariaDB 16 KiB) fits into one;
/// each further buffer costs a receive and a completion.
const BYTES: usize = 16 << 10;
/// Distance between buffers: a short answer's cache lines more than a power of two, or all short
/// answers would compete for the same few cache sets.
const STRIDE: usize = BYTES + 3 * 64;
/// The kernel requires the ring of buffers to be page-aligned.
const PAGE: usize = 4 << 10;
/// The only buffer group.
pub(super) const GROUP: u16 = 0;

/// The buffers, and the ring through which they are handed to the kernel.
#[derive(Debug)]
pub(super) struct Buffers {
    /// The ring, then the buffers themselves.
    memory: NonNull<u8>,
    /// A power of two.
    count: u16,
    tail: u16,
}

// SAFETY: only this value and the kernel use the memory.
unsafe impl Send for Buffers {}

impl Buffers {
    /// Registers buffers for this many links with the ring. They must outlive it.
    pub(super) fn register(ring: &IoUring, links: usize) -> io::Result<Self> {
        let wanted = (COUNT_PER_LINK * links).next_power_of_two();
        let count = wanted.clamp(*COUNTS.start(), *COUNTS.end()) as u16;
        // SAFETY: the layout is not empty.
        let memory = NonNull::new(unsafe { alloc_zeroed(layout(count)) });
        let memory = memory.unwrap_or_else(|| handle_alloc_error(layout(count)));
        let mut buffers = Self { memory, count, tail: 0 };
        // SAFETY: the memory stays in place until the ring is gone, as the caller promises.
        unsafe {
            ring.submitter().register_buf_ring_with_flags(
                memory.as_ptr() as u64,
                count,
                GROUP,
                0,
            )?;
        }
        (0..count).for_each(|number| buffers.give(number));
        Ok(buffers)
    }

    /// The first `count` bytes of a buffer filled by the kernel.
    pub(super) fn bytes(&self, number: u16, count: usize) -> &[u8] {
        assert!(number < self.count && count <= BYTES);
        // SAFETY: inside the memory, and the kernel does not write to a buffer it has handed over.
        unsafe { std::slice::from_raw_parts(self.place(number), count) }
    }

    fn place(&self, number: u16) -> *const u8 {
        // SAFETY: inside the memory, since numbers are below the count.
        unsafe { self.memory.as_ptr().add(list_bytes(self.count) + number as usize * STRIDE) }
    }

    /// Returns a buffer to the kernel.
    pub(super) fn give(&mut self, number: u16) {
        let list = self.memory.cast::<BufRingEntry>();
        let address = self.place(number) as u64;
        // SAFETY: the index is inside the ring of buffers; the kernel reads only entries below the
        // tail, which is moved after the entry is written.
        unsafe {
            let entry = &mut *list.as_ptr().add((self.tail % self.count) as usize);
            entry.set_addr(address);
            entry.set_len(BYTES as u32);
            entry.set_bid(number);
            self.tail = self.tail.wrapping_add(1);
            let tail = BufRingEntry::tail(list.as_ptr()).cast::<AtomicU16>();
            (*tail).store(self.tail, Ordering::Release);
        }
    }
}

fn list_bytes(count: u16) -> usize {
    count as usize * size_of::<BufRingEntry>()
}

fn layout(count: u16) -> Layout {
    Layout::from_size_align(list_bytes(count) + count as usize * STRIDE, PAGE)
        .expect("a small, aligned layout")
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout, and the ring that used it is gone.
        unsafe { dealloc(self.memory.as_ptr(), layout(self.count)) };
    }
}
