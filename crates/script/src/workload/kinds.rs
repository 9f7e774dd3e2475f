//! The types of parameters and columns: values from Lua, and into Lua.

use dbdyno_model::Value;
use dbdyno_sql::Dialect;
use mlua::Value as LuaValue;

/// How a value is sent, or what Lua gets of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Int,
    Double,
    Boolean,
    Text,
}

impl Kind {
    /// The type of this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "int" | "bigint" => Self::Int,
            "decimal" | "double" => Self::Double,
            "boolean" => Self::Boolean,
            "text" | "date" | "timestamp" | "json" => Self::Text,
            _ => return None,
        })
    }

    /// A script's value as a parameter. Text stands for numbers with more digits than Lua's have.
    pub(super) fn parameter(self, given: LuaValue) -> Result<Value, String> {
        Ok(match (self, given) {
            (_, LuaValue::Nil) => Value::Null,
            (Self::Int, LuaValue::Integer(number)) => Value::Int(number),
            (Self::Int, LuaValue::Number(number)) if number.fract() == 0.0 => {
                Value::Int(number as i64)
            }
            (Self::Int, LuaValue::String(digits)) => {
                let digits = digits.to_string_lossy();
                Value::Int(digits.parse().map_err(|_| format!("\"{digits}\" is no whole number"))?)
            }
            (Self::Double, LuaValue::Integer(number)) => Value::Double(number as f64),
            (Self::Double, LuaValue::Number(number)) => Value::Double(number),
            (Self::Double | Self::Text, LuaValue::String(text)) => {
                Value::Text(text.to_string_lossy())
            }
            (Self::Boolean, LuaValue::Boolean(truth)) => Value::Bool(truth),
            (_, given) => {
                let (given, wanted) = (given.type_name(), self.name());
                return Err(format!("a {given} was given where {wanted} is declared"));
            }
        })
    }

    fn name(self) -> &'static str {
        match self {
            Self::Int => "a whole number",
            Self::Double => "a number",
            Self::Boolean => "a boolean",
            Self::Text => "text",
        }
    }
}

/// The value as a literal, for a statement that is sent as text.
///
/// Whether a backslash in it escapes what follows depends on the server: behind ODBC it is not
/// known which that is.
pub(super) fn literal(value: Value, dialect: Dialect) -> Result<Value, String> {
    let Value::Text(text) = value else { return Ok(value) };
    let mut quoted = text.replace('\'', "''");
    if quoted.contains('\\') {
        match dialect {
            Dialect::Postgresql => {}
            Dialect::Mysql => quoted = quoted.replace('\\', "\\\\"),
            Dialect::Standard => {
                return Err("text with a backslash needs parameters here: use -M prepared".into());
            }
        }
    }
    Ok(Value::Text(format!("'{quoted}'")))
}

#[cfg(test)]
mod tests {
    use super::{Kind, literal};
    use dbdyno_model::Value;
    use dbdyno_sql::Dialect;
    use mlua::Value as LuaValue;

    #[test]
    fn a_value_that_does_not_fit_its_type_is_refused() {
        assert_eq!(Kind::Int.parameter(LuaValue::Number(3.0)), Ok(Value::Int(3)));
        assert!(Kind::Int.parameter(LuaValue::Number(3.5)).is_err());
        assert!(Kind::Text.parameter(LuaValue::Boolean(true)).is_err());
        assert_eq!(Kind::Boolean.parameter(LuaValue::Nil), Ok(Value::Null));
    }

    #[test]
    fn what_would_end_a_literal_is_doubled() {
        let text = || Value::Text("l'a\\".into());
        let quoted = |text: &str| Ok(Value::Text(text.into()));
        assert_eq!(literal(text(), Dialect::Postgresql), quoted("'l''a\\'"));
        assert_eq!(literal(text(), Dialect::Mysql), quoted("'l''a\\\\'"));
        assert!(literal(text(), Dialect::Standard).is_err());
        assert_eq!(literal(Value::Null, Dialect::Standard), Ok(Value::Null));
    }
}
