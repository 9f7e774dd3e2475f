//! One client running a script: its coroutine, and what the coroutine waits for.
//!
//! Errors are the script's own business: it may catch them, and it decides whether its event
//! begins anew. An endless loop without a request never comes back here, and no hook of the
//! interpreter sees it once it is compiled: a watchdog outside ends such a run.

use super::answer::{self, Ignorable};
use super::ask::Ask;
use super::counters::Counter;
use super::fault::fault;
use super::host::Running;
use super::lane::Lane;
use super::placeholders::numbered;
use super::prepared::{Numbers, utf8};
use super::program::RUN;
use super::settings::Driver;
use crate::dist::Unique;
use crate::{Fault, Resume, Session, Step};
use dbdyno_model::{Keep, Nanos, PreparedId, Purpose, Reply, Request, StatementId, Stream, Value};
use mlua::{IntoLuaMulti, MultiValue, Table, Thread};
use std::sync::Arc;

/// What a coroutine is made to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// `thread_init`, then events.
    Enter,
    /// Events, after one that was interrupted.
    Again,
    /// `thread_done`.
    Leave,
    /// A command, such as `prepare`.
    Command,
}

impl Entry {
    fn name(self) -> &'static str {
        match self {
            Self::Enter => "enter",
            Self::Again => "again",
            Self::Leave => "leave",
            Self::Command => "command",
        }
    }
}

/// Where the client's coroutine is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// There is none yet, or it is of no more use: the next one begins here.
    Outside(Entry),
    /// It has begun and has not come to its first event.
    Entering,
    /// Between two events.
    Between,
    /// In an event, or in whatever else it was made for.
    Inside,
}

/// A client's side of a Lua script.
pub(super) struct LuaSession {
    lane: Arc<Lane>,
    number: u32,
    ignorable: Ignorable,
    /// The client in the state's own terms, once the script is loaded for it.
    client: Option<Table>,
    thread: Option<Thread>,
    place: Place,
    /// Whether an event is to follow when the coroutine is ready for one.
    event_is_due: bool,
    running: Running,
    numbers: Numbers,
    /// The statement whose preparation is under way.
    preparing: Option<u32>,
    room: Room,
}

/// What a step lends to whoever drives the session.
#[derive(Debug, Default)]
struct Room {
    sql: String,
    values: Vec<Value>,
}

/// What the session needs next, told without borrowing from it.
enum Need {
    Text(StatementId, Keep),
    Prepare(u32),
    Execute(u32, Keep),
    Other(Step<'static>),
}

/// Whose turn it is when a coroutine has asked for something.
enum Turn {
    /// Somebody else's.
    Need(Need),
    /// The coroutine's again, with this answer.
    Answer(Option<u32>),
}

fn step(step: Step<'static>) -> Turn {
    Turn::Need(Need::Other(step))
}

impl LuaSession {
    pub(super) fn new(lane: Arc<Lane>, number: u32, entry: Entry) -> Self {
        let settings = &lane.source.settings;
        let unique = Unique::new(number, settings.clients, settings.seed);
        let ignorable = settings.argument("mysql_ignore_errors");
        Self {
            number,
            ignorable: Ignorable::new(settings.driver, ignorable),
            client: None,
            thread: None,
            place: Place::Outside(entry),
            event_is_due: false,
            running: Running { chance: Stream::keyed(0, Purpose::Script, 0, 0), unique },
            numbers: Numbers::default(),
            preparing: None,
            room: Room::default(),
            lane,
        }
    }

    /// Goes on until somebody else is needed.
    fn advance(&mut self, input: &Resume<'_>) -> Result<Need, Fault> {
        let mut ask = self.go_on(input)?;
        loop {
            match self.turn(ask)? {
                Turn::Need(need) => return Ok(need),
                Turn::Answer(number) => ask = self.wake(number)?,
            }
        }
    }

