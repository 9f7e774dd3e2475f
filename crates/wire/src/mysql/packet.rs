//! Finds complete packets in the receive buffer, and writes packets.
//!
//! A packet consists of three bytes of length, its number within the exchange, and a body. A longer
//! body is split over several packets: it is joined on receiving and split on sending, so that no
//! other module needs to know.

use crate::{ProtocolError, ReceiveBuffer};

pub(crate) const HEADER_BYTES: usize = 4;

/// A body of this length continues in the next packet.
pub(crate) const BODY_BYTES_MAX: usize = 0xff_ffff;

/// The first byte of an error packet.
pub(crate) const ERROR: u8 = 0xff;

/// Consumes the next complete body of the buffer, if there is one, and counts its packets.
#[inline]
pub(crate) fn next<'a>(
    buffer: &'a mut ReceiveBuffer,
    sequence: &mut u8,
) -> Result<Option<&'a [u8]>, ProtocolError> {
    let unread = buffer.unread();
    let Some((length, found)) = header(unread) else { return Ok(None) };
    if found != *sequence {
        match unread.get(HEADER_BYTES) {
            None => return Ok(None),
            // A server that closes the connection reports why, even without a request.
            Some(&ERROR) => *sequence = found,
            Some(_) => return Err(ProtocolError::OutOfOrder { expected: *sequence, found }),
        }
    }
    if length == BODY_BYTES_MAX {
        return joined(buffer, sequence);
    }
    let size = HEADER_BYTES + length;
    if unread.len() < size {
        return Ok(None);
    }
    *sequence = found.wrapping_add(1);
    Ok(Some(&buffer.consume(size)[HEADER_BYTES..]))
}

/// The length of a packet's body, and the packet's number.
#[inline]
fn header(bytes: &[u8]) -> Option<(usize, u8)> {
    let &[a, b, c, sequence] = bytes.first_chunk()?;
    Some((u32::from_le_bytes([a, b, c, 0]) as usize, sequence))
}

/// A body of several packets: each part is moved over its header, next to the previous part.
#[cold]
fn joined<'a>(
    buffer: &'a mut ReceiveBuffer,
    sequence: &mut u8,
) -> Result<Option<&'a [u8]>, ProtocolError> {
    let Some(size) = joined_size(buffer, *sequence)? else { return Ok(None) };
    *sequence = sequence.wrapping_add(packet_count(size));
    let bytes = buffer.consume_mut(size);
    let mut end = 0;
    for start in (0..size).step_by(HEADER_BYTES + BODY_BYTES_MAX) {
        let next = size.min(start + HEADER_BYTES + BODY_BYTES_MAX);
        bytes.copy_within(start + HEADER_BYTES..next, end);
        end += next - start - HEADER_BYTES;
    }
    Ok(Some(&bytes[..end]))
}

/// The size of all packets of one body with their headers, once they are complete.
fn joined_size(buffer: &ReceiveBuffer, sequence: u8) -> Result<Option<usize>, ProtocolError> {
    let (unread, limit) = (buffer.unread(), buffer.limit());
    let (mut size, mut expected) = (0, sequence);
    loop {
        let Some((length, found)) = unread.get(size..).and_then(header) else { return Ok(None) };
        if found != expected {
            return Err(ProtocolError::OutOfOrder { expected, found });
        }
        size += HEADER_BYTES + length;
        if size > limit {
            let tag = unread.get(HEADER_BYTES).copied().unwrap_or_default();
            return Err(ProtocolError::TooLong { tag, length: size as u32, limit });
        }
        expected = expected.wrapping_add(1);
        if length < BODY_BYTES_MAX {
            return Ok((unread.len() >= size).then_some(size));
        }
    }
}

/// The number of packets for this many bytes, headers included.
#[inline]
pub(crate) fn packet_count(bytes: usize) -> u8 {
    (bytes / (HEADER_BYTES + BODY_BYTES_MAX) + 1) as u8
}

/// Appends a body, in as many packets as necessary; the first one has this number.
#[inline]
pub(crate) fn write(out: &mut Vec<u8>, sequence: u8, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0, 0, 0, sequence]);
    body(out);
    let length = out.len() - start - HEADER_BYTES;
    if length < BODY_BYTES_MAX {
        out[start..start + 3].copy_from_slice(&(length as u32).to_le_bytes()[..3]);
    } else {
        split(out, start, sequence);
    }
}

