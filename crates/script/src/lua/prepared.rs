//! The statements that one client has prepared, on all of its connections, by their numbers.
//!
//! The number of a closed statement is reused by the next one, which also closes the old statement
//! on the connection. So a script that prepares and closes repeatedly does not use ever more
//! memory.

use super::placeholders::filled;
use super::settings::Driver;
use dbdyno_model::{ConnectionId, StatementId, Value};
use mlua::{LuaString, MultiValue, Value as LuaValue};

/// A statement, with the text that is sent.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) connection: ConnectionId,
    pub(super) statement: StatementId,
    pub(super) sql: String,
    /// How its values are sent, a letter each: as `i`nteger, `d`ouble or text.
    kinds: Vec<u8>,
}

/// All statements of a client.
#[derive(Debug, Default)]
pub(super) struct PreparedStatements {
    taken: Vec<Option<Prepared>>,
}

impl PreparedStatements {
    /// Assigns the lowest free number to a statement.
    pub(super) fn take(
        &mut self,
        connection: ConnectionId,
        statement: StatementId,
        sql: String,
    ) -> u32 {
        let prepared = Some(Prepared { connection, statement, sql, kinds: Vec::new() });
        let free = self.taken.iter().position(Option::is_none);
        let place = free.unwrap_or(self.taken.len());
        if place == self.taken.len() {
            self.taken.push(prepared);
        } else {
            self.taken[place] = prepared;
        }
        place as u32
    }

    pub(super) fn close(&mut self, number: u32) {
        if let Some(place) = self.taken.get_mut(number as usize) {
            *place = None;
        }
    }

    /// Closes those of a connection.
    pub(super) fn close_all_of(&mut self, connection: ConnectionId) {
        let is_of_it = |prepared: &mut Prepared| prepared.connection == connection;
        for place in &mut self.taken {
            drop(place.take_if(is_of_it));
        }
    }

    pub(super) fn bind(&mut self, number: u32, kinds: &[u8]) {
        if let Some(Some(prepared)) = self.taken.get_mut(number as usize) {
            prepared.kinds = kinds.to_vec();
        }
    }

    pub(super) fn get(&self, number: u32) -> Option<&Prepared> {
        self.taken.get(number as usize)?.as_ref()
    }
}

impl Prepared {
    /// Writes the script's values to `out`, in the types they were bound with.
    pub(super) fn read_values(
        &self,
        given: MultiValue,
        out: &mut Vec<Value>,
    ) -> Result<(), String> {
        out.clear();
        for (value, kind) in given.into_iter().zip(&self.kinds) {
            out.push(read_value(value, *kind)?);
        }
        Ok(())
    }

    /// The text with the values inserted, where nothing is prepared.
    pub(super) fn with_values(&self, values: &[Value], driver: Driver) -> String {
        filled(&self.sql, values, driver)
    }
}

fn read_value(value: LuaValue, kind: u8) -> Result<Value, String> {
    Ok(match value {
        LuaValue::Integer(number) if kind == b'd' => Value::Double(number as f64),
        LuaValue::Integer(number) => Value::Int(number),
        LuaValue::Number(number) if kind == b'i' => Value::Int(number as i64),
        LuaValue::Number(number) => Value::Double(number),
        LuaValue::String(digits) if kind == b'i' => Value::Int(whole(&digits)?),
        LuaValue::String(text) => Value::Text(utf8(&text)?),
        _ => Value::Null,
    })
}

/// An integer with more digits than Lua's own numbers have.
fn whole(digits: &LuaString) -> Result<i64, String> {
    utf8(digits)?.parse().map_err(|_| "a whole number was expected".to_owned())
}

/// The text that is sent. Other encodings would reach the server as different text.
pub(super) fn utf8(text: &LuaString) -> Result<String, String> {
    let text = text.to_str().map_err(|_| "text sent to the server must be UTF-8".to_owned())?;
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::PreparedStatements;
    use dbdyno_model::{ConnectionId, StatementId};

    #[test]
    fn the_lowest_free_number_is_taken() {
        let mut numbers = PreparedStatements::default();
        let take = |numbers: &mut PreparedStatements| {
            numbers.take(ConnectionId::FIRST, StatementId(0), String::new())
        };
        assert_eq!([take(&mut numbers), take(&mut numbers), take(&mut numbers)], [0, 1, 2]);
        numbers.close(1);
        assert!(numbers.get(1).is_none());
        assert_eq!([take(&mut numbers), take(&mut numbers)], [1, 3]);
        numbers.take(ConnectionId(1), StatementId(0), String::new());
        numbers.close_all_of(ConnectionId::FIRST);
        assert_eq!([take(&mut numbers), take(&mut numbers)], [0, 1]);
        assert!(numbers.get(4).is_some());
    }
}
