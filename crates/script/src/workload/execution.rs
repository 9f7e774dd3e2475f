//! One client running the scripts: a coroutine for each transaction, which yields its requests.

use super::Program;
use super::interpreter::{ASK, EXECUTE, FLUSH, Interpreter, QUEUE, SLEEP};
use super::kinds::literal;
use super::rows::{self, Columns};
use crate::lua::{fault, message_of};
use crate::pgbench::Commands;
use crate::{Execution, Fault, Resume, Step};
use dbdyno_model::{ConnectionId, Flow, Keep, Nanos, Purpose, Reply, Request, StatementId, Stream};
use mlua::{MultiValue, Table, Thread, Value as LuaValue};
use std::collections::VecDeque;
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
    has_queued: bool,
    /// The queued statements without an answer, oldest first, and where rows go that are wanted.
    queued: VecDeque<Option<(usize, Table)>>,
    /// Why the rows of a queued statement could not be stored.
    broken: Option<String>,
    /// The columns of each script's statements.
    columns: Vec<Vec<Columns>>,
    /// Whether the script has ended, and what it queued is waited for.
    is_ending: bool,
}

/// What the execution needs next, in a form that borrows nothing.
enum Wanted {
    Statement(Sent),
    Sync(StatementId),
    Sleep(Nanos),
    Done,
}

/// How a statement is sent.
#[derive(Clone, Copy)]
struct Sent {
    place: usize,
    flow: Flow,
    keep: Keep,
    in_pipeline: bool,
}

impl WorkloadExecution {
    pub(super) fn new(program: Arc<Program>, interpreter: Interpreter) -> Self {
        let commands = Commands::new(&program.commands);
        let unknown = |statements: &Vec<_>| statements.iter().map(|_| Columns::default()).collect();
        let columns = program.declared.iter().map(unknown).collect();
        Self {
            program,
            interpreter,
            commands,
            script: 0,
            chance: Stream::keyed(0, Purpose::Script, 0, 0),
            thread: None,
            awaited: None,
            in_transaction: false,
            has_queued: false,
            queued: VecDeque::new(),
            broken: None,
            columns,
            is_ending: false,
        }
    }

