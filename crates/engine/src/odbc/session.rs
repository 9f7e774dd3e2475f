//! One session of a database behind a driver: logged in, its statements prepared, one order
//! after the other. Every call waits for its answer.

use super::blueprint::Blueprint;
use super::control::Control;
use super::handle::{Complaint, Handle, Kind};
use super::order::Order;
use super::running::Running;
use super::statement::{Prepared, Statement};
use super::vendor::{Integers, Transactions, Vendor};
use crate::link::Answer;
use dbdyno_model::{FailureClass, Keep, PreparedId, QueryMode, ServerError, StatementId, Value};
use std::collections::HashMap;
use std::ptr::{null_mut, without_provenance_mut};
use std::sync::Arc;

const ATTRIBUTE_AUTOCOMMIT: i32 = 102;
const ATTRIBUTE_LOGIN_TIMEOUT: i32 = 103;
const INFO_PRODUCT: u16 = 17;
const INFO_VERSION: u16 = 18;
const INFO_UNITS_MAX: usize = 256;
const WITHOUT_PROMPT: u16 = 0;
const COMMIT: i16 = 0;
const ROLLBACK: i16 = 1;

/// A session. Its parts are given back in this order: statements before their connection.
#[derive(Debug)]
pub(crate) struct Session {
    direct: Statement,
    /// By the statements of the plan.
    prepared: Vec<Option<Prepared>>,
    /// By the numbers that scripts give them.
    numbered: HashMap<PreparedId, (String, Prepared)>,
    connection: Login,
    blueprint: Arc<Blueprint>,
    vendor: &'static Vendor,
    running: Arc<Running>,
    in_transaction: bool,
}

/// A connection that is logged in.
#[derive(Debug)]
struct Login {
    handle: Handle,
    _environment: Handle,
}

impl Session {
    /// A session that nobody cancels.
    pub(crate) fn alone(blueprint: &Arc<Blueprint>) -> Result<Self, ServerError> {
        Self::open(blueprint, &Arc::new(Running::new(blueprint.library)))
    }

    /// Logs in, and prepares what the plan wants prepared.
    pub(super) fn open(
        blueprint: &Arc<Blueprint>,
        running: &Arc<Running>,
    ) -> Result<Self, ServerError> {
        let nobody = Vendor::of("");
        let connection = Login::new(blueprint).map_err(|error| error.understood(nobody))?;
        let product = connection.info(INFO_PRODUCT).map_err(|error| error.understood(nobody))?;
        let vendor = Vendor::of(&product);
        let direct =
            Statement::new(&connection.handle).map_err(|error| error.understood(vendor))?;
        let mut session = Self {
            direct,
            prepared: Vec::new(),
            numbered: HashMap::new(),
            connection,
            blueprint: Arc::clone(blueprint),
            vendor,
            running: Arc::clone(running),
            in_transaction: false,
        };
        session.prepare_all();
        Ok(session)
    }

    /// A statement that cannot be prepared may still become possible: its first use tries
    /// again, and tells the error if there still is one.
    fn prepare_all(&mut self) {
        let statements = Arc::clone(&self.blueprint);
        let wanted = statements.query_mode == QueryMode::Prepared;
        self.prepared = statements
            .statements
            .iter()
            .map(|statement| {
                let plain = wanted && Control::of(&statement.sql).is_none();
                plain.then(|| self.prepare(&statement.sql).ok()).flatten()
            })
            .collect();
    }

    fn prepare(&self, sql: &str) -> Result<Prepared, Complaint> {
        Prepared::new(&self.connection.handle, sql, self.vendor.integers)
    }

    /// Product and version, as they word it.
    pub(super) fn server_version(&self) -> String {
        [INFO_PRODUCT, INFO_VERSION]
            .map(|kind| self.connection.info(kind).unwrap_or_default())
            .join(" ")
    }

    /// Carries out an order.
    pub(super) fn perform(&mut self, order: &Order) -> Answer {
        let outcome = match order {
            Order::Text { sql, keep } => self.text(sql, *keep),
            Order::Statement { statement, parameters, keep } => {
                self.of_table(*statement, parameters, *keep)
            }
            Order::Prepare { prepared, sql } => {
                self.number(*prepared, sql).map(|_| Answer::default())
            }
            Order::Execute { prepared, sql, parameters, keep } => {
                self.execute_numbered(*prepared, sql, parameters, *keep)
            }
            Order::Pipelined(_) => return self.refusal(no_pipelines()),
        };
        match outcome {
            Ok(answer) => Answer { in_transaction: self.in_transaction, ..answer },
            Err(error) => self.refusal(error.understood(self.vendor)),
        }
    }

    fn refusal(&self, error: ServerError) -> Answer {
        Answer { error: Some(error), in_transaction: self.in_transaction, ..Answer::default() }
    }

    fn text(&mut self, sql: &str, keep: Keep) -> Result<Answer, Complaint> {
        match Control::of(sql) {
            Some(control) => self.control(control).map(|()| Answer::default()),
            None => self.direct.direct(sql, keep, &self.running),
        }
    }

    fn of_table(
        &mut self,
        statement: StatementId,
        parameters: &[Value],
        keep: Keep,
    ) -> Result<Answer, Complaint> {
        let place = statement.0 as usize;
        let blueprint = Arc::clone(&self.blueprint);
        let sql = &blueprint.statements[place].sql;
        if Control::of(sql).is_some() {
            return self.text(sql, keep);
        }
        let mut prepared = match self.prepared[place].take() {
            Some(prepared) => prepared,
            None => self.prepare(sql)?,
        };
        let outcome = prepared.execute(parameters, keep, &self.running);
        if blueprint.query_mode == QueryMode::Prepared {
            self.prepared[place] = Some(prepared);
        }
        outcome
    }

