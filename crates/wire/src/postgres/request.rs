//! Writes requests and notes what answer is due: the way out of an [`Exchange`].

use super::encode::{self, Name};
use super::exchange::Exchange;
use super::pending::{Pending, Purpose};
use super::prepared::Preparation;
use super::stage::Stage;
use dbdyno_model::{Flow, Keep, QueryMode, Request, Statement, StatementId, Value};

/// The parts of a parameterised request.
#[derive(Clone, Copy)]
struct Parameterised<'a> {
    statement: StatementId,
    parameters: &'a [Value],
    keep: Keep,
    flow: Flow,
}

impl Exchange {
    /// Encodes a script's request.
    #[inline]
    pub(super) fn request(
        &mut self,
        request: &Request<'_>,
        query_mode: QueryMode,
        statements: &[Statement],
        out: &mut Vec<u8>,
    ) {
        match *request {
            Request::Parameterised { statement, parameters, keep, flow } => {
                let request = Parameterised { statement, parameters, keep, flow };
                if query_mode == QueryMode::Prepared {
                    self.prepared(request, statements, out);
                } else {
                    self.unnamed(request, statements, out);
                }
            }
            Request::Text { statement, sql, keep } => {
                self.text(statement, Purpose::Statement, sql, keep, out);
            }
            Request::Sync { statement, flow } => self.sync(statement, flow, out),
        }
    }

    /// Prepares every statement; each has its own synchronisation point, so that one that
    /// fails does not take others with it.
    pub(super) fn prepare_all(&mut self, statements: &[Statement], out: &mut Vec<u8>) {
        for (number, statement) in (0..).zip(statements) {
            let id = StatementId(number);
            self.parse_and_describe(id, &statement.sql, out);
            encode::sync(out);
            self.push(Pending {
                statement: id,
                purpose: Purpose::Preparation,
                keep: Keep::None,
                flow: Flow::Wait,
                first: Stage::Parsing,
                prepares: true,
            });
        }
    }

    /// Sends a text, a script's or a COPY.
    pub(super) fn text(
        &mut self,
        statement: StatementId,
        purpose: Purpose,
        sql: &str,
        keep: Keep,
        out: &mut Vec<u8>,
    ) {
        encode::query(sql, out);
        let first = Stage::Text;
        self.push(Pending { statement, purpose, keep, flow: Flow::Wait, first, prepares: false });
    }

    fn sync(&mut self, statement: StatementId, flow: Flow, out: &mut Vec<u8>) {
        encode::sync(out);
        self.push(Pending {
            statement,
            purpose: Purpose::Sync,
            keep: Keep::None,
            flow,
            first: Stage::Executed,
            prepares: false,
        });
    }

    #[inline]
    fn prepared(
        &mut self,
        request: Parameterised<'_>,
        statements: &[Statement],
        out: &mut Vec<u8>,
    ) {
        let id = request.statement;
        let mut first = Stage::Parsed;
        let preparation = self.preparations.of_statement(id);
        let prepares = matches!(preparation, Preparation::Absent | Preparation::Stale);
        if prepares {
            self.parse_and_describe(id, sql_of(statements, id), out);
            first = Stage::Parsing;
        }
        let types = match self.preparations.of_statement(id) {
            Preparation::Ready(types) => types,
            _ => &[][..],
        };
        encode::bind(Name::Numbered(id.0), types, request.parameters, out);
        self.execute(request, first, prepares, out);
    }

    fn unnamed(&mut self, request: Parameterised<'_>, statements: &[Statement], out: &mut Vec<u8>) {
        encode::parse(Name::Unnamed, sql_of(statements, request.statement), out);
        encode::bind(Name::Unnamed, &[], request.parameters, out);
        self.execute(request, Stage::Parsing, false, out);
    }

    #[inline]
    fn execute(
        &mut self,
        request: Parameterised<'_>,
        first: Stage,
        prepares: bool,
        out: &mut Vec<u8>,
    ) {
        let Parameterised { statement, keep, flow, .. } = request;
        if keep != Keep::None {
            encode::describe_portal(out); // the names of the columns are wanted
        }
        match flow {
            Flow::Wait => encode::execute_and_sync(out),
            Flow::Queue => encode::execute(out),
        }
        let purpose = Purpose::Statement;
        self.push(Pending { statement, purpose, keep, flow, first, prepares });
    }

    fn parse_and_describe(&mut self, id: StatementId, sql: &str, out: &mut Vec<u8>) {
        let name = Name::Numbered(id.0);
        if *self.preparations.of_statement(id) == Preparation::Stale {
            encode::close_statement(name, out);
        }
        encode::parse(name, sql, out);
        encode::describe_statement(name, out);
        self.preparations.set(id, Preparation::Underway);
    }
}

/// The statement's text. One that is not of the table is a mistake of the caller; the server
/// then answers an empty query.
fn sql_of(statements: &[Statement], id: StatementId) -> &str {
    statements.get(id.0 as usize).map_or("", |statement| &statement.sql)
}
