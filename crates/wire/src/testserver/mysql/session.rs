//! A logged-in session: its statements and its transaction.

use super::{CannedReply, Database, canned_reply};
use crate::ProtocolError;
use crate::mysql::capability::status;
use crate::mysql::command::{CLOSE, EXECUTE, PING, PREPARE, QUERY, QUIT};
use crate::mysql::fields::Fields;
use crate::mysql::rows::Format;
use crate::testserver::begins_with_one_of;
use std::collections::HashMap;
use std::sync::Arc;

/// Statements commit by themselves.
const AUTOCOMMIT: u16 = 2;

/// The state of a session between commands.
#[derive(Debug, Default)]
pub(super) struct Session {
    statements: HashMap<u32, Arc<str>>,
    prepared: u32,
    in_transaction: bool,
}

impl Session {
    /// Answers one command; false if the client closes the session.
    pub(super) fn on_command(
        &mut self,
        body: &[u8],
        database: &mut impl Database,
        out: &mut Vec<u8>,
    ) -> Result<bool, ProtocolError> {
        let mut fields = Fields(body);
        match fields.u8()? {
            QUIT => return Ok(false),
            PING => CannedReply::command(0).write(Format::Text, self.status(), out),
            QUERY => {
                let sql = String::from_utf8_lossy(fields.0);
                self.run(&sql, Format::Text, database, out);
            }
            PREPARE => self.prepare(&String::from_utf8_lossy(fields.0), database, out),
            EXECUTE => self.execute(fields.u32()?, database, out),
            CLOSE => _ = self.statements.remove(&fields.u32()?),
            tag => return Err(ProtocolError::Unexpected { tag, state: "Serving" }),
        }
        Ok(true)
    }

    fn status(&self) -> u16 {
        AUTOCOMMIT | if self.in_transaction { status::IN_TRANSACTION } else { 0 }
    }

    /// Executes a statement and updates the transaction state.
    fn run(&mut self, sql: &str, format: Format, database: &mut impl Database, out: &mut Vec<u8>) {
        let answer = database.execute(sql);
        if !answer.is_error {
            if begins_with_one_of(sql, &["commit", "rollback"]) {
                self.in_transaction = false;
            } else if begins_with_one_of(sql, &["begin", "start transaction"]) {
                self.in_transaction = true;
            }
        }
        answer.write(format, self.status(), out);
    }

    fn prepare(&mut self, sql: &str, database: &mut impl Database, out: &mut Vec<u8>) {
        let answer = database.execute(sql);
        if answer.is_error {
            return answer.write(Format::Text, self.status(), out);
        }
        self.prepared += 1;
        self.statements.insert(self.prepared, sql.into());
        let parameters = sql.matches('?').count() as u16;
        canned_reply::prepared(self.prepared, answer.columns, parameters, out);
    }

    fn execute(&mut self, number: u32, database: &mut impl Database, out: &mut Vec<u8>) {
        match self.statements.get(&number).cloned() {
            Some(sql) => self.run(&sql, Format::Binary, database, out),
            None => CannedReply::error(1243, "HY000", "Unknown prepared statement handler").write(
                Format::Binary,
                self.status(),
                out,
            ),
        }
    }
}
