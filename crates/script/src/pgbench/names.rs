//! The variables of all scripts of a plan: each name has one slot.
//!
//! A client keeps its variables from transaction to transaction and from script to script, so slots
//! are common to all scripts. This module also knows which variables can be set at all.

use dbdyno_model::Value;
use std::collections::{BTreeMap, HashMap};

/// The index of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot(pub(super) u32);

/// The prefix of the names of variables that rows set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Prefix(pub(super) u32);

/// Names, their slots, and which of them can be set.
#[derive(Default)]
pub(super) struct Names {
    slots: HashMap<String, Slot>,
    by_slot: Vec<String>,
    settable: Vec<bool>,
    is_text: Vec<bool>,
    row_prefixes: Vec<String>,
}

impl Names {
    /// The slot of a name, a new one if the name is new.
    pub(super) fn slot(&mut self, name: &str) -> Slot {
        if let Some(&slot) = self.slots.get(name) {
            return slot;
        }
        let slot = Slot(self.by_slot.len() as u32);
        self.slots.insert(name.into(), slot);
        self.by_slot.push(name.into());
        self.settable.push(false);
        self.is_text.push(false);
        slot
    }

    /// The slot of a name that something sets.
    pub(super) fn settable_slot(&mut self, name: &str) -> Slot {
        let slot = self.slot(name);
        self.settable[slot.0 as usize] = true;
        slot
    }

    /// The slot of a name that a command sets to text.
    pub(super) fn text_slot(&mut self, name: &str) -> Slot {
        let slot = self.settable_slot(name);
        self.is_text[slot.0 as usize] = true;
        slot
    }

    /// Whether the variable is text, which is quoted as a string wherever it is used in SQL.
    pub(super) fn is_text(&self, slot: Slot) -> bool {
        self.is_text[slot.0 as usize]
    }

    /// Rows may set any name with this prefix: the names of their columns are known only when they
    /// arrive.
    pub(super) fn set_by_rows(&mut self, prefix: &str) -> Prefix {
        let known = self.row_prefixes.iter().position(|known| known == prefix);
        let index = known.unwrap_or(self.row_prefixes.len());
        if known.is_none() {
            self.row_prefixes.push(prefix.into());
        }
        Prefix(index as u32)
    }

    /// Whether anything in the plan can give the variable a value.
    pub(super) fn can_be_set(&self, slot: Slot) -> bool {
        let name = self.name(slot);
        self.settable[slot.0 as usize]
            || self
                .row_prefixes
                .iter()
                .any(|prefix| name.len() > prefix.len() && name.starts_with(prefix.as_str()))
    }

    pub(super) fn name(&self, slot: Slot) -> &str {
        &self.by_slot[slot.0 as usize]
    }

    /// For each prefix, the names of columns and the variables they set.
    pub(super) fn columns(&self) -> Vec<Vec<(String, Slot)>> {
        self.row_prefixes.iter().map(|prefix| self.columns_with(prefix)).collect()
    }

    fn columns_with(&self, prefix: &str) -> Vec<(String, Slot)> {
        let strip = |(index, name): (usize, &String)| {
            let column = name.strip_prefix(prefix).filter(|column| !column.is_empty())?;
            Some((column.to_owned(), Slot(index as u32)))
        };
        self.by_slot.iter().enumerate().filter_map(strip).collect()
    }

    /// Values by slot.
    pub(super) fn place(&self, mut values: BTreeMap<String, Value>) -> Vec<Option<Value>> {
        self.by_slot.iter().map(|name| values.remove(name)).collect()
    }

    /// All names, in the order of their slots.
    pub(super) fn into_names(self) -> Vec<String> {
        self.by_slot
    }
}

#[cfg(test)]
mod tests {
    use super::Names;

    #[test]
    fn rows_can_set_what_begins_with_their_prefix() {
        let mut names = Names::default();
        let (plain, prefixed, bare) = (names.slot("x"), names.slot("p_x"), names.slot("p_"));
        assert_eq!(names.set_by_rows("p_"), names.set_by_rows("p_"));
        assert_eq!(
            [plain, prefixed, bare].map(|slot| names.can_be_set(slot)),
            [false, true, false]
        );
        assert_eq!(names.columns(), [[("x".to_owned(), prefixed)]]);
    }
}
