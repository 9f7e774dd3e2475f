//! One client running the scripts: a coroutine for each transaction, which yields its requests.

use super::Program;
use super::interpreter::{EXECUTE, FLUSH, Interpreter, QUEUE, SLEEP};
use super::kinds::literal;
use crate::lua::{fault, message_of};
use crate::pgbench::Commands;
use crate::{Execution, Fault, Resume, Step};
use dbdyno_model::{ConnectionId, Flow, Keep, Nanos, Purpose, Reply, Request, StatementId, Stream};
use mlua::{IntoLua, MultiValue, Table, Thread, Value as LuaValue};
use std::sync::Arc;

/// A client's execution.
#[derive(Debug)]
pub(super) struct WorkloadExecution {
    program: Arc<Program>,
    interpreter: Interpreter,
    commands: Commands,
    script: usize,
    /// The random numbers of the transaction, for another try.
    chance: Stream,
    thread: Option<Thread>,
    /// The statement that the script waits for.
    awaited: Option<usize>,
    in_transaction: bool,
    /// Whether statements are in the pipeline.
    queued: bool,
    /// What the end of the pipeline was for.
    after: Option<After>,
}

/// What follows the end of a pipeline.
#[derive(Debug)]
enum After {
    Statement(usize),
    End,
}

/// What the execution needs next, in a form that borrows nothing.
enum Wanted {
    Statement(usize, Flow),
    Sync(StatementId),
    Sleep(Nanos),
    Done,
}

impl WorkloadExecution {
    pub(super) fn new(program: Arc<Program>, interpreter: Interpreter) -> Self {
        let commands = Commands::new(&program.commands);
        Self {
            program,
            interpreter,
            commands,
            script: 0,
            chance: Stream::keyed(0, Purpose::Script, 0, 0),
            thread: None,
            awaited: None,
            in_transaction: false,
            queued: false,
            after: None,
        }
    }

    /// Continues until the script needs the caller.
    fn advance(&mut self, input: &Resume<'_>) -> Result<Wanted, String> {
        let mut values = match input {
            Resume::Reply(reply) => {
                self.in_transaction = reply.in_transaction;
                if reply.error.is_some() {
                    // The script does not decide what happens after a failure: it ends here.
                    self.thread = None;
                    return Ok(Wanted::Done);
                }
                match self.after.take() {
                    Some(After::Statement(place)) => return Ok(self.execute(place)),
                    Some(After::End) => return self.ended(),
                    None => self.rows(reply).map_err(|error| message_of(&error))?,
                }
            }
            _ => LuaValue::Nil,
        };
        loop {
            let yielded = self.resume_thread(values)?;
            values = LuaValue::Nil;
            let Some(mut yielded) = yielded else { return self.ended() };
            let operation = yielded.pop_front().and_then(|value| value.as_i64());
            match operation {
                Some(EXECUTE) => {
                    let place = self.take(yielded)?;
                    return Ok(self.execute(place));
                }
                Some(QUEUE) => {
                    let place = self.take(yielded)?;
                    self.queued = self.program.commands.sync(self.script).is_some();
                    let flow = if self.queued { Flow::Queue } else { Flow::Wait };
                    return Ok(Wanted::Statement(place, flow));
                }
                Some(FLUSH) => {
                    if let Some(sync) = self.sync() {
                        return Ok(sync);
                    }
                }
                Some(SLEEP) => {
                    let seconds = yielded.pop_front().and_then(|value| value.as_f64());
                    let seconds = seconds.ok_or("sleep takes a number of seconds")?;
                    return Ok(Wanted::Sleep(Nanos((seconds.max(0.0) * 1e9) as u64)));
                }
                _ => return Err("the script yielded outside of its coroutines".into()),
            }
        }
    }

    /// Resumes the coroutine, a new one at the beginning; nothing when it has ended.
    fn resume_thread(&mut self, values: LuaValue) -> Result<Option<MultiValue>, String> {
        let thread = if let Some(thread) = self.thread.take() {
            thread
        } else {
            let lua = &self.interpreter.lua;
            self.interpreter.begin(self.chance.clone());
            lua.create_thread(self.interpreter.transaction(self.script).clone())
                .map_err(|error| message_of(&error))?
        };
        let yielded: MultiValue = thread.resume(values).map_err(|error| message_of(&error))?;
        if !thread.is_resumable() {
            return Ok(None);
        }
        self.thread = Some(thread);
        Ok(Some(yielded))
    }

    /// A statement that the script waits for, behind what is in the pipeline.
    fn execute(&mut self, place: usize) -> Wanted {
        if let Some(sync) = self.sync() {
            self.after = Some(After::Statement(place));
            return sync;
        }
        self.awaited = Some(place);
        Wanted::Statement(place, Flow::Wait)
    }

