//! Memory that the kernel receives into, shared by all links of a ring.
//!
//! The kernel takes a buffer when bytes arrive, not when somebody waits for them, so ten
//! thousand idle connections hold none.

use io_uring::IoUring;
use io_uring::types::BufRingEntry;
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::io;
use std::ops::RangeInclusive;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

/// Buffers of a ring: the kernel takes them in turn, so each that is not needed is one more that
/// is in no cache when its turn comes.
const COUNTS: RangeInclusive<usize> = 32..=256;
/// Of each link: one is being read while the next arrives.
const COUNT_PER_LINK: usize = 2;
/// Bytes of a buffer: what servers send at once (PostgreSQL 8 KiB, MariaDB 16 KiB) fits into one,
/// since each further one costs a receive and a completion.
const BYTES: usize = 16 << 10;
/// From one buffer to the next: a short answer's lines further than a power of two, or all short
/// answers would share the same few places of a cache.
const STRIDE: usize = BYTES + 3 * 64;
/// The kernel wants the list of buffers on a page of its own.
const PAGE: usize = 4 << 10;
/// The only group of buffers there is.
pub(super) const GROUP: u16 = 0;

/// The buffers, and the list through which they are handed to the kernel.
#[derive(Debug)]
pub(super) struct Buffers {
    /// The list, then the buffers themselves.
    memory: NonNull<u8>,
    /// A power of two.
    count: u16,
    tail: u16,
}

// SAFETY: the memory belongs to this value alone, and the kernel.
unsafe impl Send for Buffers {}

impl Buffers {
    /// Buffers for so many links, registered with the ring. They must outlive it.
    pub(super) fn register(ring: &IoUring, links: usize) -> io::Result<Self> {
        let wanted = (COUNT_PER_LINK * links).next_power_of_two();
        let count = wanted.clamp(*COUNTS.start(), *COUNTS.end()) as u16;
        // SAFETY: the layout is not empty.
        let memory = NonNull::new(unsafe { alloc_zeroed(layout(count)) });
        let memory = memory.unwrap_or_else(|| handle_alloc_error(layout(count)));
        let mut buffers = Self { memory, count, tail: 0 };
        // SAFETY: the list stays in place until the ring is gone, as the caller promises.
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

    /// The first `count` bytes of a buffer that the kernel has filled.
    pub(super) fn bytes(&self, number: u16, count: usize) -> &[u8] {
        assert!(number < self.count && count <= BYTES);
        // SAFETY: inside the memory, and the kernel writes to no buffer it has handed over.
        unsafe { std::slice::from_raw_parts(self.place(number), count) }
    }

    fn place(&self, number: u16) -> *const u8 {
        // SAFETY: inside the memory, since numbers are below the count.
        unsafe { self.memory.as_ptr().add(list_bytes(self.count) + number as usize * STRIDE) }
    }

    /// Hands a buffer (back) to the kernel.
    pub(super) fn give(&mut self, number: u16) {
        let list = self.memory.cast::<BufRingEntry>();
        let address = self.place(number) as u64;
        // SAFETY: the index is inside the list; the kernel reads an entry only below the tail,
        // which is moved after the entry is written.
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
        // SAFETY: allocated with this layout, and the ring that knew it is gone.
        unsafe { dealloc(self.memory.as_ptr(), layout(self.count)) };
    }
}