    /// The statement of that number, prepared anew if it has another text.
    fn number(&mut self, number: PreparedId, sql: &str) -> Result<&mut Prepared, Complaint> {
        if self.numbered.get(&number).is_none_or(|(known, _)| known != sql) {
            let prepared = self.prepare(sql)?;
            self.numbered.insert(number, (sql.to_owned(), prepared));
        }
        self.numbered
            .get_mut(&number)
            .map(|(_, prepared)| prepared)
            .ok_or_else(|| Complaint::ours("the statement is not prepared"))
    }

    fn execute_numbered(
        &mut self,
        number: PreparedId,
        sql: &str,
        parameters: &[Value],
        keep: Keep,
    ) -> Result<Answer, Complaint> {
        let running = Arc::clone(&self.running);
        self.number(number, sql)?.execute(parameters, keep, &running)
    }

    /// Begins or ends a transaction, the way that the database has.
    fn control(&mut self, control: Control) -> Result<(), Complaint> {
        match self.vendor.transactions {
            Transactions::Statements => {
                self.direct.direct(control.sql(), Keep::None, &self.running)?;
            }
            Transactions::Calls if control == Control::Begin => {
                self.connection.set_autocommit(false)?;
            }
            Transactions::Calls => {
                self.connection.end(if control == Control::Commit { COMMIT } else { ROLLBACK })?;
                self.connection.set_autocommit(true)?;
            }
        }
        self.in_transaction = control == Control::Begin;
        Ok(())
    }

    /// Runs a text that answers nothing of interest.
    pub(crate) fn run(&mut self, sql: &str) -> Result<(), ServerError> {
        self.text(sql, Keep::None).map(drop).map_err(|error| self.understood(error))
    }

    /// How whole numbers travel here.
    pub(super) fn integers(&self) -> Integers {
        self.vendor.integers
    }

    /// A statement for who prepares on its own.
    pub(super) fn new_statement(&self) -> Result<Statement, Complaint> {
        Statement::new(&self.connection.handle)
    }

    /// An error in the database's own terms.
    pub(super) fn understood(&self, error: Complaint) -> ServerError {
        error.understood(self.vendor)
    }
}

fn no_pipelines() -> ServerError {
    ServerError {
        class: FailureClass::Script,
        code: "no_pipelines".into(),
        message: "ODBC has no pipelines: take \\startpipeline out of the script".into(),
    }
}

impl Login {
    /// With an environment of its own: driver managers lock within one.
    fn new(blueprint: &Blueprint) -> Result<Self, Complaint> {
        let environment = Handle::environment(blueprint.library)?;
        let handle = environment.child(Kind::Connection)?;
        set(&handle, ATTRIBUTE_LOGIN_TIMEOUT, blueprint.login_timeout_s)?;
        let words = blueprint.connection_string.units();
        // SAFETY: the text is as long as is said; nothing is asked to be written.
        let code = unsafe {
            (handle.library.SQLDriverConnectW)(
                handle.raw,
                null_mut(),
                words.as_ptr(),
                words.len() as i16,
                null_mut(),
                0,
                null_mut(),
                WITHOUT_PROMPT,
            )
        };
        handle.check(code)?;
        Ok(Self { handle, _environment: environment })
    }

    /// Something that the driver tells of the database, as text.
    fn info(&self, kind: u16) -> Result<String, Complaint> {
        let mut text = [0_u16; INFO_UNITS_MAX];
        let mut bytes = 0;
        // SAFETY: the room is as long as is said.
        let code = unsafe {
            (self.handle.library.SQLGetInfoW)(
                self.handle.raw,
                kind,
                text.as_mut_ptr().cast(),
                (INFO_UNITS_MAX * 2) as i16,
                &raw mut bytes,
            )
        };
        self.handle.check(code)?;
        let units = text.iter().position(|&unit| unit == 0).unwrap_or(INFO_UNITS_MAX);
        Ok(String::from_utf16_lossy(&text[..units]))
    }

    fn set_autocommit(&self, on: bool) -> Result<(), Complaint> {
        set(&self.handle, ATTRIBUTE_AUTOCOMMIT, usize::from(on))
    }

    fn end(&self, how: i16) -> Result<(), Complaint> {
        // SAFETY: the handle is valid.
        let code = unsafe {
            (self.handle.library.SQLEndTran)(Kind::Connection as i16, self.handle.raw, how)
        };
        self.handle.check(code).map(drop)
    }
}

impl Drop for Login {
    fn drop(&mut self) {
        // What is still open is nobody's any more; without it the driver may disconnect.
        let _ = self.end(ROLLBACK);
        // SAFETY: the statements of the connection are gone.
        unsafe { (self.handle.library.SQLDisconnect)(self.handle.raw) };
    }
}

/// Sets an attribute of a connection: a number, which travels in the pointer.
fn set(connection: &Handle, attribute: i32, value: usize) -> Result<(), Complaint> {
    // SAFETY: the attribute is a number, so that nothing is pointed to.
    let code = unsafe {
        (connection.library.SQLSetConnectAttr)(
            connection.raw,
            attribute,
            without_provenance_mut(value),
            0,
        )
    };
    connection.check(code).map(drop)
}
