//! A client's exchanges with the server: converts what scripts yield to requests, and replies to
//! values.
//!
//! Only this module decides whether statements are prepared or values are inserted into their text;
//! the script sees no difference.

use super::answer::{self, Ignorable};
use super::counters::Counter;
use super::placeholders::numbered;
use super::prepared::{PreparedStatements, utf8};
use super::settings::Driver;
use super::state::State;
use super::statements::Way;
use crate::Step;
use dbdyno_model::{ConnectionId, Keep, PreparedId, Reply, Request, StatementId, Value};
use mlua::{IntoLuaMulti, LuaString, MultiValue};

/// One client's exchanges.
pub(super) struct Exchange {
    ignorable: Ignorable,
    prepared: PreparedStatements,
    /// The request in flight; if it is never answered, the next one replaces it.
    in_flight: Option<Outgoing>,
    /// The connection that the latest request goes to.
    connection: ConnectionId,
    buffers: Buffers,
}

/// The text and values that a request borrows.
#[derive(Debug, Default)]
struct Buffers {
    sql: String,
    values: Vec<Value>,
}

/// A request, in a form that borrows nothing from the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outgoing {
    /// The text in the buffers.
    Text(StatementId, Keep),
    /// Preparing a statement.
    Prepare(u32),
    /// A prepared statement with the values in the buffers.
    Execute(u32, Keep),
}

/// The outcome of a call to prepare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Preparation {
    /// Nothing has to be sent: the statement has this number.
    Known(u32),
    /// A request has to be sent.
    Send(Outgoing),
}

impl Exchange {
    pub(super) fn new(ignorable: Ignorable) -> Self {
        let (prepared, buffers) = (PreparedStatements::default(), Buffers::default());
        let connection = ConnectionId::FIRST;
        Self { ignorable, prepared, in_flight: None, connection, buffers }
    }

    /// A statement given as text.
    pub(super) fn query(
        &mut self,
        state: &State,
        way: Way,
        sql: &LuaString,
    ) -> Result<Outgoing, String> {
        self.buffers.sql = utf8(sql)?;
        self.connection = way.connection;
        Ok(Outgoing::Text(state.statement_of(&self.buffers.sql, way), state.source.keep_of_query))
    }

    /// A statement to prepare. Where values are inserted into the text there is nothing to send.
    ///
    /// Statistics use the text with numbered parameters, whatever is sent: a bare `?` may be an
    /// operator.
    pub(super) fn prepare(
        &mut self,
        state: &State,
        way: Way,
        sql: &LuaString,
    ) -> Result<Preparation, String> {
        let settings = &state.source.settings;
        let sql = utf8(sql)?;
        let numbered = numbered(&sql, settings.driver);
        let statement = state.statement_of(&numbered, way);
        let sent = match settings.driver {
            Driver::Pgsql if settings.prepares => numbered,
            _ => sql,
        };
        let number = self.prepared.take(way.connection, statement, sent);
        self.connection = way.connection;
        if !settings.prepares {
            return Ok(Preparation::Known(number));
        }
        Ok(Preparation::Send(Outgoing::Prepare(number)))
    }

    /// A statement's parameters have these types.
    pub(super) fn bind(&mut self, number: u32, kinds: &LuaString) {
        self.prepared.bind(number, &kinds.as_bytes());
    }

    /// A prepared statement with its values.
    pub(super) fn execute(
        &mut self,
        state: &State,
        number: u32,
        values: MultiValue,
    ) -> Result<Outgoing, String> {
        let prepared = self
            .prepared
            .get(number)
            .ok_or("the script executes a statement that it has closed")?;
        prepared.read_values(values, &mut self.buffers.values)?;
        self.connection = prepared.connection;
        let keep = state.source.keep_of_execute;
        if state.source.settings.prepares {
            return Ok(Outgoing::Execute(number, keep));
        }
        self.buffers.sql = prepared.with_values(&self.buffers.values, state.source.settings.driver);
        Ok(Outgoing::Text(prepared.statement, keep))
    }

    /// A prepared statement is not used any more.
    pub(super) fn close(&mut self, number: u32) {
        self.prepared.close(number);
    }

    /// A connection is closed, and what was prepared on it is not used any more.
    pub(super) fn disconnect(&mut self, connection: ConnectionId) {
        self.prepared.close_all_of(connection);
    }

    /// All connections are gone, and what was prepared on them.
    pub(super) fn forget_prepared(&mut self) {
        self.prepared = PreparedStatements::default();
    }

    /// The request itself, which is in flight from here on.
    pub(super) fn step(&mut self, outgoing: Outgoing) -> Step<'_> {
        self.in_flight = Some(outgoing);
        let Buffers { sql, values } = &self.buffers;
        Step::Request(
            self.connection,
            match outgoing {
                Outgoing::Text(statement, keep) => Request::Text { statement, sql, keep },
                Outgoing::Prepare(number) => {
                    let statement = StatementId::UNCOUNTED;
                    let (_, sql) = self.known(number);
                    Request::Prepare { statement, prepared: PreparedId(number), sql }
                }
                Outgoing::Execute(number, keep) => {
                    let (statement, sql) = self.known(number);
                    let prepared = PreparedId(number);
                    Request::Execute { statement, prepared, sql, parameters: values, keep }
                }
            },
        )
    }

    fn known(&self, number: u32) -> (StatementId, &str) {
        let prepared = self.prepared.get(number);
        prepared.map_or((StatementId::UNCOUNTED, ""), |known| (known.statement, &known.sql))
    }

    /// The values that answer the request in flight.
    pub(super) fn answer(&mut self, state: &State, reply: &Reply<'_>) -> mlua::Result<MultiValue> {
        let prepared = match self.in_flight.take() {
            Some(Outgoing::Prepare(number)) => Some(number),
            _ => None,
        };
        let lua = &state.lua;
        match (prepared, reply.error) {
            (Some(number), None) => number.into_lua_multi(lua),
            (Some(number), Some(error)) => {
                self.close(number);
                answer::refusal(lua, error, &self.ignorable)
            }
            (None, _) => {
                count(state, reply);
                answer::values(lua, reply, &self.ignorable)
            }
        }
    }
}

/// Counts the outcome of a statement.
fn count(state: &State, reply: &Reply<'_>) {
    match reply.error {
        Some(_) => state.counters.add(Counter::Error),
        None => state.counters.add_reply(reply),
    }
}
