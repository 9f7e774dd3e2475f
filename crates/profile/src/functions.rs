//! The functions that samples met: each has a number, and is described once.

use std::collections::HashMap;

/// Whose code a function is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Of an object file, by its own name.
    Named,
    /// Of an object file, without a name there: called after its nearest neighbour.
    Near,
    /// Of an object file of which nothing is known.
    Unnamed,
    /// Of memory that belongs to no file: code that was compiled while it runs.
    Jit,
    /// Of the kernel.
    Kernel,
}

/// A function, or as much of one as is known.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Function {
    /// Whose code it is.
    pub kind: Kind,
    /// Its name, that of its neighbour, or nothing.
    pub name: String,
    /// The object file's name without its folder; for the kernel, how the task came into it.
    pub object: String,
}

/// All functions met so far, by their number.
#[derive(Debug, Default)]
pub(crate) struct Functions {
    numbers: HashMap<Function, u32>,
    listed: Vec<Function>,
}

impl Functions {
    pub(crate) fn number_of(&mut self, function: Function) -> u32 {
        if let Some(number) = self.numbers.get(&function) {
            return *number;
        }
        let number = self.listed.len() as u32;
        self.listed.push(function.clone());
        self.numbers.insert(function, number);
        number
    }

    /// Those with at least this number.
    pub(crate) fn since(&self, number: usize) -> &[Function] {
        &self.listed[number..]
    }
}