/// A body whose length is a multiple of the maximum ends with an empty packet.
#[cold]
fn split(out: &mut Vec<u8>, start: usize, mut sequence: u8) {
    let body = out.split_off(start + HEADER_BYTES);
    out.truncate(start);
    for from in (0..=body.len()).step_by(BODY_BYTES_MAX) {
        let part = &body[from..body.len().min(from + BODY_BYTES_MAX)];
        out.extend_from_slice(&(part.len() as u32).to_le_bytes()[..3]);
        out.push(sequence);
        out.extend_from_slice(part);
        sequence = sequence.wrapping_add(1);
    }
}

/// Appends a length-encoded integer.
pub(crate) fn write_length(out: &mut Vec<u8>, length: usize) {
    let bytes = (length as u64).to_le_bytes();
    match length {
        0..=0xfa => out.push(bytes[0]),
        0xfb..=0xffff => {
            out.push(0xfc);
            out.extend_from_slice(&bytes[..2]);
        }
        0x1_0000..=0xff_ffff => {
            out.push(0xfd);
            out.extend_from_slice(&bytes[..3]);
        }
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&bytes);
        }
    }
}

/// Appends bytes preceded by their length.
pub(crate) fn write_sized(out: &mut Vec<u8>, bytes: &[u8]) {
    write_length(out, bytes.len());
    out.extend_from_slice(bytes);
}

/// Appends a text and a zero byte.
pub(crate) fn write_text(out: &mut Vec<u8>, text: &[u8]) {
    out.extend_from_slice(text);
    out.push(0);
}

#[cfg(test)]
mod tests {
    use super::{BODY_BYTES_MAX, HEADER_BYTES, next, packet_count, write};
    use crate::{ProtocolError, ReceiveBuffer};

    fn written(length: usize) -> Vec<u8> {
        let mut out = b"before".to_vec();
        write(&mut out, 3, |out| out.extend((0..length).map(|n| (n % 251) as u8)));
        out.split_off(6)
    }

    #[test]
    fn a_body_of_any_length_survives_its_packets() {
        for (length, packets) in [
            (0, 1),
            (1, 1),
            (BODY_BYTES_MAX - 1, 1),
            (BODY_BYTES_MAX, 2),
            (BODY_BYTES_MAX + 1, 2),
            (2 * BODY_BYTES_MAX, 3),
            (2 * BODY_BYTES_MAX + 5, 3),
        ] {
            let bytes = written(length);
            assert_eq!(bytes.len(), length + HEADER_BYTES * usize::from(packets));
            assert_eq!(packet_count(bytes.len()), packets);
            let (mut buffer, mut sequence) = (ReceiveBuffer::default(), 3);
            let (last, first) = bytes.split_last().expect("a header at least");
            buffer.feed(first);
            assert_eq!(next(&mut buffer, &mut sequence), Ok(None));
            buffer.feed(&[*last]);
            let body = next(&mut buffer, &mut sequence).expect("whole").expect("there");
            assert_eq!(body.len(), length);
            assert!(body.iter().enumerate().all(|(n, &byte)| byte == (n % 251) as u8));
            assert_eq!(sequence, 3 + packets);
        }
    }

    #[test]
    fn a_body_beyond_the_limit_is_refused_before_it_has_come() {
        let mut buffer = ReceiveBuffer::with_limit(BODY_BYTES_MAX + (1 << 20));
        let mut sequence = 0;
        buffer.feed(&[0xff, 0xff, 0xff, 0]);
        buffer.feed(&vec![7; BODY_BYTES_MAX]);
        assert_eq!(next(&mut buffer, &mut sequence), Ok(None));
        buffer.feed(&[0xff, 0xff, 0xff, 1]);
        let refused = next(&mut buffer, &mut sequence);
        assert!(matches!(refused, Err(ProtocolError::TooLong { tag: 7, .. })), "{refused:?}");
    }

    #[test]
    fn packets_are_numbered() {
        let taken = |bytes: &[u8]| {
            let mut buffer = ReceiveBuffer::default();
            buffer.feed(bytes);
            next(&mut buffer, &mut 5).map(|body| body.map(<[u8]>::to_vec))
        };
        assert_eq!(taken(b"\x01\0\0\x05a"), Ok(Some(b"a".to_vec())));
        let expected = Err(ProtocolError::OutOfOrder { expected: 5, found: 6 });
        assert_eq!(taken(b"\x01\0\0\x06a"), expected);
        assert_eq!(taken(b"\x01\0\0\x06"), Ok(None), "the body says whether it is a farewell");
        assert_eq!(taken(b"\x01\0\0\x00\xff"), Ok(Some(vec![0xff])));
    }
}
