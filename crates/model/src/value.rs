//! A value of a script's variable, and of a statement's parameter.

/// What a script's variable holds and a statement's parameter carries.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Value {
    /// SQL's NULL.
    #[default]
    Null,
    /// True or false.
    Bool(bool),
    /// A 64-bit integer.
    Int(i64),
    /// A double.
    Double(f64),
    /// Text, only from `-D` and from rows; a script's own types are the ones above.
    Text(String),
}