    /// The end of the pipeline, if statements are in it.
    fn sync(&mut self) -> Option<Wanted> {
        let queued = std::mem::take(&mut self.queued);
        let statement = self.program.commands.sync(self.script).filter(|_| queued)?;
        Some(Wanted::Sync(statement))
    }

    fn ended(&mut self) -> Result<Wanted, String> {
        if let Some(sync) = self.sync() {
            self.after = Some(After::End);
            return Ok(sync);
        }
        if self.in_transaction {
            return Err("the script ends inside a transaction block".into());
        }
        Ok(Wanted::Done)
    }

    /// Stores the parameters of a statement; returns its place.
    fn take(&mut self, mut yielded: MultiValue) -> Result<usize, String> {
        let number = yielded.pop_front().and_then(|value| value.as_usize());
        let place = number.and_then(|number| number.checked_sub(1)).ok_or("no statement")?;
        let declared = &self.program.declared[self.script][place];
        let is_text = self.program.commands.is_text(self.script, place);
        let dialect = self.program.settings.dialect;
        for ((name, kind), given) in declared.parameters.iter().zip(yielded) {
            let value = kind
                .parameter(given)
                .and_then(|value| if is_text { literal(value, dialect) } else { Ok(value) })
                .map_err(|message| {
                    format!("parameter {name} of line {}: {message}", declared.line)
                })?;
            self.commands.set(&self.program.commands, name, value);
        }
        Ok(place)
    }

    /// The rows of the statement that was waited for, each by the names of its columns.
    fn rows(&mut self, reply: &Reply<'_>) -> mlua::Result<LuaValue> {
        let Some(place) = self.awaited.take() else { return Ok(LuaValue::Nil) };
        let lua = &self.interpreter.lua;
        let kinds = &self.program.declared[self.script][place].columns;
        let table = lua.create_table()?;
        table.raw_set("touched", reply.rows_touched)?;
        if let Some(result) = reply.results.last() {
            let kind_of = |column: &String| kinds.iter().find(|(name, _)| name == column);
            let kinds: Vec<_> = result.columns.iter().map(kind_of).collect();
            for values in &result.rows {
                let row: Table = lua.create_table_with_capacity(0, values.len())?;
                for ((name, kind), value) in result.columns.iter().zip(&kinds).zip(values) {
                    if let Some(text) = value {
                        let value = match kind {
                            Some((_, kind)) => kind.column(lua, text)?,
                            None => text.as_str().into_lua(lua)?,
                        };
                        row.raw_set(name.as_str(), value)?;
                    }
                }
                table.raw_push(row)?;
            }
        }
        Ok(LuaValue::Table(table))
    }

    /// The request for a statement: as of the other language, but rows are kept, and in a pipeline
    /// it is queued.
    fn request(&mut self, place: usize, flow: Flow) -> Option<Request<'_>> {
        let keep = if flow == Flow::Wait { Keep::AllRows } else { Keep::None };
        let request = self.commands.request(&self.program.commands, self.script, place)?;
        Some(match (request, flow) {
            (Request::Parameterized { statement, parameters, .. }, flow) => {
                Request::Parameterized { statement, parameters, keep, flow }
            }
            (Request::Text { statement, sql, .. }, Flow::Wait) => {
                Request::Text { statement, sql, keep }
            }
            (Request::Text { statement, sql, .. }, Flow::Queue) => {
                Request::TextInPipeline { statement, sql, keep }
            }
            (other, _) => other,
        })
    }
}

impl Execution for WorkloadExecution {
    fn can_move(&self) -> bool {
        true
    }

    fn begin(&mut self, script: usize, chance: Stream) {
        self.script = script;
        self.chance = chance;
        self.restart();
    }

    fn restart(&mut self) {
        (self.thread, self.awaited, self.after) = (None, None, None);
        (self.in_transaction, self.queued) = (false, false);
    }

    fn add_counted(&self, counted: &mut Vec<u64>) {
        if let Some(counters) = self.interpreter.counters() {
            counters.add_to(counted);
        }
    }

    fn resume(&mut self, input: Resume<'_>) -> Result<Step<'_>, Fault> {
        match self.advance(&input) {
            Ok(Wanted::Statement(place, flow)) => {
                // Every declared statement has become one command.
                let request = self.request(place, flow);
                Ok(request.map_or(Step::Done, |one| Step::Request(ConnectionId::FIRST, one)))
            }
            Ok(Wanted::Sync(statement)) => {
                let sync = Request::Sync { statement, flow: Flow::Wait };
                Ok(Step::Request(ConnectionId::FIRST, sync))
            }
            Ok(Wanted::Sleep(pause)) => Ok(Step::Sleep(pause)),
            Ok(Wanted::Done) => Ok(Step::Done),
            Err(message) => {
                self.thread = None;
                let script = self.script as u32;
                Err(Fault {
                    script,
                    ..fault(message.into(), &self.program.scripts[self.script].name)
                })
            }
        }
    }
}
