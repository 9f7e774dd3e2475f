//! Parameters of a prepared statement, and the types they are bound with.
//!
//! The server remembers the types of the last execution: they are sent again only when they have
//! changed.

use super::column::{DOUBLE, LONGLONG, TINY, VAR_STRING};
use super::packet::write_sized;
use dbdyno_model::Value;

/// One `?` of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    /// Which parameter of the request it takes.
    parameter: u16,
    /// The type last sent to the server, if any.
    bound: Option<u8>,
}

impl Slot {
    pub(super) fn new(parameter: u16) -> Self {
        Self { parameter, bound: None }
    }

    /// The value it takes. A missing one is a mistake of the caller and is sent as NULL.
    #[inline]
    fn value(self, parameters: &[Value]) -> &Value {
        parameters.get(usize::from(self.parameter)).unwrap_or(&Value::Null)
    }
}

/// Records the types of these parameters; returns whether they must be sent. A NULL keeps the
/// slot's type.
#[inline]
pub(super) fn bind(slots: &mut [Slot], parameters: &[Value]) -> bool {
    let mut changed = false;
    for slot in slots {
        let type_code = type_code(slot.value(parameters)).or(slot.bound).unwrap_or(VAR_STRING);
        changed |= slot.bound != Some(type_code);
        slot.bound = Some(type_code);
    }
    changed
}

/// The server may not remember the types any more.
pub(super) fn unbind(slots: &mut [Slot]) {
    for slot in slots {
        slot.bound = None;
    }
}

fn type_code(value: &Value) -> Option<u8> {
    match value {
        Value::Null => None,
        Value::Bool(_) => Some(TINY),
        Value::Int(_) => Some(LONGLONG),
        Value::Double(_) => Some(DOUBLE),
        Value::Text(_) => Some(VAR_STRING),
    }
}

/// Appends the NULL bitmap, the types where they must be sent, and the values.
#[inline]
pub(super) fn write(slots: &[Slot], parameters: &[Value], with_types: bool, out: &mut Vec<u8>) {
    let nulls = out.len();
    out.resize(nulls + slots.len().div_ceil(8), 0);
    out.push(u8::from(with_types));
    if with_types {
        for slot in slots {
            out.extend_from_slice(&[slot.bound.unwrap_or(VAR_STRING), 0]);
        }
    }
    for (number, slot) in slots.iter().enumerate() {
        let value = slot.value(parameters);
        if *value == Value::Null {
            out[nulls + number / 8] |= 1 << (number % 8);
        } else {
            write_value(value, out);
        }
    }
}

#[inline]
fn write_value(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => {}
        Value::Bool(truth) => out.push(u8::from(*truth)),
        Value::Int(number) => out.extend_from_slice(&number.to_le_bytes()),
        Value::Double(number) => out.extend_from_slice(&number.to_le_bytes()),
        Value::Text(text) => write_sized(out, text.as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::{Slot, bind, unbind, write};
    use dbdyno_model::Value;

    #[test]
    fn types_are_sent_when_they_change() {
        let mut slots = [Slot::new(1), Slot::new(0)];
        let number = [Value::Int(1), Value::Text("x".into())];
        assert!(bind(&mut slots, &number));
        assert!(!bind(&mut slots, &number));
        assert!(!bind(&mut slots, &[Value::Null, Value::Null]), "a NULL has any type");
        assert!(bind(&mut slots, &[Value::Double(1.0), Value::Null]));
        unbind(&mut slots);
        assert!(bind(&mut slots, &[Value::Double(1.0), Value::Null]));
    }

    #[test]
    fn nulls_are_marked_types_and_values_follow() {
        let mut slots = [1, 0, 2, 3].map(Slot::new);
        let values = [Value::Null, Value::Int(-2), Value::Text("ab".into()), Value::Bool(true)];
        let mut out = Vec::new();
        let with_types = bind(&mut slots, &values);
        write(&slots, &values, with_types, &mut out);
        let expected =
            b"\x02\x01\x08\0\xfd\0\xfd\0\x01\0\xfe\xff\xff\xff\xff\xff\xff\xff\x02ab\x01";
        assert_eq!(out, expected);
        out.clear();
        write(&slots, &values[..1], false, &mut out);
        assert_eq!(out, b"\x0f\x00", "what is missing is NULL");
    }
}
