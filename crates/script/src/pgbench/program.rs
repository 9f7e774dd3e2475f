//! Compiled scripts: instructions, the table of statements, and the initial state of clients.
//!
//! A program never changes; all clients share it. A client's own state is its execution.

use super::copy::{Format, RowPart};
use super::expression::Expression;
use super::meta::{ShellWord, Sleep, Store};
use super::names::Slot;
use dbdyno_model::{CopyDirection, Flow, Statement, StatementId, Value};

/// The scripts of a plan, compiled.
#[derive(Debug)]
pub struct Program {
    pub(super) scripts: Vec<Vec<Instruction>>,
    pub(super) statements: Vec<Statement>,
    /// Names of the slots.
    pub(super) names: Vec<String>,
    /// For each prefix that rows are stored with, which column sets which variable.
    pub(super) columns: Vec<Vec<(String, Slot)>>,
    /// Every client's initial variables, except its number.
    pub(super) start: Vec<Option<Value>>,
    /// The variable for the client's number, unless the plan sets it.
    pub(super) client_id: Option<Slot>,
    /// Of each script, whether it runs on a standby.
    pub(super) is_on_standby: Vec<bool>,
    pub(super) print: fn(&str),
}

impl Program {
    /// The statements that requests refer to, over all scripts.
    pub fn statements(&self) -> &[Statement] {
        &self.statements
    }
}

/// One step of a script, and the command it belongs to.
#[derive(Debug)]
pub(super) struct Instruction {
    /// The command's index in its script, from 0.
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
    /// Jumps unless the condition is true.
    Unless(Expression, usize),
    Jump(usize),
    Query(Query),
    /// A synchronization point of a pipeline.
    Sync(StatementId, Flow),
    Sleep(Sleep),
    /// The words, and the variable that the output is assigned to.
    Shell(Vec<ShellWord>, Option<Slot>),
}

/// A SQL command.
#[derive(Debug)]
pub(super) struct Query {
    pub(super) statement: StatementId,
    pub(super) body: Body,
    pub(super) store: Option<Store>,
}

/// How the command's values are sent.
#[derive(Debug)]
pub(super) enum Body {
    /// As parts of the text.
    Text(Vec<Chunk>, Flow),
    /// As parameters of the statement.
    Parameters(Vec<Slot>, Flow),
    Copy(CopyBody),
}

/// COPY from or to the client: its text, and the rows of the former.
#[derive(Debug)]
pub(super) struct CopyBody {
    pub(super) sql: Vec<Chunk>,
    pub(super) direction: CopyDirection,
    pub(super) format: Format,
    pub(super) rows: Vec<RowPart>,
}

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Chunk {
    Literal(String),
    Variable(Slot),
    /// A variable that is quoted as a string.
    Quoted(Slot),
}
