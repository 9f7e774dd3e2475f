//! Scripts ready to run: instructions, the table of statements, and how clients begin.
//!
//! A program never changes; all clients share it. What a client has of its own is its session.

use super::expression::Expression;
use super::meta::{ShellWord, Sleep, Store};
use super::names::Slot;
use super::session::PgbenchSession;
use dbdyno_model::{Flow, Statement, StatementId, Value};
use std::sync::Arc;

/// The scripts of a plan, compiled.
#[derive(Debug)]
pub struct Program {
    pub(super) scripts: Vec<Vec<Instruction>>,
    pub(super) statements: Vec<Statement>,
    /// Names of the slots.
    pub(super) names: Vec<String>,
    /// For each prefix that rows are stored with, which column goes to which variable.
    pub(super) columns: Vec<Vec<(String, Slot)>>,
    /// Every client's variables at its start, but for its number.
    pub(super) start: Vec<Option<Value>>,
    /// Where the client's number goes, unless the plan gives it.
    pub(super) client_id: Option<Slot>,
    pub(super) print: fn(&str),
}

impl Program {
    /// The statements that requests name, over all scripts.
    pub fn statements(&self) -> &[Statement] {
        &self.statements
    }

    /// One client's session.
    pub fn session(self: &Arc<Self>, client_id: u32) -> PgbenchSession {
        PgbenchSession::new(Arc::clone(self), client_id)
    }
}

/// One step of a script, and the command it is of.
#[derive(Debug)]
pub(super) struct Instruction {
    /// The command's place in its script, from 0.
    pub(super) command: u32,
    /// The command's line, from 1.
    pub(super) line: u32,
    pub(super) operation: Operation,
}

/// What a step does.
#[derive(Debug)]
pub(super) enum Operation {
    Set(Slot, Expression),
    SetText(Slot, String),
    /// Goes on elsewhere unless the condition holds.
    Unless(Expression, usize),
    Jump(usize),
    Query(Query),
    /// A synchronisation point of a pipeline.
    Sync(StatementId, Flow),
    Sleep(Sleep),
    /// The words, and the variable that the output goes to.
    Shell(Vec<ShellWord>, Option<Slot>),
}

/// A SQL command.
#[derive(Debug)]
pub(super) struct Query {
    pub(super) statement: StatementId,
    pub(super) body: Body,
    pub(super) store: Option<Store>,
}

/// How the command's values travel.
#[derive(Debug)]
pub(super) enum Body {
    /// As parts of the text.
    Text(Vec<Chunk>),
    /// As parameters of the statement.
    Parameters(Vec<Slot>, Flow),
}

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Chunk {
    Literal(String),
    Variable(Slot),
    /// A variable that stands as a string.
    Quoted(Slot),
}
