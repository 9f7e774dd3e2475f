//! What expressions are evaluated with: variables, chance, and where `debug()` prints.

use super::datum::Datum;
use super::names::Slot;
use dbdyno_model::{Stream, Value};

/// What an expression is evaluated with.
pub(super) struct Scope<'a> {
    pub(super) variables: &'a [Option<Value>],
    pub(super) names: &'a [String],
    pub(super) chance: &'a mut Stream,
    /// Receives the lines of `debug()`.
    pub(super) print: fn(&str),
    /// Script and command, for those lines.
    pub(super) place: (u32, u32),
}

impl Scope<'_> {
    #[inline]
    pub(super) fn read(&self, slot: Slot) -> Result<Datum, String> {
        match &self.variables[slot.0 as usize] {
            Some(value) => Datum::from_value(value)
                .map_err(|message| format!("variable {}: {message}", self.name(slot))),
            None => Err(format!("variable {} has no value", self.name(slot))),
        }
    }

    fn name(&self, slot: Slot) -> &str {
        &self.names[slot.0 as usize]
    }
}
