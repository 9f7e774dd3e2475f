//! Translates a statement's `$1`, `$2`, … to the `?` of MySQL and ODBC.
//!
//! There parameters are numbered by position: one that is used twice is sent twice, in the order of
//! the text. A text that already uses `?` is left unchanged.

use crate::{Dialect, Kind, tokens};

/// A statement with `?` for its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Positional {
    /// The text.
    pub sql: String,
    /// For each `?` in order: the index of the request's parameter, from 0.
    pub order: Vec<u16>,
}

/// The statement with `?` for its parameters.
///
/// ```
/// use dbdyno_sql::{Dialect, positional};
///
/// let found = positional("update t set a = $2, b = '$2' where c = $1", Dialect::Mysql);
/// assert_eq!(found.sql, "update t set a = ?, b = '$2' where c = ?");
/// assert_eq!(found.order, [1, 0]);
/// ```
pub fn positional(sql: &str, dialect: Dialect) -> Positional {
    let mut found = Positional { sql: String::with_capacity(sql.len()), order: Vec::new() };
    for token in tokens(sql, dialect) {
        let index = match token.kind {
            Kind::Parameter => index_of(token.text),
            Kind::Placeholder => Some(found.order.len() as u16),
            _ => None,
        };
        match index {
            Some(index) => {
                found.order.push(index);
                found.sql.push('?');
            }
            None => found.sql.push_str(token.text),
        }
    }
    found
}

/// The index of the parameter `$1`; none for a number that no parameter has.
fn index_of(parameter: &str) -> Option<u16> {
    parameter[1..].parse::<u16>().ok()?.checked_sub(1)
}
