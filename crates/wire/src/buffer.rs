//! Holds received bytes until their message is complete.
//!
//! Has no memory before it is used, since a benchmark may have ten thousand idle connections;
//! doubles only when bytes have really arrived, so a wrong length field costs nothing; never exceeds
//! its limit; and shrinks again when replies have been small for a while. Connections that are
//! received from in turns can share one memory: each borrows it, and keeps it only while part of a
//! message waits in it.
//!
//! Bytes move only inside [`ReceiveBuffer::space`]: between that call and
//! [`ReceiveBuffer::filled`] the kernel may write into the slice.

/// The largest message accepted, unless a buffer is created with another limit.
pub const MESSAGE_BYTES_MAX: usize = 64 << 20;

/// The size that a buffer begins with.
const INITIAL_BYTES: usize = 4 << 10;

/// With less free space than this behind the unread bytes, they are moved to the front.
const ROOM_BYTES_MIN: usize = 1 << 10;

/// A grown buffer shrinks after this many consecutive fills that would have fitted a small one.
const SMALL_FILLS_BEFORE_SHRINKING: u32 = 32;

/// Received bytes that have not been consumed, and space for more.
#[derive(Debug)]
pub struct ReceiveBuffer {
    /// All of the memory; `start..end` of it is unread.
    bytes: Box<[u8]>,
    start: usize,
    end: usize,
    limit: usize,
    small_fills: u32,
}

impl Default for ReceiveBuffer {
    fn default() -> Self {
        Self::with_limit(MESSAGE_BYTES_MAX)
    }
}

impl ReceiveBuffer {
    /// An empty buffer that never holds more than `limit` bytes.
    pub fn with_limit(limit: usize) -> Self {
        Self { bytes: Box::default(), start: 0, end: 0, limit, small_fills: 0 }
    }

    /// The maximum number of bytes it holds.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Its current size in memory.
    pub fn capacity(&self) -> usize {
        self.bytes.len()
    }

    /// The space to receive into. Empty only while `limit` bytes wait to be consumed.
    pub fn space(&mut self) -> &mut [u8] {
        if self.bytes.is_empty() {
            self.bytes = zeroed(INITIAL_BYTES.min(self.limit));
        } else if self.start == self.end {
            self.rewind();
        } else if self.bytes.len() - self.end < ROOM_BYTES_MIN {
            self.make_room();
        }
        &mut self.bytes[self.end..]
    }

    /// The first `count` bytes of the space now hold received bytes.
    pub fn filled(&mut self, count: usize) {
        self.end = (self.end + count).min(self.bytes.len());
    }

    /// Copies received bytes in and returns how many were taken: all, unless the limit is reached.
    pub fn feed(&mut self, bytes: &[u8]) -> usize {
        let mut taken = 0;
        while taken < bytes.len() {
            let space = self.space();
            let count = space.len().min(bytes.len() - taken);
            if count == 0 {
                break;
            }
            space[..count].copy_from_slice(&bytes[taken..taken + count]);
            self.filled(count);
            taken += count;
        }
        taken
    }

    /// Discards all unread bytes, for a new connection.
    pub fn clear(&mut self) {
        self.start = self.end;
    }

    /// Borrows the memory of another buffer, unless it has its own.
    #[inline]
    pub(crate) fn borrow_memory(&mut self, lender: &mut Self) {
        if self.bytes.is_empty() {
            std::mem::swap(self, lender);
        }
    }

    /// Returns the memory, once all bytes in it are read.
    #[inline]
    pub(crate) fn return_memory(&mut self, lender: &mut Self) {
        if self.start < self.end {
            return;
        }
        if lender.bytes.is_empty() {
            std::mem::swap(self, lender);
        } else {
            // The lender has got itself new memory meanwhile.
            *self = Self::with_limit(self.limit);
        }
    }

