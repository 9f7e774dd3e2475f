//! A logged-in session: its statements, its transaction block, its pipeline.

use super::{CannedReply, Database};
use crate::ProtocolError;
use crate::postgres::encode;
use crate::postgres::message::{Fields, Message};
use crate::testserver::begins_with_one_of;
use std::collections::HashMap;
use std::sync::Arc;

/// The type reported for all parameters: int4.
const PARAMETER_TYPE: u32 = 23;

const PARSE_COMPLETE: &[u8] = b"1\0\0\0\x04";
const BIND_COMPLETE: &[u8] = b"2\0\0\0\x04";
const CLOSE_COMPLETE: &[u8] = b"3\0\0\0\x04";

/// The transaction block, as reported in `ReadyForQuery`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Block {
    /// Each statement is a transaction of its own, or each pipeline.
    #[default]
    None = b'I' as isize,
    /// Begun, and not ended.
    Open = b'T' as isize,
    /// A statement in it has failed: only its end is accepted.
    Failed = b'E' as isize,
}

/// The state of a session between messages.
#[derive(Debug, Default)]
pub(super) struct Session {
    statements: HashMap<Box<[u8]>, Arc<str>>,
    portal: Option<Arc<str>>,
    block: Block,
    /// An error occurred; everything up to the next Sync is skipped.
    skipping: bool,
}

impl Session {
    pub(super) fn on_message(
        &mut self,
        message: Message<'_>,
        database: &mut impl Database,
        out: &mut Vec<u8>,
    ) -> Result<(), ProtocolError> {
        let fields = Fields(message.body);
        match message.tag {
            b'S' => self.synchronize(out),
            _ if self.skipping => {}
            b'Q' => self.query(fields, database, out)?,
            b'P' => self.parse(fields, out)?,
            b'B' => self.bind(fields, out)?,
            b'D' => self.describe(fields, database, out)?,
            b'E' => self.execute(database, out),
            b'C' => self.close(fields, out)?,
            b'H' => {}
            tag => return Err(ProtocolError::Unexpected { tag, state: "Serving" }),
        }
        Ok(())
    }

    fn synchronize(&mut self, out: &mut Vec<u8>) {
        self.skipping = false;
        self.portal = None;
        encode::message(out, b'Z', |out| out.push(self.block as u8));
    }

    fn query(
        &mut self,
        mut fields: Fields<'_>,
        database: &mut impl Database,
        out: &mut Vec<u8>,
    ) -> Result<(), ProtocolError> {
        self.run(&fields.text()?, true, database, out);
        self.synchronize(out);
        Ok(())
    }

    fn parse(&mut self, mut fields: Fields<'_>, out: &mut Vec<u8>) -> Result<(), ProtocolError> {
        let (name, sql) = (fields.text_bytes()?, fields.text()?);
        if !name.is_empty() && self.statements.contains_key(name) {
            self.refuse("42P05", "prepared statement already exists", out);
        } else {
            self.statements.insert(name.into(), sql.into());
            out.extend_from_slice(PARSE_COMPLETE);
        }
        Ok(())
    }

    fn bind(&mut self, mut fields: Fields<'_>, out: &mut Vec<u8>) -> Result<(), ProtocolError> {
        let (_portal, name) = (fields.text_bytes()?, fields.text_bytes()?);
        self.portal = self.statements.get(name).cloned();
        match self.portal {
            Some(_) => out.extend_from_slice(BIND_COMPLETE),
            None => self.refuse("26000", "prepared statement does not exist", out),
        }
        Ok(())
    }

    fn describe(
        &mut self,
        mut fields: Fields<'_>,
        database: &mut impl Database,
        out: &mut Vec<u8>,
    ) -> Result<(), ProtocolError> {
        let (kind, name) = (fields.u8()?, fields.text_bytes()?);
        let described = if kind == b'S' { self.statements.get(name) } else { self.portal.as_ref() };
        let Some(sql) = described.cloned() else {
            self.refuse("26000", "nothing to describe", out);
            return Ok(());
        };
        if kind == b'S' {
            describe_parameters(&sql, out);
        }
        out.extend_from_slice(&database.describe(&sql).description);
        Ok(())
    }

    fn execute(&mut self, database: &mut impl Database, out: &mut Vec<u8>) {
        match self.portal.clone() {
            Some(sql) => self.run(&sql, false, database, out),
            None => self.refuse("34000", "portal does not exist", out),
        }
    }

    fn close(&mut self, mut fields: Fields<'_>, out: &mut Vec<u8>) -> Result<(), ProtocolError> {
        if fields.u8()? == b'S' {
            self.statements.remove(fields.text_bytes()?);
        }
        out.extend_from_slice(CLOSE_COMPLETE);
        Ok(())
    }

    /// Executes a statement and updates the transaction block; a simple query's rows are described.
    fn run(&mut self, sql: &str, describes: bool, database: &mut impl Database, out: &mut Vec<u8>) {
        let ends_block = begins_with_one_of(sql, &["commit", "end", "rollback", "abort"]);
        if self.block == Block::Failed && !ends_block {
            return self.refuse("25P02", "current transaction is aborted", out);
        }
        let answer = database.execute(sql);
        if answer.is_error {
            out.extend_from_slice(&answer.body);
            return self.fail();
        }
        if describes && answer.has_rows {
            out.extend_from_slice(&answer.description);
        }
        out.extend_from_slice(&answer.body);
        if ends_block {
            self.block = Block::None;
        } else if begins_with_one_of(sql, &["begin", "start transaction"]) {
            self.block = Block::Open;
        }
    }

    fn refuse(&mut self, code: &str, words: &str, out: &mut Vec<u8>) {
        out.extend_from_slice(&CannedReply::error(code, words).body);
        self.fail();
    }

    fn fail(&mut self) {
        self.skipping = true;
        if self.block == Block::Open {
            self.block = Block::Failed;
        }
    }
}

fn describe_parameters(sql: &str, out: &mut Vec<u8>) {
    let count = parameter_count(sql);
    encode::message(out, b't', |out| {
        out.extend_from_slice(&count.to_be_bytes());
        for _ in 0..count {
            out.extend_from_slice(&PARAMETER_TYPE.to_be_bytes());
        }
    });
}

/// The highest `$n` of a text.
fn parameter_count(sql: &str) -> u16 {
    let number = |text: &str| {
        let end = text.find(|digit: char| !digit.is_ascii_digit()).unwrap_or(text.len());
        text[..end].parse().unwrap_or(0)
    };
    sql.split('$').skip(1).map(number).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::parameter_count;

    #[test]
    fn parameters_are_counted_by_the_highest() {
        assert_eq!(parameter_count("select $2, $1, '$'"), 2);
        assert_eq!(parameter_count("select 1"), 0);
        assert_eq!(parameter_count("select $12::int"), 12);
    }
}