    /// Continues until the script needs the caller.
    fn advance(&mut self, input: &Resume<'_>) -> Result<Wanted, String> {
        if let Some(message) = self.broken.take() {
            return Err(message);
        }
        let mut values = match input {
            Resume::Reply(reply) => {
                self.in_transaction = reply.in_transaction;
                if reply.error.is_some() {
                    // The script does not decide what happens after a failure: it ends here.
                    self.thread = None;
                    return Ok(Wanted::Done);
                }
                if self.is_ending {
                    return self.ended();
                }
                self.answer(reply).map_err(|error| message_of(&error))?
            }
            // What asking for rows returns; others ignore it.
            _ => match self.queued.back() {
                Some(Some((_, rows))) => LuaValue::Table(rows.clone()),
                _ => LuaValue::Nil,
            },
        };
        loop {
            let yielded = self.resume_thread(values)?;
            values = LuaValue::Nil;
            let Some(mut yielded) = yielded else { return self.ended() };
            let operation = yielded.pop_front().and_then(|value| value.as_i64());
            match operation {
                Some(EXECUTE) => {
                    let place = self.take(yielded)?;
                    return Ok(self.execute(place, Keep::AllRows));
                }
                Some(QUEUE) => {
                    let place = self.take(yielded)?;
                    return Ok(self.queue(place, None));
                }
                Some(ASK) => {
                    let place = self.take(yielded)?;
                    let rows = self.interpreter.lua.create_table();
                    return Ok(self.queue(place, Some(rows.map_err(|error| message_of(&error))?)));
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

    /// A statement that the script waits for, and with it for what is in the pipeline.
    fn execute(&mut self, place: usize, keep: Keep) -> Wanted {
        let in_pipeline = std::mem::take(&mut self.has_queued);
        self.awaited = (keep != Keep::None).then_some(place);
        Wanted::Statement(Sent { place, flow: Flow::Wait, keep, in_pipeline })
    }

    /// A statement that the script does not wait for, where there are pipelines.
    fn queue(&mut self, place: usize, rows: Option<Table>) -> Wanted {
        let keep = if rows.is_some() { Keep::AllRows } else { Keep::None };
        if self.program.commands.sync(self.script).is_none() {
            return self.execute(place, keep);
        }
        self.has_queued = true;
        self.queued.push_back(rows.map(|rows| (place, rows)));
        Wanted::Statement(Sent { place, flow: Flow::Queue, keep, in_pipeline: true })
    }

    /// The end of the pipeline, if statements are in it.
    fn sync(&mut self) -> Option<Wanted> {
        let has_queued = std::mem::take(&mut self.has_queued);
        let statement = self.program.commands.sync(self.script).filter(|_| has_queued)?;
        Some(Wanted::Sync(statement))
    }

    fn ended(&mut self) -> Result<Wanted, String> {
        if let Some(sync) = self.sync() {
            self.is_ending = true;
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
        let parameters = declared.parameters.iter().zip(&declared.slots);
        for (((name, kind), slot), given) in parameters.zip(yielded) {
            let value = kind
                .parameter(given)
                .and_then(|value| if is_text { literal(value, dialect) } else { Ok(value) })
                .map_err(|message| {
                    format!("parameter {name} of line {}: {message}", declared.line)
                })?;
            if let Some(slot) = slot {
                self.commands.set(*slot, value);
            }
        }
        Ok(place)
    }

    /// The rows of the statement that was waited for, each by the names of its columns.
    fn answer(&mut self, reply: &Reply<'_>) -> mlua::Result<LuaValue> {
        let Some(place) = self.awaited.take() else { return Ok(LuaValue::Nil) };
        let table = self.interpreter.lua.create_table()?;
        self.store(reply, place, &table)?;
        Ok(LuaValue::Table(table))
    }

    fn store(&mut self, reply: &Reply<'_>, place: usize, table: &Table) -> mlua::Result<()> {
        // A procedure's rows may be followed by the end of the call itself, which has no columns.
        let result = reply.results.iter().rfind(|result| !result.columns.is_empty());
        let kinds = result.map_or(&[][..], |result| {
            let declared = &self.program.declared[self.script][place].columns;
            self.columns[self.script][place].kinds(&result.columns, declared)
        });
        rows::store(&self.interpreter.lua, table, reply.rows_touched, result, kinds)
    }

    /// The request for a statement: as of the other language, but rows are kept, and it may be a
    /// part of a pipeline.
    fn request(&mut self, sent: Sent) -> Option<Request<'_>> {
        let Sent { place, flow, keep, in_pipeline } = sent;
        let request = self.commands.request(&self.program.commands, self.script, place)?;
        Some(match request {
            Request::Parameterized { statement, parameters, .. } => {
                Request::Parameterized { statement, parameters, keep, flow }
            }
            Request::Text { statement, sql, .. } if in_pipeline => {
                Request::TextInPipeline { statement, sql, keep, flow }
            }
            Request::Text { statement, sql, .. } => Request::Text { statement, sql, keep },
            other => other,
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
        (self.thread, self.awaited, self.broken) = (None, None, None);
        (self.in_transaction, self.has_queued, self.is_ending) = (false, false, false);
        self.queued.clear();
    }

    fn act_for(&mut self, client: u64) {
        self.interpreter.set_client(client);
    }

    fn queued_answered(&mut self, reply: &Reply<'_>) {
        if let Some(Some((place, rows))) = self.queued.pop_front()
            && let Err(error) = self.store(reply, place, &rows)
        {
            self.broken = Some(message_of(&error));
        }
    }

    fn was_rolled_back(&self) -> bool {
        self.interpreter.counters().is_some_and(|counters| counters.was_rolled_back())
    }

    fn add_counted(&self, counted: &mut Vec<u64>) {
        if let Some(counters) = self.interpreter.counters() {
            counters.add_to(counted);
        }
    }

    fn resume(&mut self, input: Resume<'_>) -> Result<Step<'_>, Fault> {
        match self.advance(&input) {
            Ok(Wanted::Statement(sent)) => {
                // Every declared statement has become one command.
                let request = self.request(sent);
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