    /// Resumes the coroutine with what it waits for, or begins one.
    fn go_on(&mut self, input: &Resume<'_>) -> Result<Ask, Fault> {
        match (self.place, input) {
            (Place::Outside(entry), _) => self.begin_coroutine(entry),
            (Place::Inside | Place::Entering, Resume::Reply(reply)) => {
                let values = self.answer(reply)?;
                self.wake(values)
            }
            (Place::Between, _) => {
                self.place = Place::Inside;
                self.wake(())
            }
            _ => self.wake(()),
        }
    }

    fn begin_coroutine(&mut self, entry: Entry) -> Result<Ask, Fault> {
        let client = match &self.client {
            Some(client) => client.clone(),
            None => self.load()?,
        };
        let thread = self.lane.thread(&client).map_err(|error| self.fault(&error.to_string()))?;
        self.thread = Some(thread);
        self.place = match entry {
            Entry::Enter | Entry::Again => Place::Entering,
            _ => Place::Inside,
        };
        self.wake((client, entry.name()))
    }

    fn load(&mut self) -> Result<Table, Fault> {
        let client = self.lane.client(self.number, &mut self.running);
        let client = client.map_err(|message| self.fault(&message))?;
        self.client = Some(client.clone());
        Ok(client)
    }

    fn wake(&mut self, values: impl IntoLuaMulti) -> Result<Ask, Fault> {
        let Some(thread) = &self.thread else {
            return Err(self.fault("the script is not running"));
        };
        let asked = self.lane.resume(thread, values, &mut self.running);
        asked.map_err(|message| self.fault(&message))
    }

    /// The values that answer the request under way.
    fn answer(&mut self, reply: &Reply<'_>) -> Result<MultiValue, Fault> {
        self.count(reply);
        let (lua, preparing) = (&self.lane.lua, self.preparing.take());
        let values = match (preparing, reply.error) {
            (Some(number), None) => number.into_lua_multi(lua),
            (Some(number), Some(error)) => {
                self.numbers.close(number);
                answer::refusal(lua, error, &self.ignorable)
            }
            (None, _) => answer::values(lua, reply, &self.ignorable),
        };
        values.map_err(|error| self.fault(&error.to_string()))
    }

    fn count(&self, reply: &Reply<'_>) {
        match reply.error {
            Some(error) if self.ignorable.has(&error.code) => {
                self.lane.counters.add(Counter::Error);
            }
            Some(_) => {}
            None if self.preparing.is_some() => {}
            None => self.lane.counters.add_reply(reply),
        }
    }

    fn turn(&mut self, ask: Ask) -> Result<Turn, Fault> {
        Ok(match ask {
            Ask::Next => self.next_event(),
            Ask::Query(sql) => Turn::Need(self.query(self.told(utf8(&sql))?)),
            Ask::Prepare(sql) => self.prepare(&self.told(utf8(&sql))?),
            Ask::Execute(number, values) => Turn::Need(self.execute(number, values)?),
            Ask::Bind(number, kinds) => {
                self.numbers.bind(number, &kinds.as_bytes());
                Turn::Answer(None)
            }
            Ask::Close(number) => {
                self.numbers.close(number);
                Turn::Answer(None)
            }
            Ask::Sleep(seconds) => step(Step::Sleep(Nanos((seconds * 1e9) as u64))),
            Ask::Restart => step(Step::Restart),
            Ask::Reconnect => {
                self.lane.counters.add(Counter::Reconnect);
                step(Step::Reconnect)
            }
            Ask::Stop => step(Step::Stop),
            Ask::End => step(Step::Done),
            Ask::Fault(message) => return Err(self.fault(&message)),
        })
    }

    /// The coroutine is ready for an event.
    fn next_event(&mut self) -> Turn {
        let ended = self.place == Place::Inside;
        if ended || !self.event_is_due {
            self.place = Place::Between;
            return step(Step::Done);
        }
        self.place = Place::Inside;
        Turn::Answer(None)
    }

    fn query(&mut self, sql: String) -> Need {
        self.room.sql = sql;
        Need::Text(self.statement_of(&self.room.sql), self.lane.source.keep_of_query)
    }

