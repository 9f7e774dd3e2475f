//! Writes requests and records the expected answers: the outgoing side of an [`Exchange`].

use super::encode::{self, Name};
use super::exchange::Exchange;
use super::parameter;
use super::pending::{Pending, Purpose};
use super::prepared::{Preparation, Preparations, Slot};
use super::stage::Stage;
use dbdyno_model::{CopyDirection, Flow, Keep, QueryMode, Request, Statement, StatementId, Value};

/// The parts of a request with parameters.
#[derive(Clone, Copy)]
struct Parameterized<'a> {
    statement: StatementId,
    sql: &'a str,
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
            Request::Parameterized { statement, parameters, keep, flow } => {
                let sql = sql_of(statements, statement);
                let request = Parameterized { statement, sql, parameters, keep, flow };
                if query_mode == QueryMode::Prepared {
                    self.prepared(request, Preparations::planned(statement), out);
                } else {
                    let types =
                        statement_of(statements, statement).map(|its| &its.parameter_types[..]);
                    self.unnamed(request, types.unwrap_or_default(), out);
                }
            }
            Request::Execute { statement, prepared, sql, parameters, keep } => {
                let flow = Flow::Wait;
                let request = Parameterized { statement, sql, parameters, keep, flow };
                self.prepared(request, self.preparations.scripted(prepared), out);
            }
            Request::Prepare { statement, prepared, sql } => {
                let slot = self.preparations.scripted(prepared);
                self.preparations.retire(slot);
                self.prepare(statement, slot, Purpose::Prepare, sql, out);
            }
            Request::Text { statement, sql, keep } => {
                self.text(statement, Purpose::Statement, sql, keep, out);
            }
            Request::TextInPipeline { statement, sql, keep, flow } => {
                let parameters = &[][..];
                self.unnamed(Parameterized { statement, sql, parameters, keep, flow }, &[], out);
            }
            Request::Copy { statement, sql, direction } => {
                let purpose = match direction {
                    CopyDirection::In => Purpose::CopyIn,
                    CopyDirection::Out => Purpose::CopyOut,
                };
                self.text(statement, purpose, sql, Keep::None, out);
            }
            Request::CopyRows { rows, is_last, .. } => self.copy_rows(rows, is_last, out),
            Request::CopyFail { reason, .. } => encode::copy_fail(reason, out),
            Request::Sync { statement, flow } => self.sync(statement, flow, out),
        }
    }

    /// Prepares every statement that is not sent as text or by COPY; each has its own synchronization point,
    /// so that one that fails does not affect others. Returns whether there was any.
    pub(super) fn prepare_all(&mut self, statements: &[Statement], out: &mut Vec<u8>) -> bool {
        for (number, statement) in (0..).zip(statements) {
            if statement.as_text.is_some() || statement.copy.is_some() {
                continue;
            }
            let id = StatementId(number);
            let slot = Preparations::planned(id);
            self.prepare(id, slot, Purpose::Preparation, &statement.sql, out);
        }
        self.has_preparations()
    }

    fn prepare(
        &mut self,
        statement: StatementId,
        slot: Slot,
        purpose: Purpose,
        sql: &str,
        out: &mut Vec<u8>,
    ) {
        self.parse_and_describe(slot, sql, &[], out);
        encode::sync(out);
        self.push(Pending {
            statement,
            slot: Some(slot),
            purpose,
            keep: Keep::None,
            flow: Flow::Wait,
            first: Stage::Parsing,
            prepares: true,
        });
    }

    /// Sends a statement as text, for a script or a COPY.
    pub(super) fn text(
        &mut self,
        statement: StatementId,
        purpose: Purpose,
        sql: &str,
        keep: Keep,
        out: &mut Vec<u8>,
    ) {
        encode::query(sql, out);
        self.push(Pending {
            statement,
            slot: None,
            purpose,
            keep,
            flow: Flow::Wait,
            first: Stage::Text,
            prepares: false,
        });
    }

    fn copy_rows(&mut self, rows: &[u8], is_last: bool, out: &mut Vec<u8>) {
        if !rows.is_empty() {
            encode::copy_data(rows, out);
            self.answer.copied_bytes += rows.len() as u64;
        }
        if is_last {
            encode::copy_done(out);
        }
    }

    fn sync(&mut self, statement: StatementId, flow: Flow, out: &mut Vec<u8>) {
        encode::sync(out);
        self.push(Pending {
            statement,
            slot: None,
            purpose: Purpose::Sync,
            keep: Keep::None,
            flow,
            first: Stage::Executed,
            prepares: false,
        });
    }

    #[inline]
    fn prepared(&mut self, request: Parameterized<'_>, slot: Slot, out: &mut Vec<u8>) {
        let mut wider = None;
        let prepares = match self.preparations.at(slot) {
            Preparation::Absent | Preparation::Stale => true,
            Preparation::Underway => false,
            Preparation::Ready(types) => {
                wider = parameter::wider(types, request.parameters);
                wider.is_some()
            }
        };
        if prepares {
            self.preparations.retire(slot);
            self.parse_and_describe(slot, request.sql, wider.as_deref().unwrap_or_default(), out);
        }
        let types = match (self.preparations.at(slot), &wider) {
            (Preparation::Ready(types), _) => &types[..],
            (_, Some(types)) => &types[..],
            _ => &[],
        };
        let start = out.len();
        encode::bind(Name::Numbered(slot.0), types, request.parameters, out);
        self.execute(request, Some(slot), prepares, out);
        self.last_bound.clear();
        self.last_bound.extend_from_slice(&out[start..]);
    }

    /// Sends the last request again, with its statement prepared anew: its parameters keep their
    /// types, since they are encoded for them.
    pub(super) fn send_again(&mut self, slot: Slot, sql: &str, types: &[u32], out: &mut Vec<u8>) {
        self.parse_and_describe(slot, sql, types, out);
        out.extend_from_slice(&self.last_bound);
    }

    /// Parses and executes a request; `inferred` are the types that the server would infer.
    fn unnamed(&mut self, request: Parameterized<'_>, inferred: &[u32], out: &mut Vec<u8>) {
        let wider = parameter::wider(inferred, request.parameters);
        encode::parse(Name::Unnamed, request.sql, wider.as_deref().unwrap_or_default(), out);
        encode::bind(Name::Unnamed, &[], request.parameters, out);
        self.execute(request, None, false, out);
    }

    #[inline]
    fn execute(
        &mut self,
        request: Parameterized<'_>,
        slot: Option<Slot>,
        prepares: bool,
        out: &mut Vec<u8>,
    ) {
        let Parameterized { statement, keep, flow, .. } = request;
        let parses = prepares || slot.is_none();
        let first = if parses { Stage::Parsing } else { Stage::Parsed };
        if keep != Keep::None && slot.is_none() {
            encode::describe_portal(out); // a prepared statement's columns are known
        }
        match flow {
            Flow::Wait => encode::execute_and_sync(out),
            Flow::Queue => encode::execute(out),
        }
        let purpose = Purpose::Statement;
        self.push(Pending { statement, slot, purpose, keep, flow, first, prepares });
    }

    fn parse_and_describe(&mut self, slot: Slot, sql: &str, types: &[u32], out: &mut Vec<u8>) {
        let name = Name::Numbered(slot.0);
        if *self.preparations.at(slot) == Preparation::Stale {
            encode::close_statement(name, out);
        }
        encode::parse(name, sql, types, out);
        encode::describe_statement(name, out);
        self.preparations.set(slot, Preparation::Underway);
    }
}

/// The statement's text. An unknown one is a mistake of the caller; the server then executes an
/// empty query.
fn sql_of(statements: &[Statement], id: StatementId) -> &str {
    statement_of(statements, id).map_or("", |statement| &statement.sql)
}

fn statement_of(statements: &[Statement], id: StatementId) -> Option<&Statement> {
    statements.get(id.0 as usize)
}
