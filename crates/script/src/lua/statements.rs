//! The statements of a script, which are discovered while it runs.
//!
//! Statistics are kept in arrays, so the number of statements is limited; statements beyond the
//! limit are all counted under the last number. Each connection of a client, and each server, has
//! its own.

use super::normalize::{beginning, normalize};
use super::settings::Driver;
use dbdyno_model::{ConnectionId, Statement, StatementId};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// The maximum number of statements, including the last one for all others.
const STATEMENTS_MAX: usize = 256;

/// The number of all statements beyond the limit.
const LAST: usize = STATEMENTS_MAX - 1;

/// The name of the statements beyond the limit.
const OTHERS: &str = "(other statements)";

/// The statements of a run, shared by all threads.
#[derive(Debug, Default)]
pub struct Statements(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    places: HashMap<(Way, String), StatementId>,
    list: Vec<Statement>,
}

/// The way that a statement takes: by which connection of its client, to which server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Way {
    pub(super) connection: ConnectionId,
    pub(super) server: u32,
}

impl Statements {
    /// The statements discovered so far, from number `from` on: a statement keeps its number, and
    /// the list only grows.
    pub fn since(&self, from: usize) -> Vec<Statement> {
        self.known().list.get(from..).unwrap_or_default().to_vec()
    }

    fn number_of(&self, way: Way, normal: &str, sql: &str) -> StatementId {
        let mut known = self.known();
        let key = (way, normal.to_owned());
        if let Some(place) = known.places.get(&key) {
            return *place;
        }
        match known.list.len() {
            STATEMENTS_MAX => StatementId(STATEMENTS_MAX as u32 - 1),
            LAST => known.add((Way::default(), OTHERS.to_owned()), ""),
            _ => known.add(key, beginning(sql)),
        }
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    /// Adds a statement: its normalized text is its name, and the first text found is its example.
    fn add(&mut self, key: (Way, String), sql: &str) -> StatementId {
        let place = StatementId(self.list.len() as u32);
        let (Way { connection, server }, normal) = key.clone();
        self.places.insert(key, place);
        self.list.push(Statement {
            as_text: None,
            copy: None,
            script: 0,
            index: place.0,
            line: 0,
            source: normal,
            sql: sql.to_owned(),
            parameters: 0,
            parameter_types: Vec::new(),
            connection,
            server,
        });
        place
    }
}

/// One Lua state's cache of statement numbers, so that threads share a lock only for new statements.
#[derive(Debug, Default)]
pub(super) struct StatementNumbers {
    /// A list, because nearly all scripts have one way or two.
    places: Vec<(Way, HashMap<String, StatementId>)>,
    normal: String,
}

impl StatementNumbers {
    /// The number of a statement.
    pub(super) fn of(
        &mut self,
        sql: &str,
        way: Way,
        driver: Driver,
        statements: &Statements,
    ) -> StatementId {
        normalize(sql, driver, &mut self.normal);
        let known = self.places.iter().position(|(known, _)| *known == way);
        let place = known.unwrap_or_else(|| {
            self.places.push((way, HashMap::new()));
            self.places.len() - 1
        });
        let places = &mut self.places[place].1;
        if let Some(place) = places.get(self.normal.as_str()) {
            return *place;
        }
        let place = statements.number_of(way, &self.normal, sql);
        if places.len() < STATEMENTS_MAX {
            places.insert(self.normal.clone(), place);
        }
        place
    }
}

#[cfg(test)]
mod tests {
    use super::{Driver, OTHERS, STATEMENTS_MAX, StatementNumbers, Statements, Way};
    use dbdyno_model::{ConnectionId, StatementId};

    const FIRST: Way = Way { connection: ConnectionId::FIRST, server: 0 };

    #[test]
    fn a_statement_has_one_place_in_all_states() {
        let statements = Statements::default();
        let (mut first, mut second) = (StatementNumbers::default(), StatementNumbers::default());
        assert_eq!(first.of("select 1", FIRST, Driver::Pgsql, &statements), StatementId(0));
        assert_eq!(first.of("commit", FIRST, Driver::Pgsql, &statements), StatementId(1));
        assert_eq!(second.of("commit", FIRST, Driver::Pgsql, &statements), StatementId(1));
        assert_eq!(second.of("select 2", FIRST, Driver::Pgsql, &statements), StatementId(0));
        let texts: Vec<String> = statements.since(1).into_iter().map(|found| found.sql).collect();
        assert_eq!(texts, ["commit"]);
        let all = statements.since(0);
        assert_eq!([&*all[0].source, &*all[0].sql], ["select ?", "select 1"]);
    }

    #[test]
    fn each_connection_and_each_server_has_its_own_statements() {
        let (statements, mut places) = (Statements::default(), StatementNumbers::default());
        let ways = [(0, 0), (1, 0), (1, 1), (0, 0), (1, 1)];
        let numbers = ways.map(|(connection, server)| {
            let way = Way { connection: ConnectionId(connection), server };
            places.of("select 1", way, Driver::Pgsql, &statements).0
        });
        assert_eq!(numbers, [0, 1, 2, 0, 2]);
        let last = &statements.since(2)[0];
        assert_eq!((last.connection, last.server, &*last.source), (ConnectionId(1), 1, "select ?"));
    }

    #[test]
    fn what_finds_no_place_is_counted_together() {
        let (statements, mut places) = (Statements::default(), StatementNumbers::default());
        for number in 0..STATEMENTS_MAX - 1 {
            places.of(&format!("select {}", "x".repeat(number)), FIRST, Driver::Pgsql, &statements);
        }
        assert_eq!(statements.since(0).len(), STATEMENTS_MAX - 1);
        for text in ["one more", "and one", "one more"] {
            assert_eq!(
                places.of(text, FIRST, Driver::Pgsql, &statements),
                StatementId(STATEMENTS_MAX as u32 - 1)
            );
        }
        let all = statements.since(0);
        assert_eq!((all.len(), all[STATEMENTS_MAX - 1].source.as_str()), (STATEMENTS_MAX, OTHERS));
    }
}
