//! Fetching ahead what is known to be needed soon.
//!
//! A thread serves hundreds of clients in turn, with the server's processes between: when a
//! client's turn comes, its state is in no cache, and its lines would be waited for one by one.

/// Bytes that a processor fetches at once.
const LINE_BYTES: usize = 64;

/// Of a longer list one turn needs but a part, and nobody knows which.
const LINES_MOST: usize = 16;

/// Asks the processor for a value's memory, or its beginning, without waiting for it. Changes
/// nothing else.
#[inline]
pub fn prefetch<T: ?Sized>(value: &T) {
    let begin = std::ptr::from_ref(value).cast::<u8>();
    for line in lines(begin.addr(), size_of_val(value)) {
        prefetch_line(begin.with_addr(line));
    }
}

/// Where the lines of so many bytes begin.
#[inline]
fn lines(address: usize, bytes: usize) -> impl Iterator<Item = usize> {
    let first = address - address % LINE_BYTES;
    (first..address + bytes).step_by(LINE_BYTES).take(LINES_MOST)
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn prefetch_line(place: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a hint: it reads nothing that a program could see and fails at no address.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(place.cast()) };
}

/// Elsewhere nothing can be asked of the processor in plain Rust.
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
