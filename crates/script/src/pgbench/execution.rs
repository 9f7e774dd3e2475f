//! One client running the scripts of a program.
//!
//! It executes instructions until one needs the caller: a request to the server, a pause,
//! or a shell command. It returns what it needs and is resumed with the result. The language has no
//! loops, so a script always ends.

use super::datum::{Datum, value_from_text};
use super::expression::Expression;
use super::meta::StoreRows;
use super::names::Slot;
use super::program::{Body, Instruction, Operation, Program, Query};
use super::scope::Scope;
use super::step_buffers::{StepBuffers, pause};
use super::variables::Variables;
use crate::{Execution, Fault, Resume, Step};
use dbdyno_model::{
    ConnectionId, Purpose, Reply, Request, ResultSet, Stream, Value, text_by_pattern,
};
use std::sync::Arc;

/// The client's connection for the scripts that run on a standby.
const ON_STANDBY: ConnectionId = ConnectionId(1);

/// One client's execution of its scripts.
#[derive(Debug)]
pub struct PgbenchExecution {
    program: Arc<Program>,
    progress: Progress,
    standby: Option<Standby>,
}

/// The standby on which a client reads.
#[derive(Debug)]
struct Standby {
    /// Its number among the servers of the endpoint.
    server: u32,
    /// Whether the client has its connection, or has asked for it: one that cannot be made, or is
    /// lost, lets the client begin anew with its setup.
    is_connected: bool,
    is_setting_up: bool,
}

impl Standby {
    fn connect(&mut self) -> Step<'static> {
        self.is_connected = true;
        Step::Connect { connection: ON_STANDBY, server: self.server }
    }
}

/// A client's position in its script, and its variables.
#[derive(Debug)]
struct Progress {
    variables: Variables,
    script: usize,
    /// On which its statements are sent.
    connection: ConnectionId,
    /// The instruction to continue with.
    next: usize,
    chance: Stream,
    chance_at_begin: Stream,
    /// Whether the server reported that a transaction block is open.
    in_transaction: bool,
    buffers: StepBuffers,
}

impl Program {
    /// One client's execution.
    pub fn execution(self: &Arc<Self>, client_id: u32) -> PgbenchExecution {
        PgbenchExecution::new(Arc::clone(self), client_id)
    }
}

impl PgbenchExecution {
    fn new(program: Arc<Program>, client_id: u32) -> Self {
        let mut variables = Variables::new(program.start.clone());
        if let Some(slot) = program.client_id {
            variables.set(slot, Value::Int(client_id.into()));
        }
        let chance = Stream::keyed(0, Purpose::Script, 0, 0);
        let progress = Progress {
            variables,
            script: 0,
            connection: ConnectionId::FIRST,
            next: usize::MAX,
            chance_at_begin: chance.clone(),
            chance,
            in_transaction: false,
            buffers: StepBuffers::default(),
        };
        Self { program, progress, standby: None }
    }

    /// With a connection to the standby of this number, for the scripts that run there.
    #[must_use]
    pub fn with_standby(self, server: Option<u32>) -> Self {
        let standby =
            server.map(|server| Standby { server, is_connected: false, is_setting_up: false });
        Self { standby, ..self }
    }
}

impl Execution for PgbenchExecution {
    fn can_move(&self) -> bool {
        true
    }

    fn begin(&mut self, script: usize, chance: Stream) {
        let progress = &mut self.progress;
        progress.variables.keep();
        progress.script = script;
        let is_on_standby = self.standby.is_some() && self.program.is_on_standby[script];
        progress.connection = if is_on_standby { ON_STANDBY } else { ConnectionId::FIRST };
        progress.next = 0;
        progress.chance_at_begin = chance.clone();
        progress.chance = chance;
        progress.in_transaction = false;
    }

    fn set_up(&mut self, _chance: Stream) -> bool {
        if let Some(standby) = &mut self.standby {
            standby.is_connected = false;
            standby.is_setting_up = true;
        }
        self.standby.is_some()
    }

    fn connection_left(&mut self) {
        if let Some(standby) = &mut self.standby {
            standby.is_connected = false;
        }
    }

