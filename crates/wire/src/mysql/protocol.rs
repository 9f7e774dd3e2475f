//! What a connection to a server of the MySQL family does: its login, then requests and answers.

use super::command::{self, Command};
use super::config::{Config, Opening};
use super::exchange::Exchange;
use super::login::Login;
use super::packet;
use super::pending::Purpose;
use super::request::Meta;
use super::session_facts::SessionFacts;
use crate::connection::{Cancellation, Connection, Protocol};
use crate::event::{Outcome, PrepareFailure};
use crate::{ProtocolError, ReceiveBuffer};
use dbdyno_model::{Flow, QueryMode, Reply, Request, ResultSet, Statement, StatementId};
use std::sync::Arc;

/// MySQL's and MariaDB's protocol, version 4.1.
#[derive(Debug)]
pub struct Mysql {
    config: Arc<Config>,
    statements: Arc<[Statement]>,
    /// Until the server accepts.
    login: Option<Box<Login>>,
    exchange: Exchange,
}

impl Protocol for Mysql {
    type Config = Config;
    type Opening = Opening;
    type SessionFacts = SessionFacts;

    fn new(config: Arc<Config>, statements: Arc<[Statement]>) -> Self {
        let exchange = Exchange::new(statements.len());
        Self { config, statements, login: None, exchange }
    }

    /// The server speaks first, so nothing is written yet.
    fn start(&mut self, opening: Opening, _out: &mut Vec<u8>) {
        self.exchange.reset();
        self.login = Some(Box::new(Login::new(opening)));
    }

    #[inline]
    fn poll(
        &mut self,
        buffer: &mut ReceiveBuffer,
        session: &mut SessionFacts,
        out: &mut Vec<u8>,
    ) -> Result<Option<Outcome>, ProtocolError> {
        match self.login {
            None => self.exchange.poll(buffer, out),
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
        let wanted = self.config.query_mode == QueryMode::Prepared
            && self.statements.iter().any(|statement| statement.as_text.is_none());
        if wanted {
            self.exchange.prepare_all(&self.statements, out);
        }
        wanted
    }

    #[inline]
    fn request(&mut self, request: &Request<'_>, out: &mut Vec<u8>) {
        self.exchange.request(request, &self.statements, out);
    }

    fn rows_begin(&mut self, statement: StatementId, sql: &str, out: &mut Vec<u8>) {
        let meta = Meta::of(statement, Purpose::Infile);
        self.exchange.submit(meta, Command::Query(sql.into()), out);
    }

    fn rows(&mut self, rows: &[u8], out: &mut Vec<u8>) {
        self.exchange.rows(rows, out);
    }

    fn rows_done(&mut self, out: &mut Vec<u8>) {
        self.exchange.end_of_file(out);
    }

    fn terminate(out: &mut Vec<u8>) {
        command::quit(out);
    }

    fn cancellation(session: &SessionFacts) -> Cancellation {
        Cancellation::Statement(format!("KILL QUERY {}", session.connection_id))
    }

    fn backend(session: &SessionFacts) -> u32 {
        session.connection_id
    }

    fn server_version(session: &SessionFacts) -> &str {
        &session.server_version
    }
}

impl Connection<Mysql> {
    /// The channel has been encrypted, as [`Event::StartTls`](super::Event::StartTls) asked: the
    /// login continues inside.
    pub fn encrypted(&mut self, out: &mut Vec<u8>) {
        let Mysql { login, config, .. } = &mut self.protocol;
        if let Some(login) = login {
            login.encrypted(config, out);
        }
    }
}

impl Mysql {
    fn log_in(
        &mut self,
        buffer: &mut ReceiveBuffer,
        session: &mut SessionFacts,
        out: &mut Vec<u8>,
    ) -> Result<Option<Outcome>, ProtocolError> {
        let Some(login) = &mut self.login else { return Ok(None) };
        loop {
            if login.awaits_tls() {
                return refuse_unencrypted_bytes(buffer).map(|()| None);
            }
            let Some(body) = packet::next(buffer, &mut login.sequence)? else {
                return Ok(None);
            };
            match login.on_packet(body, &self.config, session, out)? {
                None => {}
                Some(Outcome::StartTls) => {
                    return refuse_unencrypted_bytes(buffer).map(|()| Some(Outcome::StartTls));
                }
                Some(Outcome::Ready) => {
                    self.exchange.agree(login.deprecates_eof());
                    self.login = None;
                    return Ok(self.begin_session(out));
                }
                other => return Ok(other),
            }
        }
    }

    /// Sends the statements that each session starts with; ready, if there are none.
    fn begin_session(&mut self, out: &mut Vec<u8>) -> Option<Outcome> {
        for sql in &self.config.session_commands {
            let meta = Meta::of(StatementId::UNCOUNTED, Purpose::SessionCommand);
            self.exchange.submit(meta, Command::Query(sql.as_str().into()), out);
        }
        self.config.session_commands.is_empty().then_some(Outcome::Ready)
    }
}

/// Checks that nothing more was received: unencrypted bytes must never be taken for encrypted ones.
fn refuse_unencrypted_bytes(buffer: &ReceiveBuffer) -> Result<(), ProtocolError> {
    if buffer.unread().is_empty() {
        Ok(())
    } else {
        Err(ProtocolError::Malformed("unencrypted bytes after the request for encryption"))
    }
}
