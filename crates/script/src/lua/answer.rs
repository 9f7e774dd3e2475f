//! Converts a server's answer to the values that the library expects: results, or nothing and a
//! failure.

use super::settings::Driver;
use dbdyno_model::{Reply, ResultSet, ServerError};
use mlua::{Lua, MultiValue, Table, Value};

/// The SQLSTATEs for which sysbench's PostgreSQL driver restarts an event: deadlock, duplicate key
/// and serialization failure.
const IGNORABLE_POSTGRES: [&str; 3] = ["40P01", "23505", "40001"];

/// The errors that restart the event instead of ending the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ignorable {
    All,
    Codes(Vec<String>),
}

impl Ignorable {
    /// The default of a driver, or those of `--mysql-ignore-errors`.
    pub(super) fn new(driver: Driver, given: Option<&str>) -> Self {
        let codes =
            |list: &str| Self::Codes(list.split(',').map(|code| code.trim().into()).collect());
        match (driver, given) {
            (Driver::Pgsql, _) => Self::Codes(IGNORABLE_POSTGRES.map(String::from).into()),
            (Driver::Mysql, Some(list)) if list.split(',').any(|code| code.trim() == "all") => {
                Self::All
            }
            (Driver::Mysql, given) => codes(given.unwrap_or("1213,1020,1205")),
        }
    }

    pub(super) fn has(&self, code: &str) -> bool {
        match self {
            Self::All => true,
            Self::Codes(codes) => codes.iter().any(|known| known == code),
        }
    }
}

/// The values that a coroutine is resumed with after an exchange: its results, or `false` where
/// rows came and none were kept.
pub(super) fn values(
    lua: &Lua,
    reply: &Reply<'_>,
    ignorable: &Ignorable,
) -> mlua::Result<MultiValue> {
    if let Some(error) = reply.error {
        return refusal(lua, error, ignorable);
    }
    let with_rows = reply.results.iter().filter(|result| !result.columns.is_empty());
    let mut results = with_rows.map(|result| rows(lua, result)).peekable();
    if results.peek().is_none() {
        let unkept = (reply.rows_returned > 0).then_some(Value::Boolean(false));
        return Ok(unkept.into_iter().collect());
    }
    let list = lua.create_table()?;
    for result in results {
        list.push(result?)?;
    }
    Ok([Value::Table(list)].into_iter().collect())
}

/// Nothing, and the server's error.
pub(super) fn refusal(
    lua: &Lua,
    error: &ServerError,
    ignorable: &Ignorable,
) -> mlua::Result<MultiValue> {
    let failure = lua.create_table()?;
    // PostgreSQL has no numbers besides its SQLSTATEs, and errors of the client have neither.
    let number = if error.code == error.sqlstate { 0 } else { error.code.parse().unwrap_or(0_u32) };
    let state = if error.sqlstate.is_empty() { &error.code } else { &error.sqlstate };
    failure.set("number", number)?;
    failure.set("state", state.as_str())?;
    failure.set("message", error.message.as_str())?;
    failure.set("ignorable", ignorable.has(&error.code))?;
    Ok([Value::Nil, Value::Table(failure)].into_iter().collect())
}

fn rows(lua: &Lua, result: &ResultSet) -> mlua::Result<Table> {
    let rows = lua.create_table_with_capacity(result.rows.len(), 0)?;
    for (place, values) in (1_i64..).zip(result.rows.iter()) {
        rows.raw_set(place, row(lua, values)?)?;
    }
    let table = lua.create_table()?;
    table.raw_set("nrows", result.row_count)?;
    table.raw_set("nfields", result.columns.len())?;
    table.raw_set("rows", rows)?;
    table.raw_set("at", 0)?;
    Ok(table)
}

/// A row as an array in which NULL leaves a gap.
fn row<'a>(lua: &Lua, values: impl Iterator<Item = Option<&'a str>>) -> mlua::Result<Table> {
    let row = lua.create_table_with_capacity(values.size_hint().0, 0)?;
    for (place, value) in (1_i64..).zip(values) {
        if let Some(text) = value {
            row.raw_set(place, text)?;
        }
    }
    Ok(row)
}
