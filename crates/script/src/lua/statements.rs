//! The statements of a script, as they come up: nobody knows them before the run.
//!
//! Statistics are kept in places that are there from the start, so their number is bounded;
//! what comes up when all are taken is counted under the last one.

use super::normal::{beginning, normalise};
use super::settings::Driver;
use dbdyno_model::{Statement, StatementId};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// How many statements are told apart, the last place for all others included.
const STATEMENTS_MAX: usize = 256;

/// The place that is the last one's when all others are taken.
const LAST: usize = STATEMENTS_MAX - 1;

/// What stands for the statements that found no place.
const OTHERS: &str = "(other statements)";

/// The statements of a run, shared by all lanes.
#[derive(Debug, Default)]
pub struct Statements(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    places: HashMap<String, StatementId>,
    list: Vec<Statement>,
}

impl Statements {
    /// Those that came up so far, from place `from` on: a statement keeps its place, and the
    /// list only grows.
    pub fn since(&self, from: usize) -> Vec<Statement> {
        self.known().list.get(from..).unwrap_or_default().to_vec()
    }

    fn place_of(&self, normal: &str, sql: &str) -> StatementId {
        let mut known = self.known();
        if let Some(place) = known.places.get(normal) {
            return *place;
        }
        match known.list.len() {
            STATEMENTS_MAX => StatementId(STATEMENTS_MAX as u32 - 1),
            LAST => known.add(OTHERS, ""),
            _ => known.add(normal, beginning(sql)),
        }
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    /// A further statement: its normal form is what it is called, and its text is the first that
    /// came up.
    fn add(&mut self, normal: &str, sql: &str) -> StatementId {
        let place = StatementId(self.list.len() as u32);
        self.places.insert(normal.to_owned(), place);
        self.list.push(Statement {
            script: 0,
            index: place.0,
            line: 0,
            source: normal.to_owned(),
            sql: sql.to_owned(),
            parameters: 0,
        });
        place
    }
}

/// One lane's memory of the statements, so that lanes meet only over new ones.
#[derive(Debug, Default)]
pub(super) struct Places {
    places: HashMap<String, StatementId>,
    normal: String,
}

impl Places {
    /// The place of a text.
    pub(super) fn of(&mut self, sql: &str, driver: Driver, statements: &Statements) -> StatementId {
        normalise(sql, driver, &mut self.normal);
        if let Some(place) = self.places.get(self.normal.as_str()) {
            return *place;
        }
        let place = statements.place_of(&self.normal, sql);
        if self.places.len() < STATEMENTS_MAX {
            self.places.insert(self.normal.clone(), place);
        }
        place
    }
}

#[cfg(test)]
mod tests {
    use super::{Driver, OTHERS, Places, STATEMENTS_MAX, Statements};
    use dbdyno_model::StatementId;

    #[test]
    fn a_statement_has_one_place_in_all_lanes() {
        let statements = Statements::default();
        let (mut first, mut second) = (Places::default(), Places::default());
        assert_eq!(first.of("select 1", Driver::Pgsql, &statements), StatementId(0));
        assert_eq!(first.of("commit", Driver::Pgsql, &statements), StatementId(1));
        assert_eq!(second.of("commit", Driver::Pgsql, &statements), StatementId(1));
        assert_eq!(second.of("select 2", Driver::Pgsql, &statements), StatementId(0));
        let texts: Vec<String> = statements.since(1).into_iter().map(|found| found.sql).collect();
        assert_eq!(texts, ["commit"]);
        let all = statements.since(0);
        assert_eq!([&*all[0].source, &*all[0].sql], ["select ?", "select 1"]);
    }

    #[test]
    fn what_finds_no_place_is_counted_together() {
        let (statements, mut places) = (Statements::default(), Places::default());
        for number in 0..STATEMENTS_MAX - 1 {
            places.of(&format!("select {}", "x".repeat(number)), Driver::Pgsql, &statements);
        }
        assert_eq!(statements.since(0).len(), STATEMENTS_MAX - 1);
        for text in ["one more", "and one", "one more"] {
            assert_eq!(
                places.of(text, Driver::Pgsql, &statements),
                StatementId(STATEMENTS_MAX as u32 - 1)
            );
        }
        let all = statements.since(0);
        assert_eq!((all.len(), all[STATEMENTS_MAX - 1].source.as_str()), (STATEMENTS_MAX, OTHERS));
    }
}