    /// Where values are put into the text there is nothing to prepare.
    ///
    /// The statement is known by its numbered text, whatever is sent: a bare `?` may be an
    /// operator.
    fn prepare(&mut self, sql: &str) -> Turn {
        let settings = &self.lane.source.settings;
        let prepares = settings.prepares;
        let numbered = numbered(sql);
        let statement = self.statement_of(&numbered);
        let sent = match settings.driver {
            Driver::Pgsql if prepares => numbered,
            _ => sql.to_owned(),
        };
        let number = self.numbers.take(statement, sent);
        if !prepares {
            return Turn::Answer(Some(number));
        }
        self.preparing = Some(number);
        Turn::Need(Need::Prepare(number))
    }

    fn execute(&mut self, number: u32, values: MultiValue) -> Result<Need, Fault> {
        let Some(prepared) = self.numbers.get(number) else {
            return Err(self.fault("the script executes a statement that it has closed"));
        };
        let read = prepared.read_values(values, &mut self.room.values);
        self.told(read)?;
        let keep = self.lane.source.keep_of_execute;
        if self.lane.source.settings.prepares {
            return Ok(Need::Execute(number, keep));
        }
        self.room.sql = prepared.with_values(&self.room.values);
        Ok(Need::Text(prepared.statement, keep))
    }

    fn statement_of(&self, sql: &str) -> StatementId {
        self.lane.places().of(sql, &self.lane.source.statements)
    }

    /// A command is a transaction with nothing around it.
    fn is_of_a_command(&self) -> bool {
        self.lane.source.settings.command != RUN
    }

    fn step(&self, need: Need) -> Step<'_> {
        let Room { sql, values } = &self.room;
        match need {
            Need::Text(statement, keep) => Step::Ask(Request::Text { statement, sql, keep }),
            Need::Prepare(number) => {
                let statement = StatementId::UNCOUNTED;
                let sql = self.numbers.get(number).map_or("", |prepared| &prepared.sql);
                Step::Ask(Request::Prepare { statement, prepared: PreparedId(number), sql })
            }
            Need::Execute(number, keep) => {
                let (statement, sql) =
                    self.numbers.get(number).map_or((StatementId::UNCOUNTED, ""), |prepared| {
                        (prepared.statement, &prepared.sql)
                    });
                let prepared = PreparedId(number);
                Step::Ask(Request::Execute { statement, prepared, sql, parameters: values, keep })
            }
            Need::Other(step) => step,
        }
    }

    /// What is wrong becomes a fault.
    fn told<T>(&self, result: Result<T, String>) -> Result<T, Fault> {
        result.map_err(|message| self.fault(&message))
    }

    fn fault(&self, message: &str) -> Fault {
        fault(message, &self.lane.source.name)
    }
}

impl Session for LuaSession {
    fn begin(&mut self, _script: usize, chance: Stream) {
        self.running.chance = chance;
        self.event_is_due = true;
        // An event that was given up leaves a coroutine that nobody will answer any more.
        match self.place {
            Place::Inside => self.place = Place::Outside(Entry::Again),
            Place::Entering => self.place = Place::Outside(Entry::Enter),
            Place::Outside(_) | Place::Between => {}
        }
    }

    fn restart(&mut self) {}

    fn governs_itself(&self) -> bool {
        true
    }

    fn enter(&mut self, chance: Stream) -> bool {
        if self.is_of_a_command() {
            return false;
        }
        self.running.chance = chance;
        self.event_is_due = false;
        self.place = Place::Outside(Entry::Enter);
        true
    }

    fn leave(&mut self, chance: Stream) -> bool {
        if self.is_of_a_command() || self.client.is_none() {
            return false;
        }
        self.running.chance = chance;
        self.place = Place::Outside(Entry::Leave);
        true
    }

    fn resume(&mut self, input: Resume<'_>) -> Result<Step<'_>, Fault> {
        match self.advance(&input) {
            Ok(need) => Ok(self.step(need)),
            Err(fault) => {
                self.thread = None;
                Err(fault)
            }
        }
    }
}
