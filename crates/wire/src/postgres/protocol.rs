//! What a connection to a PostgreSQL server does: its login, then requests and answers.

use super::config::{Config, Opening};
use super::exchange::Exchange;
use super::login::Login;
use super::pending::Purpose;
use super::session_facts::SessionFacts;
use super::{encode, message};
use crate::connection::{Cancellation, Protocol};
use crate::event::{Outcome, PrepareFailure};
use crate::{ProtocolError, ReceiveBuffer};
use dbdyno_model::{Flow, Keep, QueryMode, Reply, Request, ResultSet, Statement, StatementId};
use std::sync::Arc;

/// PostgreSQL's protocol, versions 3.0 and 3.2.
#[derive(Debug)]
pub struct Postgres {
    config: Arc<Config>,
    statements: Arc<[Statement]>,
    /// Until the first `ReadyForQuery`.
    login: Option<Box<Login>>,
    exchange: Exchange,
}

impl Protocol for Postgres {
    type Config = Config;
    type Opening = Opening;
    type SessionFacts = SessionFacts;

    fn new(config: Arc<Config>, statements: Arc<[Statement]>) -> Self {
        let exchange = Exchange::new(Arc::clone(&statements));
        Self { config, statements, login: None, exchange }
    }

    fn start(&mut self, opening: Opening, out: &mut Vec<u8>) {
        self.exchange.reset();
        self.login = Some(Box::new(Login::start(opening, &self.config, out)));
    }

    #[inline]
    fn poll(
        &mut self,
        buffer: &mut ReceiveBuffer,
        session: &mut SessionFacts,
        out: &mut Vec<u8>,
    ) -> Result<Option<Outcome>, ProtocolError> {
        match self.login {
            None => self.exchange.poll(buffer, session, out),
            Some(_) => self.log_in(buffer, session, out),
        }
    }

    #[inline]
    fn reply(&self) -> (StatementId, Flow, Reply<'_>) {
        self.exchange.reply()
    }

    #[inline]
    fn take_results(&mut self) -> Vec<ResultSet> {
        self.exchange.answer.take_results()
    }

    fn prepare_failures(&self) -> &[PrepareFailure] {
        self.exchange.prepare_failures()
    }

    fn prepare_all(&mut self, out: &mut Vec<u8>) -> bool {
        self.config.query_mode == QueryMode::Prepared
            && self.exchange.prepare_all(&self.statements, out)
    }

    #[inline]
    fn request(&mut self, request: &Request<'_>, out: &mut Vec<u8>) {
        self.exchange.request(request, self.config.query_mode, &self.statements, out);
    }

    #[inline]
    fn prefetch(&self) {
        self.exchange.prefetch();
    }

    fn rows_begin(&mut self, statement: StatementId, sql: &str, out: &mut Vec<u8>) {
        self.exchange.text(statement, Purpose::CopyIn, sql, Keep::None, out);
    }

    fn rows(&mut self, rows: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(rows);
    }

    fn rows_done(&mut self, out: &mut Vec<u8>) {
        encode::copy_done(out);
    }

    fn terminate(out: &mut Vec<u8>) {
        encode::terminate(out);
    }

    fn cancellation(session: &SessionFacts) -> Cancellation {
        let mut message = Vec::new();
        encode::cancel(session.process_id, session.cancel_key(), &mut message);
        Cancellation::Message(message)
    }

    fn backend(session: &SessionFacts) -> u32 {
        session.process_id
    }

    fn server_version(session: &SessionFacts) -> &str {
        session.server_version()
    }

    fn awaits_version(&self) -> bool {
        self.login.as_ref().is_some_and(|login| login.awaits_version())
    }
}

impl Postgres {
    fn log_in(
        &mut self,
        buffer: &mut ReceiveBuffer,
        session: &mut SessionFacts,
        out: &mut Vec<u8>,
    ) -> Result<Option<Outcome>, ProtocolError> {
        let Some(login) = &mut self.login else { return Ok(None) };
        while let Some(message) = message::next(buffer)? {
            let outcome = login.on_message(message, &self.config, session, out)?;
            if outcome == Some(Outcome::Ready) {
                self.login = None;
                return Ok(outcome);
            }
            if outcome.is_some() {
                return Ok(outcome);
            }
        }
        Ok(None)
    }
}
