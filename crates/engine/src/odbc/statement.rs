//! One statement: preparing it, executing it, and reading its answer.

use super::active_statement::ActiveStatement;
use super::handle::{Diagnostic, Handle, Kind, SUCCESS, SUCCESS_WITH_INFO};
use super::parameters::Parameters;
use super::vendor::Integers;
use crate::link::OwnedReply;
use dbdyno_model::{Keep, ResultSet, Value};
use dbdyno_sql::{Dialect, positional};
use dbdyno_wire::{KEPT_BYTES_MAX, result_too_large};

const CLOSE: u16 = 0;
const WIDE_TEXT: i16 = -8;
const NULL_LENGTH: isize = -1;
const UNKNOWN_LENGTH: isize = -4;
const NAME_UNITS_MAX: usize = 256;
const FIELD_UNITS: usize = 1024;

/// A handle that executes statements, one at a time.
#[derive(Debug)]
pub(super) struct Statement(pub(super) Handle);

/// A prepared statement with its parameters.
#[derive(Debug)]
pub(super) struct Prepared {
    statement: Statement,
    parameters: Parameters,
    order: Vec<u16>,
}

impl Prepared {
    pub(super) fn new(
        connection: &Handle,
        sql: &str,
        integers: Integers,
    ) -> Result<Self, Diagnostic> {
        let translated = positional(sql, Dialect::Standard);
        let statement = Statement::new(connection)?;
        statement.prepare(&translated.sql)?;
        let parameters = Parameters::new(translated.order.len(), integers);
        Ok(Self { statement, parameters, order: translated.order })
    }

    /// Executes it with these values.
    pub(super) fn execute(
        &mut self,
        values: &[Value],
        keep: Keep,
        active: &ActiveStatement,
    ) -> Result<OwnedReply, Diagnostic> {
        const NULL: &Value = &Value::Null;
        let values = self.order.iter().map(|&place| values.get(usize::from(place)).unwrap_or(NULL));
        self.parameters.set(&self.statement.0, values)?;
        active.during(&self.statement.0, || {
            self.statement.execute()?;
            self.statement.answer(keep)
        })
    }
}

impl Statement {
    pub(super) fn new(connection: &Handle) -> Result<Self, Diagnostic> {
        connection.child(Kind::Statement).map(Self)
    }

    /// Executes a statement given as text.
    pub(super) fn direct(
        &self,
        sql: &str,
        keep: Keep,
        active: &ActiveStatement,
    ) -> Result<OwnedReply, Diagnostic> {
        let sql: Vec<u16> = sql.encode_utf16().collect();
        active.during(&self.0, || {
            // SAFETY: the text has the length passed.
            let code = unsafe {
                (self.0.library.SQLExecDirectW)(self.0.raw, sql.as_ptr(), sql.len() as i32)
            };
            self.0.check(code)?;
            self.answer(keep)
        })
    }

    pub(super) fn prepare(&self, sql: &str) -> Result<(), Diagnostic> {
        let sql: Vec<u16> = sql.encode_utf16().collect();
        // SAFETY: the text has the length passed.
        let code =
            unsafe { (self.0.library.SQLPrepareW)(self.0.raw, sql.as_ptr(), sql.len() as i32) };
        self.0.check(code).map(drop)
    }

    /// That no rows were found to change is not an error.
    pub(super) fn execute(&self) -> Result<(), Diagnostic> {
        // SAFETY: what is bound is still in place.
        let code = unsafe { (self.0.library.SQLExecute)(self.0.raw) };
        self.0.check(code).map(drop)
    }

    /// Reads the whole answer, and makes the handle ready for the next execution.
    pub(super) fn answer(&self, keep: Keep) -> Result<OwnedReply, Diagnostic> {
        let answer = self.results(keep);
        self.close();
        answer
    }

    fn results(&self, keep: Keep) -> Result<OwnedReply, Diagnostic> {
        let mut answer = OwnedReply::default();
        let mut room = KEPT_BYTES_MAX;
        loop {
            let columns = self.columns()?;
            let result = if columns == 0 {
                let affected = self.rows_affected()?;
                answer.rows_affected += affected;
                answer.rows_touched += affected;
                ResultSet::default()
            } else {
                self.result(columns, keep, room)?
            };
            answer.rows_returned += result.row_count;
            answer.rows_touched += result.row_count;
            if result.rows.bytes() > room {
                answer.error.get_or_insert_with(result_too_large);
            } else if keep != Keep::None {
                room -= result.rows.bytes();
                answer.results.push(result);
            }
            // SAFETY: the handle is valid.
            let code = unsafe { (self.0.library.SQLMoreResults)(self.0.raw) };
            if !self.0.check(code)? {
                return Ok(answer);
            }
        }
    }

