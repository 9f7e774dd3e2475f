//! A client's variables, and how they are restored when a transaction is retried.
//!
//! Each assignment records the value it replaced. Undoing applies these records backwards, so its
//! cost depends on what a transaction sets and not on the number of variables.

use super::names::Slot;
use dbdyno_model::{Value, prefetch};

/// Values by slot; none for a variable that was never set.
#[derive(Debug)]
pub(super) struct Variables {
    values: Vec<Option<Value>>,
    replaced: Vec<(Slot, Option<Value>)>,
}

impl Variables {
    pub(super) fn new(values: Vec<Option<Value>>) -> Self {
        Self { values, replaced: Vec::new() }
    }

    pub(super) fn values(&self) -> &[Option<Value>] {
        &self.values
    }

    #[inline]
    pub(super) fn get(&self, slot: Slot) -> Option<&Value> {
        self.values[slot.0 as usize].as_ref()
    }

    #[inline]
    pub(super) fn set(&mut self, slot: Slot, value: Value) {
        let replaced = self.values[slot.0 as usize].replace(value);
        self.replaced.push((slot, replaced));
    }

    /// Sets a variable for good: it cannot be undone.
    pub(super) fn replace(&mut self, slot: Slot, value: Value) {
        self.values[slot.0 as usize] = Some(value);
    }

    /// Prefetches what the next transaction reads.
    pub(super) fn prefetch(&self) {
        prefetch(&self.values[..]);
        prefetch(&self.replaced[..]);
    }

    /// From here on assignments can be undone; earlier ones no longer.
    pub(super) fn keep(&mut self) {
        self.replaced.clear();
    }

    /// Undoes all assignments since `keep`.
    pub(super) fn undo(&mut self) {
        while let Some((slot, value)) = self.replaced.pop() {
            self.values[slot.0 as usize] = value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Slot, Variables};
    use dbdyno_model::Value;

    #[test]
    fn undoing_restores_the_first_of_several_values() {
        let mut variables = Variables::new(vec![Some(Value::Int(1)), None]);
        variables.keep();
        variables.set(Slot(0), Value::Int(2));
        variables.set(Slot(1), Value::Null);
        variables.set(Slot(0), Value::Int(3));
        variables.undo();
        assert_eq!(variables.values(), [Some(Value::Int(1)), None]);
    }
}
