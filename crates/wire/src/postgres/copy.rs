//! Rows in COPY's binary format, for loading.
//!
//! A load consists of a first block with [`Block::header`], any number of blocks with rows, one
//! with [`Block::trailer`], then the connection's `rows_done`. The loader chooses how many rows
//! share a block; a row never spans two.

use super::encode;

/// Digits of one group of a `numeric`, as a power of ten.
const GROUP: u128 = 10_000;
const GROUP_DIGITS: u8 = 4;
/// Groups of any 64-bit number with any scale up to 18.
const GROUPS: usize = 6;
const NEGATIVE: u16 = 0x4000;
const JSONB_VERSION: u8 = 1;

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

    /// True or false.
    #[inline]
    pub fn boolean(&mut self, truth: bool) -> &mut Self {
        self.value(&[truth.into()])
    }

    /// A `numeric` of `scale` digits after the point, in units of the last of them.
    pub fn decimal(&mut self, units: i64, scale: u8) -> &mut Self {
        let (groups, after_point) = decimal_groups(units, scale);
        let digits = groups.iter().skip_while(|&&group| group == 0).count();
        self.0.extend_from_slice(&(8 + 2 * digits as u32).to_be_bytes());
        let sign: u16 = if units < 0 { NEGATIVE } else { 0 };
        let weight = if digits == 0 { 0 } else { digits as i16 - after_point - 1 };
        self.0.extend_from_slice(&(digits as u16).to_be_bytes());
        self.0.extend_from_slice(&weight.to_be_bytes());
        self.0.extend_from_slice(&sign.to_be_bytes());
        self.0.extend_from_slice(&u16::from(scale).to_be_bytes());
        for group in &groups[groups.len() - digits..] {
            self.0.extend_from_slice(&group.to_be_bytes());
        }
        self
    }

    /// A date: days since the start of the year 2000.
    #[inline]
    pub fn date(&mut self, days: i32) -> &mut Self {
        self.int4(days)
    }

    /// A `jsonb` document.
    pub fn json(&mut self, text: &str) -> &mut Self {
        self.0.extend_from_slice(&(1 + text.len() as u32).to_be_bytes());
        self.0.push(JSONB_VERSION);
        self.0.extend_from_slice(text.as_bytes());
        self
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

/// The number in groups of four digits, as PostgreSQL stores it, and how many of them follow the
/// point: it lies between two groups, so that the last one may be filled up with zeros.
fn decimal_groups(units: i64, scale: u8) -> ([u16; GROUPS], i16) {
    let filling = (GROUP_DIGITS - scale % GROUP_DIGITS) % GROUP_DIGITS;
    let mut rest = u128::from(units.unsigned_abs()) * 10_u128.pow(filling.into());
    let mut groups = [0; GROUPS];
    for group in groups.iter_mut().rev() {
        *group = (rest % GROUP) as u16;
        rest /= GROUP;
    }
    (groups, scale.div_ceil(GROUP_DIGITS).into())
}