    fn close(&self) {
        // SAFETY: the handle is valid. Without an open cursor there is nothing to do.
        unsafe { (self.0.library.SQLFreeStmt)(self.0.raw, CLOSE) };
    }

    fn columns(&self) -> Result<u16, Diagnostic> {
        let mut columns = 0;
        // SAFETY: the out parameter is ours.
        let code = unsafe { (self.0.library.SQLNumResultCols)(self.0.raw, &raw mut columns) };
        self.0.check(code)?;
        Ok(columns.max(0) as u16)
    }

    fn rows_affected(&self) -> Result<u64, Diagnostic> {
        let mut rows = 0;
        // SAFETY: the out parameter is ours.
        let code = unsafe { (self.0.library.SQLRowCount)(self.0.raw, &raw mut rows) };
        self.0.check(code)?;
        Ok(rows.max(0) as u64) // a driver that does not know returns -1
    }

    /// Reads a result set: all of its rows are counted, and kept until they take more than there
    /// is room for.
    fn result(&self, columns: u16, keep: Keep, room: usize) -> Result<ResultSet, Diagnostic> {
        let mut result = ResultSet::default();
        if keep != Keep::None {
            result.columns =
                (1..=columns).map(|column| self.name(column)).collect::<Result<_, _>>()?;
        }
        while self.fetch()? {
            result.row_count += 1;
            if keep == Keep::LastRow {
                result.rows.clear();
            }
            if keep != Keep::None && result.rows.bytes() <= room {
                result.rows.push(|row| {
                    (1..=columns).try_for_each(|column| {
                        self.field(column).map(|value| row.text(value.as_deref()))
                    })
                })?;
            }
        }
        Ok(result)
    }

    fn fetch(&self) -> Result<bool, Diagnostic> {
        // SAFETY: nothing is bound to columns.
        let code = unsafe { (self.0.library.SQLFetch)(self.0.raw) };
        self.0.check(code)
    }

    /// The column's name. A name in capitals is one that was not quoted, in a database that folds
    /// those to upper case: it is returned in lower case, as scripts write it.
    fn name(&self, column: u16) -> Result<String, Diagnostic> {
        let mut name = [0; NAME_UNITS_MAX];
        let (mut length, mut kind, mut size, mut digits, mut nullable) = (0, 0, 0, 0, 0);
        // SAFETY: the name's buffer has the length passed, the other out parameters are ours.
        let code = unsafe {
            (self.0.library.SQLDescribeColW)(
                self.0.raw,
                column,
                name.as_mut_ptr(),
                NAME_UNITS_MAX as i16,
                &raw mut length,
                &raw mut kind,
                &raw mut size,
                &raw mut digits,
                &raw mut nullable,
            )
        };
        self.0.check(code)?;
        let units = usize::try_from(length).unwrap_or(0).min(NAME_UNITS_MAX - 1);
        let name = String::from_utf16_lossy(&name[..units]);
        let in_capitals = !name.chars().any(char::is_lowercase);
        Ok(if in_capitals { name.to_lowercase() } else { name })
    }

    /// A field of the row as text, fetched in as many parts as necessary. A driver may convert all
    /// of a long value for each part: the second one is as large as the driver says that it must be.
    fn field(&self, column: u16) -> Result<Option<String>, Diagnostic> {
        let mut text = Vec::new();
        let (mut first, mut further) = ([0_u16; FIELD_UNITS], Vec::new());
        let mut piece = &mut first[..];
        loop {
            let mut left = 0;
            // SAFETY: the buffer has the length passed.
            let code = unsafe {
                (self.0.library.SQLGetData)(
                    self.0.raw,
                    column,
                    WIDE_TEXT,
                    piece.as_mut_ptr().cast(),
                    size_of_val(piece) as isize,
                    &raw mut left,
                )
            };
            if !self.0.check(code)? {
                break;
            }
            if left == NULL_LENGTH {
                return Ok(None);
            }
            let room = piece.len() - 1; // the last one is a zero
            let is_cut =
                code == SUCCESS_WITH_INFO && (left == UNKNOWN_LENGTH || left as usize > room * 2);
            let units = if is_cut { room } else { (left as usize / 2).min(room) };
            text.extend_from_slice(&piece[..units]);
            if code == SUCCESS || !is_cut {
                break;
            }
            let wanted = usize::try_from(left).map_or(2 * room, |bytes| bytes / 2 - room);
            further.resize(wanted.clamp(FIELD_UNITS, KEPT_BYTES_MAX / 2) + 1, 0);
            piece = &mut further[..];
        }
        Ok(Some(String::from_utf16_lossy(&text)))
    }
}
