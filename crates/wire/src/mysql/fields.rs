//! Reads the fields of a packet's body in order: little-endian integers, and length-encoded ones of
//! one to nine bytes.

use crate::ProtocolError;

/// The fields that have not been read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields<'a>(pub(crate) &'a [u8]);

const TRUNCATED: ProtocolError = ProtocolError::Malformed("a field reaches beyond its packet");

impl<'a> Fields<'a> {
    pub(crate) fn chunk<const N: usize>(&mut self) -> Result<[u8; N], ProtocolError> {
        let (chunk, rest) = self.0.split_first_chunk::<N>().ok_or(TRUNCATED)?;
        self.0 = rest;
        Ok(*chunk)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, ProtocolError> {
        self.chunk::<1>().map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, ProtocolError> {
        self.chunk().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, ProtocolError> {
        self.chunk().map(u32::from_le_bytes)
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Result<&'a [u8], ProtocolError> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(TRUNCATED)?;
        self.0 = rest;
        Ok(taken)
    }

    /// Bytes up to a zero byte, which is consumed too, or else all remaining bytes.
    pub(crate) fn text_bytes(&mut self) -> &'a [u8] {
        let end = self.0.iter().position(|&byte| byte == 0).unwrap_or(self.0.len());
        let (text, rest) = self.0.split_at(end);
        self.0 = rest.get(1..).unwrap_or_default();
        text
    }

    /// A length-encoded integer.
    #[inline]
    pub(crate) fn length(&mut self) -> Result<u64, ProtocolError> {
        match self.u8()? {
            small @ 0..=0xfa => Ok(u64::from(small)),
            0xfc => self.u16().map(u64::from),
            0xfd => self.chunk::<3>().map(|[a, b, c]| u64::from(u32::from_le_bytes([a, b, c, 0]))),
            0xfe => self.chunk().map(u64::from_le_bytes),
            _ => Err(ProtocolError::Malformed("an invalid length")),
        }
    }

    /// Bytes preceded by their length.
    pub(crate) fn sized_bytes(&mut self) -> Result<&'a [u8], ProtocolError> {
        let length = self.length()?;
        self.bytes(usize::try_from(length).map_err(|_| TRUNCATED)?)
    }
}

#[cfg(test)]
mod tests {
    use super::Fields;

    #[test]
    fn lengths_take_one_to_nine_bytes() {
        for (bytes, length) in [
            (&b"\x00"[..], 0),
            (b"\xfa", 250),
            (b"\xfc\x01\x02", 0x0201),
            (b"\xfd\x01\x02\x03", 0x03_0201),
            (b"\xfe\x01\0\0\0\0\0\0\x80", 0x8000_0000_0000_0001),
        ] {
            let mut fields = Fields(bytes);
            assert_eq!(fields.length(), Ok(length));
            assert!(fields.0.is_empty());
            assert!(Fields(&bytes[1..]).length().is_err() || bytes.len() > 1);
        }
        for wrong in [&b""[..], b"\xfb", b"\xff", b"\xfc\x01", b"\xfe\0\0\0"] {
            assert!(Fields(wrong).length().is_err(), "{wrong:?}");
        }
        assert!(Fields(b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff").sized_bytes().is_err());
    }

    #[test]
    fn a_text_ends_with_a_zero_or_with_its_packet() {
        let mut fields = Fields(b"one\0two");
        assert_eq!((fields.text_bytes(), fields.text_bytes()), (&b"one"[..], &b"two"[..]));
        assert_eq!(fields.text_bytes(), b"");
    }
}
