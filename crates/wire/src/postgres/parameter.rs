//! Parameters of a statement, in binary where that is sure to have the same meaning.
//!
//! Text is always correct: the server reads it like a literal. Binary is used where the server has
//! reported the type and the value fits it exactly. The server infers types from the statement
//! alone (`integer` for `$1 + 10`, whatever the column): where a number does not fit, [`wider`]
//! returns the type that the server gives to the same number as a literal.

use dbdyno_model::Value;
use std::io::Write;

/// The type is not known.
pub(crate) const UNKNOWN: u32 = 0;
const BOOL: u32 = 16;
const INT8: u32 = 20;
const INT2: u32 = 21;
const INT4: u32 = 23;
const FLOAT4: u32 = 700;
const FLOAT8: u32 = 701;
const NUMERIC: u32 = 1700;

/// The format of a parameter, as in Bind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Text = 0,
    Binary = 1,
}

/// Appends a parameter, preceded by its length.
#[inline]
pub(crate) fn write(type_oid: u32, value: &Value, out: &mut Vec<u8>) -> Format {
    let binary = match *value {
        Value::Null => {
            out.extend_from_slice(&(-1_i32).to_be_bytes());
            return Format::Text;
        }
        Value::Bool(truth) => type_oid == BOOL && fixed([u8::from(truth)], out),
        Value::Int(number) => write_int(type_oid, number, out),
        Value::Double(number) => write_double(type_oid, number, out),
        Value::Text(_) => false,
    };
    if binary {
        return Format::Binary;
    }
    write_text(value, out);
    Format::Text
}

/// The parameters' types with those made wider that a number does not fit into; none if all fit.
#[inline]
pub(crate) fn wider(types: &[u32], values: &[Value]) -> Option<Box<[u32]>> {
    let each = || types.iter().zip(values).map(|(&oid, value)| wide_enough(oid, value));
    each().zip(types).any(|(wide, &oid)| wide != oid).then(|| each().collect())
}

#[inline]
fn wide_enough(type_oid: u32, value: &Value) -> u32 {
    match (type_oid, value) {
        (INT2 | INT4, &Value::Int(number)) => {
            match (i16::try_from(number), i32::try_from(number)) {
                (_, Err(_)) => INT8,
                (Err(_), Ok(_)) => INT4,
                _ => type_oid,
            }
        }
        (INT2 | INT4 | INT8, Value::Double(number))
            if number.is_finite() && (number.fract() != 0.0 || number.abs() >= 1e15) =>
        {
            NUMERIC
        }
        _ => type_oid,
    }
}

#[inline]
fn write_int(type_oid: u32, number: i64, out: &mut Vec<u8>) -> bool {
    match type_oid {
        INT4 => i32::try_from(number).is_ok_and(|small| fixed(small.to_be_bytes(), out)),
        INT8 => fixed(number.to_be_bytes(), out),
        INT2 => i16::try_from(number).is_ok_and(|small| fixed(small.to_be_bytes(), out)),
        FLOAT4 | FLOAT8 if number.unsigned_abs() <= 1 << f64::MANTISSA_DIGITS => {
            write_double(type_oid, number as f64, out)
        }
        _ => false,
    }
}

fn write_double(type_oid: u32, number: f64, out: &mut Vec<u8>) -> bool {
    let single = number as f32;
    match type_oid {
        FLOAT8 => fixed(number.to_be_bytes(), out),
        FLOAT4 if f64::from(single).to_bits() == number.to_bits() => {
            fixed(single.to_be_bytes(), out)
        }
        _ => false,
    }
}

/// Appends a binary value; always returns true, for use in the callers' conditions.
#[inline]
fn fixed<const N: usize>(bytes: [u8; N], out: &mut Vec<u8>) -> bool {
    out.extend_from_slice(&(N as u32).to_be_bytes());
    out.extend_from_slice(&bytes);
    true
}

