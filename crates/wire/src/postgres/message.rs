//! Finds complete messages in the receive buffer and reads the fields of their bodies.
//!
//! Finding messages reads only the five bytes of their headers; bodies are decoded only where
//! needed.

use crate::{ProtocolError, ReceiveBuffer};

/// The type and length at the beginning of every message.
const HEADER_BYTES: usize = 5;

/// One complete message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message<'a> {
    pub(crate) tag: u8,
    pub(crate) body: &'a [u8],
}

/// Consumes the next complete message of the buffer, if there is one.
#[inline]
pub(crate) fn next(buffer: &mut ReceiveBuffer) -> Result<Option<Message<'_>>, ProtocolError> {
    let unread = buffer.unread();
    let Some(&[tag, a, b, c, d]) = unread.first_chunk::<HEADER_BYTES>() else {
        return Ok(None);
    };
    let length = u32::from_be_bytes([a, b, c, d]);
    let size = message_size(tag, length, buffer.limit())?;
    if unread.len() < size {
        return Ok(None);
    }
    Ok(Some(Message { tag, body: &buffer.consume(size)[HEADER_BYTES..] }))
}

/// The size of the whole message. The length field includes itself, but not the type before it.
#[inline]
fn message_size(tag: u8, length: u32, limit: usize) -> Result<usize, ProtocolError> {
    if length < 4 {
        return Err(ProtocolError::LengthTooSmall { tag, length });
    }
    let size = length as usize + 1;
    if size > limit {
        return Err(ProtocolError::TooLong { tag, length, limit });
    }
    Ok(size)
}

/// Reads the fields of a body in order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields<'a>(pub(crate) &'a [u8]);

const TRUNCATED: ProtocolError = ProtocolError::Malformed("a field reaches beyond its message");

impl<'a> Fields<'a> {
    fn chunk<const N: usize>(&mut self) -> Result<[u8; N], ProtocolError> {
        let (chunk, rest) = self.0.split_first_chunk::<N>().ok_or(TRUNCATED)?;
        self.0 = rest;
        Ok(*chunk)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, ProtocolError> {
        self.chunk::<1>().map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, ProtocolError> {
        self.chunk().map(u16::from_be_bytes)
    }

    pub(crate) fn i32(&mut self) -> Result<i32, ProtocolError> {
        self.chunk().map(i32::from_be_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, ProtocolError> {
        self.chunk().map(u32::from_be_bytes)
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Result<&'a [u8], ProtocolError> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(TRUNCATED)?;
        self.0 = rest;
        Ok(taken)
    }

    /// A text up to its zero byte, which is consumed too.
    pub(crate) fn text_bytes(&mut self) -> Result<&'a [u8], ProtocolError> {
        let end = self.0.iter().position(|&byte| byte == 0).ok_or(TRUNCATED)?;
        let text = self.bytes(end)?;
        self.u8()?;
        Ok(text)
    }

    /// A text for people: invalid UTF-8 is replaced.
    pub(crate) fn text(&mut self) -> Result<String, ProtocolError> {
        Ok(String::from_utf8_lossy(self.text_bytes()?).into_owned())
    }
}
