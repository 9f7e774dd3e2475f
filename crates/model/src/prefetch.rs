//! Prefetching of data that will be needed soon.
//!
//! A thread serves hundreds of clients in turn, with the server's processes running in between:
//! when a client's turn comes, its state is in no cache, and its cache lines would be waited for
//! one by one.

/// Size of a cache line.
const LINE_BYTES: usize = 64;

/// Maximum number of lines to prefetch: one turn needs only an unknown part of a longer list.
const LINES_MOST: usize = 16;

/// Prefetches a value's memory, or its beginning, without waiting for it. Has no other effect.
#[inline]
pub fn prefetch<T: ?Sized>(value: &T) {
    let begin = std::ptr::from_ref(value).cast::<u8>();
    for line in lines(begin.addr(), size_of_val(value)) {
        prefetch_line(begin.with_addr(line));
    }
}

/// The addresses of the cache lines of this many bytes.
#[inline]
fn lines(address: usize, bytes: usize) -> impl Iterator<Item = usize> {
    let first = address - address % LINE_BYTES;
    (first..address + bytes).step_by(LINE_BYTES).take(LINES_MOST)
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn prefetch_line(place: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a hint, which has no effect visible to the program and does not fail for any address.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(place.cast()) };
}

/// On other processors, stable Rust has no prefetch instruction.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn prefetch_line(_place: *const u8) {}

#[cfg(test)]
mod tests {
    use super::{LINE_BYTES, LINES_MOST, lines};

    #[test]
    fn a_value_is_fetched_from_its_first_line_to_its_last() {
        let of = |address, bytes| lines(address, bytes).collect::<Vec<_>>();
        assert_eq!(of(128, 64), [128]);
        assert_eq!(of(128, 65), [128, 192]);
        assert_eq!(of(190, 4), [128, 192]);
        assert_eq!(of(128, 0), []);
    }

    #[test]
    fn of_a_long_list_only_the_beginning_is_fetched() {
        assert_eq!(lines(8, 1 << 20).last(), Some((LINES_MOST - 1) * LINE_BYTES));
    }
}
