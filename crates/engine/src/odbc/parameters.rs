//! Parameter values of a prepared statement.
//!
//! A driver keeps pointers to the values, so each has a location of its own that never moves; it is
//! bound again only when its type or capacity changes.

use super::handle::{Diagnostic, Handle};
use super::vendor::Integers;
use dbdyno_model::Value;
use std::ffi::c_void;

const INPUT: i16 = 1;
const NULL_LENGTH: isize = -1;
/// Minimum capacity of a text parameter, in UTF-16 units.
const TEXT_UNITS_MIN: usize = 64;

/// The type of a value in memory and in SQL, by the standard's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TypePair {
    pub(super) memory: i16,
    pub(super) sql: i16,
}

impl TypePair {
    const BIT: Self = Self { memory: -7, sql: -7 };
    pub(super) const INTEGER: Self = Self { memory: -25, sql: -5 };
    pub(super) const DECIMAL: Self = Self { memory: -8, sql: 3 };
    const DOUBLE: Self = Self { memory: 8, sql: 8 };
    /// Not a national character type: an ordinary column would be converted for the comparison,
    /// without using its index.
    pub(super) const TEXT: Self = Self { memory: -8, sql: 12 };
    pub(super) const DATE: Self = Self { memory: -8, sql: 91 };
    pub(super) const TIMESTAMP: Self = Self { memory: -8, sql: 93 };
}

/// Where one parameter's value is, and how long it is.
pub(super) struct Place {
    pub(super) number: u16,
    pub(super) types: TypePair,
    /// In characters or digits.
    pub(super) size: usize,
    pub(super) digits: i16,
    pub(super) value: *mut c_void,
    pub(super) bytes: isize,
    pub(super) lengths: *mut isize,
}

impl Place {
    /// Binds it.
    ///
    /// # Safety
    /// What is pointed to stays in place until the statement is freed or bound again.
    pub(super) unsafe fn bind(&self, statement: &Handle) -> Result<(), Diagnostic> {
        // SAFETY: as the caller promised.
        let code = unsafe {
            (statement.library.SQLBindParameter)(
                statement.raw,
                self.number,
                INPUT,
                self.types.memory,
                self.types.sql,
                self.size,
                self.digits,
                self.value,
                self.bytes,
                self.lengths,
            )
        };
        statement.check(code).map(drop)
    }
}

/// One parameter's value.
#[derive(Debug, Default)]
struct Cell {
    /// What was bound: the types, and the capacity for text.
    bound: Option<(TypePair, usize)>,
    bit: u8,
    number: i64,
    double: f64,
    text: Vec<u16>,
    length: isize,
}

// SAFETY: drivers write lengths to it and read values from it; it belongs to no thread.
unsafe impl Send for Parameters {}

/// The parameters of a statement.
#[derive(Debug)]
pub(super) struct Parameters {
    cells: Box<[Cell]>,
    integers: Integers,
}

impl Parameters {
    pub(super) fn new(count: usize, integers: Integers) -> Self {
        Self { cells: (0..count).map(|_| Cell::default()).collect(), integers }
    }

    /// Stores values in the order of the `?`.
    pub(super) fn set<'a>(
        &mut self,
        statement: &Handle,
        values: impl Iterator<Item = &'a Value>,
    ) -> Result<(), Diagnostic> {
        for (place, (cell, value)) in self.cells.iter_mut().zip(values).enumerate() {
            let types = cell.take(value, self.integers);
            let wanted = (types, cell.text.capacity());
            if cell.bound != Some(wanted) {
                // SAFETY: cells are boxed, and a text that moved has another capacity.
                unsafe { cell.place(place as u16 + 1, types).bind(statement)? };
                cell.bound = Some(wanted);
            }
        }
        Ok(())
    }
}

impl Cell {
    /// Stores a value, and returns the types it is sent as.
    fn take(&mut self, value: &Value, integers: Integers) -> TypePair {
        match value {
            Value::Null => {
                self.length = NULL_LENGTH;
                // Of the same type as the last value: NULL fits all types.
                self.bound.map_or(TypePair::TEXT, |(types, _)| types)
            }
            Value::Bool(truth) => {
                (self.bit, self.length) = (u8::from(*truth), 0);
                TypePair::BIT
            }
            Value::Int(number) if integers == Integers::Binary => {
                (self.number, self.length) = (*number, 0);
                TypePair::INTEGER
            }
            Value::Int(number) => {
                self.take_text(&number.to_string());
                TypePair::DECIMAL
            }
            Value::Double(number) => {
                (self.double, self.length) = (*number, 0);
                TypePair::DOUBLE
            }
            Value::Text(text) => {
                self.take_text(text);
                TypePair::TEXT
            }
        }
    }

    fn take_text(&mut self, text: &str) {
        self.text.clear();
        self.text.reserve(text.len().max(TEXT_UNITS_MIN));
        self.text.extend(text.encode_utf16());
        self.length = (self.text.len() * 2) as isize;
    }

    fn place(&mut self, number: u16, types: TypePair) -> Place {
        let units = self.text.capacity();
        let (value, size, bytes): (*mut c_void, _, _) = match types {
            TypePair::BIT => ((&raw mut self.bit).cast(), 1, 1),
            TypePair::INTEGER => ((&raw mut self.number).cast(), 19, 8),
            TypePair::DOUBLE => ((&raw mut self.double).cast(), 15, 8),
            TypePair::DECIMAL => (self.text.as_mut_ptr().cast(), 19, units * 2),
            _ => (self.text.as_mut_ptr().cast(), units.max(1), units * 2),
        };
        let lengths = &raw mut self.length;
        Place { number, types, size, digits: 0, value, bytes: bytes as isize, lengths }
    }
}
