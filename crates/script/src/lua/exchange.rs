//! A client's exchanges with the server: the requests that a script's asks become, and the
//! values that replies become.
//!
//! Whether statements are prepared or values put into their text is decided here alone; the
//! script sees no difference.

use super::answer::{self, Ignorable};
use super::counters::Counter;
use super::lane::Lane;
use super::placeholders::numbered;
use super::prepared::{Numbers, utf8};
use super::settings::Driver;
use crate::Step;
use dbdyno_model::{Keep, PreparedId, Reply, Request, StatementId, Value};
use mlua::{IntoLuaMulti, LuaString, MultiValue};

/// One client's exchanges.
pub(super) struct Exchange {
    ignorable: Ignorable,
    numbers: Numbers,
    /// The request under way; after one that was never answered, the next takes its place.
    under_way: Option<Need>,
    room: Room,
}

/// What a request lends to whoever sends it.
#[derive(Debug, Default)]
struct Room {
    sql: String,
    values: Vec<Value>,
}

/// A request, told without borrowing from the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    /// The text in the room.
    Text(StatementId, Keep),
    /// A statement's text.
    Prepare(u32),
    /// A statement with the values in the room.
    Execute(u32, Keep),
}

/// What comes of preparing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Preparation {
    /// Nothing has to be sent: the statement has this number.
    Here(u32),
    /// The server has to be asked.
    Asked(Need),
}

impl Exchange {
    pub(super) fn new(ignorable: Ignorable) -> Self {
        let (numbers, room) = (Numbers::default(), Room::default());
        Self { ignorable, numbers, under_way: None, room }
    }

    /// A text for the server.
    pub(super) fn query(&mut self, lane: &Lane, sql: &LuaString) -> Result<Need, String> {
        self.room.sql = utf8(sql)?;
        Ok(Need::Text(lane.statement_of(&self.room.sql), lane.source.keep_of_query))
    }

    /// A statement to prepare. Where values are put into the text there is nothing to send.
    ///
    /// The statement is known by its numbered text, whatever is sent: a bare `?` may be an
    /// operator.
    pub(super) fn prepare(&mut self, lane: &Lane, sql: &LuaString) -> Result<Preparation, String> {
        let settings = &lane.source.settings;
        let sql = utf8(sql)?;
        let numbered = numbered(&sql, settings.driver);
        let statement = lane.statement_of(&numbered);
        let sent = match settings.driver {
            Driver::Pgsql if settings.prepares => numbered,
            _ => sql,
        };
        let number = self.numbers.take(statement, sent);
        if !settings.prepares {
            return Ok(Preparation::Here(number));
        }
        Ok(Preparation::Asked(Need::Prepare(number)))
    }

    /// A statement's parameters are of these kinds.
    pub(super) fn bind(&mut self, number: u32, kinds: &LuaString) {
        self.numbers.bind(number, &kinds.as_bytes());
    }

    /// A statement with its values.
    pub(super) fn execute(
        &mut self,
        lane: &Lane,
        number: u32,
        values: MultiValue,
    ) -> Result<Need, String> {
        let prepared =
            self.numbers.get(number).ok_or("the script executes a statement that it has closed")?;
        prepared.read_values(values, &mut self.room.values)?;
        let keep = lane.source.keep_of_execute;
        if lane.source.settings.prepares {
            return Ok(Need::Execute(number, keep));
        }
        self.room.sql = prepared.with_values(&self.room.values, lane.source.settings.driver);
        Ok(Need::Text(prepared.statement, keep))
    }

    /// A statement is not used any more.
    pub(super) fn close(&mut self, number: u32) {
        self.numbers.close(number);
    }

    /// The request itself, which is under way from here.
    pub(super) fn step(&mut self, need: Need) -> Step<'_> {
        self.under_way = Some(need);
        let Room { sql, values } = &self.room;
        Step::Ask(match need {
            Need::Text(statement, keep) => Request::Text { statement, sql, keep },
            Need::Prepare(number) => {
                let statement = StatementId::UNCOUNTED;
                let (_, sql) = self.known(number);
                Request::Prepare { statement, prepared: PreparedId(number), sql }
            }
            Need::Execute(number, keep) => {
                let (statement, sql) = self.known(number);
                let prepared = PreparedId(number);
                Request::Execute { statement, prepared, sql, parameters: values, keep }
            }
        })
    }

    fn known(&self, number: u32) -> (StatementId, &str) {
        let prepared = self.numbers.get(number);
        prepared.map_or((StatementId::UNCOUNTED, ""), |known| (known.statement, &known.sql))
    }

    /// The values that answer the request under way.
    pub(super) fn answer(&mut self, lane: &Lane, reply: &Reply<'_>) -> mlua::Result<MultiValue> {
        let prepared = match self.under_way.take() {
            Some(Need::Prepare(number)) => Some(number),
            _ => None,
        };
        let lua = &lane.lua;
        match (prepared, reply.error) {
            (Some(number), None) => number.into_lua_multi(lua),
            (Some(number), Some(error)) => {
                self.close(number);
                answer::refusal(lua, error, &self.ignorable)
            }
            (None, _) => {
                count(lane, reply);
                answer::values(lua, reply, &self.ignorable)
            }
        }
    }
}

/// Counts what came of a statement.
fn count(lane: &Lane, reply: &Reply<'_>) {
    match reply.error {
        Some(_) => lane.counters.add(Counter::Error),
        None => lane.counters.add_reply(reply),
    }
}
