//! One session of a database behind a driver: logged in, its statements prepared, executing one
//! command after the other. Every call blocks until it is answered.

use super::active_statement::ActiveStatement;
use super::command::Command;
use super::config::Config;
use super::control::Control;
use super::handle::Diagnostic;
use super::login::Login;
use super::statement::{Prepared, Statement};
use super::vendor::{Integers, Transactions, Vendor};
use crate::link::OwnedReply;
use dbdyno_model::{FailureClass, Keep, PreparedId, QueryMode, ServerError, StatementId, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// A session. Its fields are dropped in this order: statements before their connection.
#[derive(Debug)]
pub(crate) struct Session {
    direct: Statement,
    /// By the plan's statement number.
    prepared: Vec<Option<Prepared>>,
    /// By the number that a script gave the statement.
    numbered: HashMap<PreparedId, (String, Prepared)>,
    connection: Login,
    config: Arc<Config>,
    vendor: &'static Vendor,
    active: Arc<ActiveStatement>,
    in_transaction: bool,
}

impl Session {
    /// A session that is never cancelled.
    pub(crate) fn alone(config: &Arc<Config>) -> Result<Self, ServerError> {
        Self::open(config, &Arc::new(ActiveStatement::new(config.library)))
    }

    /// Logs in, runs what each session starts with, and prepares the plan's statements.
    pub(super) fn open(
        config: &Arc<Config>,
        active: &Arc<ActiveStatement>,
    ) -> Result<Self, ServerError> {
        let nobody = Vendor::of("");
        let connection = Login::new(config).map_err(|error| error.into_server_error(nobody))?;
        let product = connection.product().map_err(|error| error.into_server_error(nobody))?;
        let vendor = Vendor::of(&product);
        let direct =
            Statement::new(&connection.handle).map_err(|error| error.into_server_error(vendor))?;
        let mut session = Self {
            direct,
            prepared: Vec::new(),
            numbered: HashMap::new(),
            connection,
            config: Arc::clone(config),
            vendor,
            active: Arc::clone(active),
            in_transaction: false,
        };
        for statement in &config.session_statements {
            session.run(statement)?;
        }
        session.prepare_all();
        Ok(session)
    }

    /// A statement that cannot be prepared now may be possible later: its first use prepares it
    /// again, and reports the error if there still is one.
    fn prepare_all(&mut self) {
        let statements = Arc::clone(&self.config);
        let wanted = statements.query_mode == QueryMode::Prepared;
        self.prepared = statements
            .statements
            .iter()
            .map(|statement| {
                let plain = wanted
                    && statement.as_text.is_none()
                    && self.control_of(&statement.sql).is_none();
                plain.then(|| self.prepare(&statement.sql).ok()).flatten()
            })
            .collect();
    }

    fn prepare(&self, sql: &str) -> Result<Prepared, Diagnostic> {
        Prepared::new(&self.connection.handle, sql, self.vendor.integers)
    }

    /// Product and version, as the database reports them.
    pub(super) fn server_version(&self) -> String {
        [self.connection.product(), self.connection.version()]
            .map(Result::unwrap_or_default)
            .join(" ")
    }

    /// Executes a command.
    pub(super) fn perform(&mut self, command: &Command) -> OwnedReply {
        let outcome = match command {
            Command::Text { sql, keep } => self.text(sql, *keep),
            Command::Statement { statement, parameters, keep } => {
                self.of_table(*statement, parameters, *keep)
            }
            Command::Prepare { prepared, sql } => {
                self.number(*prepared, sql).map(|_| OwnedReply::default())
            }
            Command::Execute { prepared, sql, parameters, keep } => {
                self.execute_numbered(*prepared, sql, parameters, *keep)
            }
            Command::Pipelined(_) => return self.refusal(no_pipelines()),
        };
        match outcome {
            Ok(answer) => OwnedReply { in_transaction: self.in_transaction, ..answer },
            Err(error) => self.refusal(error.into_server_error(self.vendor)),
        }
    }

    fn refusal(&self, error: ServerError) -> OwnedReply {
        OwnedReply {
            error: Some(error),
            in_transaction: self.in_transaction,
            ..OwnedReply::default()
        }
    }

    fn text(&mut self, sql: &str, keep: Keep) -> Result<OwnedReply, Diagnostic> {
        match self.control_of(sql) {
            Some(control) => self.control(control, sql).map(|()| OwnedReply::default()),
            None => self.direct.direct(sql, keep, &self.active),
        }
    }

    fn of_table(
        &mut self,
        statement: StatementId,
        parameters: &[Value],
        keep: Keep,
    ) -> Result<OwnedReply, Diagnostic> {
        let place = statement.0 as usize;
        let config = Arc::clone(&self.config);
        let sql = &config.statements[place].sql;
        if self.control_of(sql).is_some() {
            return self.text(sql, keep);
        }
        let mut prepared = match self.prepared[place].take() {
            Some(prepared) => prepared,
            None => self.prepare(sql)?,
        };
        let outcome = prepared.execute(parameters, keep, &self.active);
        if config.query_mode == QueryMode::Prepared {
            self.prepared[place] = Some(prepared);
        }
        outcome
    }

    /// The statement of that number, prepared again if its text has changed.
    fn number(&mut self, number: PreparedId, sql: &str) -> Result<&mut Prepared, Diagnostic> {
        if self.numbered.get(&number).is_none_or(|(known, _)| known != sql) {
            let prepared = self.prepare(sql)?;
            self.numbered.insert(number, (sql.to_owned(), prepared));
        }
        self.numbered
            .get_mut(&number)
            .map(|(_, prepared)| prepared)
            .ok_or_else(|| Diagnostic::internal("the statement is not prepared"))
    }

    fn execute_numbered(
        &mut self,
        number: PreparedId,
        sql: &str,
        parameters: &[Value],
        keep: Keep,
    ) -> Result<OwnedReply, Diagnostic> {
        let active = Arc::clone(&self.active);
        self.number(number, sql)?.execute(parameters, keep, &active)
    }

    fn control_of(&self, sql: &str) -> Option<Control> {
        Control::of(sql, self.vendor.transactions)
    }

    /// Begins or ends a transaction, by statement or by call.
    fn control(&mut self, control: Control, written: &str) -> Result<(), Diagnostic> {
        match self.vendor.transactions {
            Transactions::Statements => {
                self.direct.direct(control.sql(written), Keep::None, &self.active)?;
            }
            Transactions::Calls if control == Control::Begin => {
                self.connection.set_autocommit(false)?;
            }
            Transactions::Calls => {
                self.connection.end(control == Control::Commit)?;
                self.connection.set_autocommit(true)?;
            }
        }
        self.in_transaction = control == Control::Begin;
        Ok(())
    }

    /// Runs a statement and discards its results.
    pub(crate) fn run(&mut self, sql: &str) -> Result<(), ServerError> {
        self.text(sql, Keep::None).map(drop).map_err(|error| self.server_error(error))
    }

    /// How integers are sent to this database.
    pub(super) fn integers(&self) -> Integers {
        self.vendor.integers
    }

    /// A new statement, for callers that prepare it themselves.
    pub(super) fn new_statement(&self) -> Result<Statement, Diagnostic> {
        Statement::new(&self.connection.handle)
    }

    /// The error in the database's own terms.
    pub(super) fn server_error(&self, error: Diagnostic) -> ServerError {
        error.into_server_error(self.vendor)
    }
}

fn no_pipelines() -> ServerError {
    ServerError::new(
        FailureClass::Script,
        "no_pipelines",
        "ODBC has no pipelines: take \\startpipeline out of the script",
    )
}