    /// The unread bytes.
    #[inline]
    pub(crate) fn unread(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Marks the first `count` unread bytes as read and returns them.
    #[inline]
    pub(crate) fn consume(&mut self, count: usize) -> &[u8] {
        let from = self.start;
        self.start = (from + count).min(self.end);
        &self.bytes[from..self.start]
    }

    /// The same, for a reader that rearranges the bytes in place.
    pub(crate) fn consume_mut(&mut self, count: usize) -> &mut [u8] {
        let from = self.start;
        self.start = (from + count).min(self.end);
        &mut self.bytes[from..self.start]
    }

    fn rewind(&mut self) {
        let used = self.end;
        (self.start, self.end) = (0, 0);
        if self.bytes.len() <= INITIAL_BYTES {
            return;
        }
        self.small_fills = if used <= INITIAL_BYTES { self.small_fills + 1 } else { 0 };
        if self.small_fills >= SMALL_FILLS_BEFORE_SHRINKING {
            self.small_fills = 0;
            self.bytes = zeroed(INITIAL_BYTES);
        }
    }

    fn make_room(&mut self) {
        self.bytes.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.bytes.len() - self.end < ROOM_BYTES_MIN {
            self.grow();
        }
    }

    fn grow(&mut self) {
        let mut larger = zeroed((self.bytes.len() * 2).min(self.limit));
        larger[..self.end].copy_from_slice(&self.bytes[..self.end]);
        self.bytes = larger;
    }
}

fn zeroed(size: usize) -> Box<[u8]> {
    vec![0; size].into_boxed_slice()
}

#[cfg(test)]
mod tests {
    use super::{INITIAL_BYTES, ReceiveBuffer, SMALL_FILLS_BEFORE_SHRINKING};

    #[test]
    fn what_goes_in_comes_out_across_growth_and_moves() {
        let mut buffer = ReceiveBuffer::with_limit(1 << 20);
        let mut expected = 0_u8;
        let sent: Vec<u8> = (0..100_000_u32).map(|n| n as u8).collect();
        for chunk in sent.chunks(777) {
            assert_eq!(buffer.feed(chunk), chunk.len());
            for &byte in buffer.consume(700) {
                assert_eq!(byte, expected);
                expected = expected.wrapping_add(1);
            }
        }
        let rest = buffer.unread().to_vec();
        assert_eq!(rest, sent[sent.len() - rest.len()..]);
    }

    #[test]
    fn the_limit_holds() {
        let mut buffer = ReceiveBuffer::with_limit(10_000);
        assert_eq!(buffer.feed(&vec![7; 20_000]), 10_000);
        assert!(buffer.space().is_empty());
        assert_eq!(buffer.capacity(), 10_000);
        buffer.consume(1);
        assert_eq!(buffer.space().len(), 1);
    }

    #[test]
    fn a_grown_buffer_shrinks_after_a_while_of_small_fills() {
        let mut buffer = ReceiveBuffer::default();
        buffer.feed(&vec![1; 50_000]);
        assert!(buffer.capacity() >= 50_000);
        buffer.consume(50_000);
        for _ in 0..=SMALL_FILLS_BEFORE_SHRINKING {
            assert!(buffer.capacity() > INITIAL_BYTES);
            buffer.feed(&[2; 100]);
            buffer.consume(100);
        }
        buffer.space();
        assert_eq!(buffer.capacity(), INITIAL_BYTES);
    }

    #[test]
    fn buffers_share_memory_as_long_as_no_message_is_incomplete() {
        let [mut lender, mut first, mut second] = [(); 3].map(|()| ReceiveBuffer::default());
        lender.feed(&[0]);
        lender.consume(1);
        first.borrow_memory(&mut lender);
        first.feed(&[1, 2]);
        assert_eq!((first.consume(1), lender.capacity()), (&[1][..], 0));
        first.return_memory(&mut lender); // one byte is unread
        second.borrow_memory(&mut lender);
        second.feed(&[3]);
        assert_eq!((second.consume(1), first.unread()), (&[3][..], &[2][..]));
        first.consume(1);
        for buffer in [&mut second, &mut first] {
            buffer.return_memory(&mut lender);
            assert_eq!(buffer.capacity(), 0);
        }
        assert_eq!(lender.capacity(), INITIAL_BYTES);
    }

    #[test]
    fn the_space_is_not_moved_until_it_is_requested_again() {
        let mut buffer = ReceiveBuffer::default();
        let place = buffer.space().as_ptr();
        buffer.filled(10);
        buffer.consume(10);
        assert_eq!(buffer.space().as_ptr(), place);
    }
}
