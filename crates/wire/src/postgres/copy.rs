//! Rows in COPY's binary format, for loading.
//!
//! A load consists of a first block with [`Block::header`], any number of blocks with rows, one
//! with [`Block::trailer`], then the connection's `copy_done`. The loader chooses how many rows
//! share a block; a row never spans two.

use super::encode;

const SIGNATURE: &[u8] = b"PGCOPY\n\xff\r\n\0";

/// Appends one block of the stream to `out`.
pub fn block(out: &mut Vec<u8>, write: impl FnOnce(&mut Block<'_>)) {
    encode::message(out, b'd', |out| write(&mut Block(out)));
}

/// A block being written.
#[derive(Debug)]
pub struct Block<'a>(&'a mut Vec<u8>);

impl Block<'_> {
    /// The beginning of the stream.
    pub fn header(&mut self) {
        self.0.extend_from_slice(SIGNATURE);
        self.0.extend_from_slice(&[0; 8]); // no flags, no extension
    }

    /// Begins a row; exactly this many values must follow.
    #[inline]
    pub fn row(&mut self, columns: u16) -> Row<'_> {
        self.0.extend_from_slice(&columns.to_be_bytes());
        Row(self.0)
    }

    /// The end of the stream.
    pub fn trailer(&mut self) {
        self.0.extend_from_slice(&(-1_i16).to_be_bytes());
    }
}

/// A row being written.
#[derive(Debug)]
pub struct Row<'a>(&'a mut Vec<u8>);

impl Row<'_> {
    /// NULL.
    #[inline]
    pub fn null(&mut self) -> &mut Self {
        self.0.extend_from_slice(&(-1_i32).to_be_bytes());
        self
    }

    /// A four-byte integer.
    #[inline]
    pub fn int4(&mut self, number: i32) -> &mut Self {
        self.value(&number.to_be_bytes())
    }

    /// An eight-byte integer.
    #[inline]
    pub fn int8(&mut self, number: i64) -> &mut Self {
        self.value(&number.to_be_bytes())
    }

    /// Any character type.
    #[inline]
    pub fn text(&mut self, text: &str) -> &mut Self {
        self.value(text.as_bytes())
    }

    /// A timestamp, with or without time zone: microseconds since the start of the year 2000.
    #[inline]
    pub fn timestamp(&mut self, micros: i64) -> &mut Self {
        self.int8(micros)
    }

    #[inline]
    fn value(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
        self.0.extend_from_slice(bytes);
        self
    }
}