    fn restart(&mut self) {
        let progress = &mut self.progress;
        progress.variables.undo();
        progress.next = 0;
        progress.chance = progress.chance_at_begin.clone();
        progress.in_transaction = false;
    }

    fn prefetch(&self) {
        self.progress.variables.prefetch();
        self.progress.buffers.prefetch();
    }

    fn resume(&mut self, input: Resume<'_>) -> Result<Step<'_>, Fault> {
        let Self { program, progress, standby } = self;
        if let Some(standby) = standby {
            let needs_it = standby.is_setting_up || progress.connection == ON_STANDBY;
            if needs_it && !standby.is_connected {
                return Ok(standby.connect());
            }
            if std::mem::take(&mut standby.is_setting_up) {
                return Ok(Step::Done);
            }
        }
        if let Resume::RowsWanted = input {
            return Ok(progress.next_rows(program));
        }
        progress.take(program, &input)?;
        match progress.advance(program)? {
            Some(place) => progress.step(program, place),
            None => Ok(Step::Done),
        }
    }
}

impl Progress {
    fn code<'p>(&self, program: &'p Program) -> &'p [Instruction] {
        &program.scripts[self.script]
    }

    /// Handles the result of the last step.
    fn take(&mut self, program: &Program, input: &Resume<'_>) -> Result<(), Fault> {
        match input {
            Resume::Continue | Resume::RowsWanted => Ok(()),
            Resume::Reply(reply) => self.take_reply(program, reply),
            Resume::Shell(outcome) => self.take_shell(program, *outcome),
        }
    }

    /// The instruction of the last step.
    fn last_instruction<'p>(&self, program: &'p Program) -> Option<&'p Instruction> {
        self.code(program).get(self.next.checked_sub(1)?)
    }

    fn take_reply(&mut self, program: &Program, reply: &Reply<'_>) -> Result<(), Fault> {
        self.in_transaction = reply.in_transaction;
        if reply.error.is_some() {
            // The script does not decide what happens after a failure: it ends here.
            self.in_transaction = false;
            self.next = usize::MAX;
            return Ok(());
        }
        if let Some(instruction) = self.last_instruction(program)
            && let Operation::Query(Query { store: Some(store), .. }) = &instruction.operation
        {
            let columns = &program.columns[store.prefix.0 as usize];
            let stored = self.store(store.rows, columns, reply.results);
            return stored.map_err(|message| self.fault(instruction, message));
        }
        Ok(())
    }

    fn store(
        &mut self,
        rows: StoreRows,
        columns: &[(String, Slot)],
        results: &[ResultSet],
    ) -> Result<(), String> {
        let results = match rows {
            StoreRows::LastOfEach => results,
            StoreRows::Only => only_row(results)?,
        };
        for result in results {
            if let Some(row) = result.rows.last() {
                self.store_row(columns, &result.columns, row);
            }
        }
        Ok(())
    }

    fn store_row<'a>(
        &mut self,
        columns: &[(String, Slot)],
        names: &[String],
        row: impl Iterator<Item = Option<&'a str>>,
    ) {
        for (name, field) in names.iter().zip(row) {
            if let Some((_, slot)) = columns.iter().find(|(column, _)| column == name) {
                let value = field.map_or(Value::Null, value_from_text);
                self.variables.set(*slot, value);
            }
        }
    }

    fn take_shell(&mut self, program: &Program, outcome: Result<&str, &str>) -> Result<(), Fault> {
        let Some(instruction) = self.last_instruction(program) else { return Ok(()) };
        let Operation::Shell(_, target) = &instruction.operation else { return Ok(()) };
        let number = outcome
            .map_err(|reason| format!("the shell command failed: {reason}"))
            .and_then(|output| target.map(|slot| shell_number(output, slot)).transpose())
            .map_err(|message| self.fault(instruction, message))?;
        if let Some((slot, number)) = number {
            self.variables.set(slot, Value::Int(number));
        }
        Ok(())
    }

    /// Executes instructions until one needs the caller; none at the end of the script.
    fn advance(&mut self, program: &Program) -> Result<Option<usize>, Fault> {
        let code = self.code(program);
        while let Some(instruction) = code.get(self.next) {
            self.next += 1;
            match &instruction.operation {
                Operation::Set(slot, expression) => {
                    let datum = self.evaluate(program, instruction, expression)?;
                    self.variables.set(*slot, datum.into());
                }
                Operation::SetText(slot, pattern) => {
                    let text = text_by_pattern(pattern, &mut self.chance);
                    self.variables.set(*slot, Value::Text(text));
                }
                Operation::Unless(condition, target) => {
                    if !self.evaluate(program, instruction, condition)?.holds() {
                        self.next = *target;
                    }
                }
                Operation::Jump(target) => self.next = *target,
                _ => return Ok(Some(self.next - 1)),
            }
        }
        self.check_transaction_ended(code)?;
        Ok(None)
    }

    fn evaluate(
        &mut self,
        program: &Program,
        instruction: &Instruction,
        expression: &Expression,
    ) -> Result<Datum, Fault> {
        let mut scope = Scope {
            variables: self.variables.values(),
            names: &program.names,
            chance: &mut self.chance,
            print: program.print,
            place: (self.script as u32, instruction.command),
        };
        expression.evaluate(&mut scope).map_err(|message| self.fault(instruction, message))
    }

    fn check_transaction_ended(&self, code: &[Instruction]) -> Result<(), Fault> {
        match code.last() {
            Some(last) if self.in_transaction => {
                Err(self.fault(last, "the script ends inside a transaction block".into()))
            }
            _ => Ok(()),
        }
    }

    /// The step for the instruction at this index.
    fn step<'a>(&'a mut self, program: &'a Program, place: usize) -> Result<Step<'a>, Fault> {
        let instruction = &self.code(program)[place];
        let fault = self.fault_at(instruction);
        let Self { variables, buffers, connection, .. } = self;
        match &instruction.operation {
            Operation::Query(query) => {
                Ok(Step::Request(*connection, buffers.request(query, variables, &program.names)))
            }
            Operation::Sync(statement, flow) => {
                Ok(Step::Request(*connection, Request::Sync { statement: *statement, flow: *flow }))
            }
            Operation::Sleep(sleep) => pause(sleep, variables).map(Step::Sleep).map_err(fault),
            Operation::Shell(words, target) => {
                let command = buffers.command(words, variables).map_err(fault)?;
                Ok(Step::Shell { command, output: target.is_some() })
            }
            Operation::Set(..)
            | Operation::SetText(..)
            | Operation::Unless(..)
            | Operation::Jump(_) => {
                unreachable!("advancing does not stop here")
            }
        }
    }

    /// The step with further rows of the COPY that is the last step.
    fn next_rows<'a>(&'a mut self, program: &'a Program) -> Step<'a> {
        match self.last_instruction(program).map(|instruction| &instruction.operation) {
            Some(Operation::Query(Query { statement, body: Body::Copy(copy), .. })) => {
                Step::Request(
                    self.connection,
                    self.buffers.next_rows(*statement, copy, &self.variables),
                )
            }
            _ => unreachable!("rows are wanted only for a COPY"),
        }
    }

    fn fault(&self, instruction: &Instruction, message: String) -> Fault {
        self.fault_at(instruction)(message)
    }

    /// Makes a message a fault of the instruction.
    fn fault_at(&self, instruction: &Instruction) -> impl FnOnce(String) -> Fault + use<> {
        let script = self.script as u32;
        let (command, line) = (instruction.command, instruction.line);
        move |message| Fault { script, command, line, message, sqlstate: None }
    }
}

/// The last answer, if it has exactly one row.
fn only_row(results: &[ResultSet]) -> Result<&[ResultSet], String> {
    let last = &results[results.len().saturating_sub(1)..];
    match last.first().map_or(0, |result| result.row_count) {
        1 => Ok(last),
        count => Err(format!("\\gset needs exactly one row, not {count}")),
    }
}

/// The integer that a shell command printed on its first line.
fn shell_number(output: &str, slot: Slot) -> Result<(Slot, i64), String> {
    let line = output.lines().next().unwrap_or_default().trim();
    match line.parse() {
        Ok(number) => Ok((slot, number)),
        Err(_) => Err(format!("the shell command must print a whole number, not \"{line}\"")),
    }
}