fn write_text(value: &Value, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    match value {
        Value::Null => {}
        Value::Bool(truth) => out.extend_from_slice(if *truth { b"true" } else { b"false" }),
        Value::Int(number) => _ = write!(out, "{number}"),
        Value::Double(number) => {
            let mut text = String::new();
            dbdyno_model::write_double(&mut text, *number);
            out.extend_from_slice(text.as_bytes());
        }
        Value::Text(text) => out.extend_from_slice(text.as_bytes()),
    }
    let length = (out.len() - start - 4) as u32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::{BOOL, FLOAT4, FLOAT8, Format, INT2, INT4, INT8, NUMERIC, UNKNOWN, wider, write};
    use dbdyno_model::Value;

    fn written(type_oid: u32, value: &Value) -> (Format, Vec<u8>) {
        let mut out = Vec::new();
        let format = write(type_oid, value, &mut out);
        let length = u32::from_be_bytes(out[..4].try_into().expect("four bytes"));
        assert_eq!(length as usize, out.len() - 4);
        (format, out.split_off(4))
    }

    #[test]
    fn what_fits_its_type_is_binary() {
        for (type_oid, value, bytes) in [
            (BOOL, Value::Bool(true), &b"\x01"[..]),
            (INT2, Value::Int(-2), b"\xff\xfe"),
            (INT4, Value::Int(258), b"\0\0\x01\x02"),
            (INT8, Value::Int(-1), b"\xff\xff\xff\xff\xff\xff\xff\xff"),
            (FLOAT4, Value::Double(0.5), b"\x3f\0\0\0"),
            (FLOAT8, Value::Int(1), b"\x3f\xf0\0\0\0\0\0\0"),
        ] {
            assert_eq!(written(type_oid, &value), (Format::Binary, bytes.to_vec()), "{value:?}");
        }
    }

    #[test]
    fn all_else_is_text() {
        for (type_oid, value, text) in [
            (INT4, Value::Int(1 << 31), "2147483648"),
            (INT2, Value::Int(-32769), "-32769"),
            (INT4, Value::Double(6.0), "6"),
            (FLOAT4, Value::Double(0.1), "0.1"),
            (FLOAT8, Value::Int(i64::MAX), "9223372036854775807"),
            (BOOL, Value::Int(1), "1"),
            (UNKNOWN, Value::Bool(false), "false"),
            (UNKNOWN, Value::Double(1e300), "1e+300"),
            (UNKNOWN, Value::Double(-2.5e-9), "-2.5e-09"),
            (UNKNOWN, Value::Double(f64::NAN), "NaN"),
            (UNKNOWN, Value::Double(f64::NEG_INFINITY), "-Infinity"),
            (INT8, Value::Text("12".into()), "12"),
        ] {
            let expected = (Format::Text, text.as_bytes().to_vec());
            assert_eq!(written(type_oid, &value), expected, "{value:?}");
        }
    }

    #[test]
    fn a_number_that_does_not_fit_gets_the_type_of_its_literal() {
        for (oid, value, expected) in [
            (INT2, Value::Int(32767), None),
            (INT2, Value::Int(32768), Some(INT4)),
            (INT2, Value::Int(1 << 40), Some(INT8)),
            (INT4, Value::Int(i64::from(i32::MIN)), None),
            (INT4, Value::Int(1 << 31), Some(INT8)),
            (INT8, Value::Int(i64::MAX), None),
            (INT4, Value::Double(6.0), None),
            (INT4, Value::Double(2.5), Some(NUMERIC)),
            (INT8, Value::Double(1e20), Some(NUMERIC)),
            (FLOAT8, Value::Double(2.5), None),
            (INT4, Value::Null, None),
            (INT4, Value::Text("x".into()), None),
        ] {
            let expected = expected.map(|oid| Box::from([FLOAT4, oid]));
            assert_eq!(
                wider(&[FLOAT4, oid], &[Value::Int(1), value.clone()]),
                expected,
                "{value:?}"
            );
        }
    }

    #[test]
    fn null_has_no_bytes() {
        let mut out = Vec::new();
        assert_eq!(write(INT4, &Value::Null, &mut out), Format::Text);
        assert_eq!(out, [0xff; 4]);
    }
}
