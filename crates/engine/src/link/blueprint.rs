//! The configuration shared by all connections of a run: the protocol, the login, and the
//! statements to prepare.

use crate::EngineError;
use crate::tls::Encryption;
use dbdyno_model::{Address, Endpoint, Protocol, QueryMode, Statement, TlsMode};
use dbdyno_wire::{mysql, postgres};
use std::sync::Arc;

/// Generated rows need a server that reads backslashes as escapes and refuses values that do not
/// fit, whatever its own setting or the user's.
const LOADING_MODE: &str = "SET SESSION sql_mode = 'STRICT_ALL_TABLES'";

/// The configuration shared by all connections of a run.
#[derive(Clone, Debug)]
pub(crate) struct Blueprint {
    pub(super) dialect: Dialect,
    pub(super) statements: Arc<[Statement]>,
    pub(super) encryption: Option<Encryption>,
    /// For clients' first connections: yields `off` or `0` where the server takes writes.
    pub(super) read_only_query: Option<String>,
}

/// A wire protocol, with the settings its sessions start with.
#[derive(Clone, Debug)]
pub(super) enum Dialect {
    Postgres(Arc<postgres::Config>),
    Mysql(Arc<mysql::Config>, mysql::Channel),
}

impl Blueprint {
    /// For clients that run these statements.
    pub(crate) fn for_run(
        endpoint: &Endpoint,
        query_mode: QueryMode,
        statements: Arc<[Statement]>,
    ) -> Result<Self, EngineError> {
        Self::new(endpoint, query_mode, statements, false)
    }

    /// For connections that fill tables.
    pub(crate) fn for_loading(endpoint: &Endpoint) -> Result<Self, EngineError> {
        Self::new(endpoint, QueryMode::Simple, Arc::new([]), true)
    }

    /// For a session beside the load that prepares nothing, such as one that cancels.
    pub(crate) fn for_cancelling(&self) -> Self {
        Self { statements: Arc::new([]), read_only_query: None, ..self.clone() }
    }

    /// Whether connections are encrypted, if the server can.
    pub(crate) fn encrypts(&self) -> bool {
        self.encryption.is_some()
    }

    fn new(
        endpoint: &Endpoint,
        query_mode: QueryMode,
        statements: Arc<[Statement]>,
        loads: bool,
    ) -> Result<Self, EngineError> {
        let encryption = Encryption::new(endpoint)?;
        let dialect = match endpoint.protocol {
            Protocol::Postgresql => {
                Dialect::Postgres(Arc::new(postgres_config(endpoint, query_mode)))
            }
            Protocol::Mysql => {
                let config = Arc::new(mysql_config(endpoint, query_mode, loads)?);
                Dialect::Mysql(config, mysql_channel(endpoint, encryption.as_ref()))
            }
            Protocol::Odbc => {
                return Err(EngineError::new("bad_plan", "ODBC needs an address of its own", ""));
            }
        };
        let read_only_query = endpoint.read_only_query.clone().filter(|_| !loads);
        Ok(Self { dialect, statements, encryption, read_only_query })
    }
}

fn postgres_config(endpoint: &Endpoint, query_mode: QueryMode) -> postgres::Config {
    postgres::Config {
        user: endpoint.user.clone(),
        database: endpoint.database.clone(),
        password: endpoint.password.clone(),
        parameters: endpoint.parameters.clone().into_iter().collect(),
        query_mode,
    }
}

fn mysql_config(
    endpoint: &Endpoint,
    query_mode: QueryMode,
    loads: bool,
) -> Result<mysql::Config, EngineError> {
    if query_mode == QueryMode::Extended {
        let message = "MySQL's protocol cannot parse and bind a statement in one round trip";
        let hint = "use -M simple (text) or -M prepared (binary)";
        return Err(EngineError::new("bad_plan", message, hint));
    }
    let variables = endpoint.parameters.iter().map(set_variable);
    let statements = endpoint.session_statements.iter().cloned();
    Ok(mysql::Config {
        user: endpoint.user.clone(),
        database: endpoint.database.clone(),
        password: endpoint.password.clone(),
        query_mode,
        attributes: vec![("program_name".into(), "dbdyno".into())],
        local_infile: loads,
        session_commands: variables
            .chain(statements)
            .chain(loads.then(|| LOADING_MODE.into()))
            .collect(),
    })
}

/// A number is not quoted: the server accepts no string for a numeric variable.
fn set_variable((name, value): (&String, &String)) -> String {
    let name = name.replace('`', "``");
    if value.parse::<f64>().is_ok() {
        return format!("SET SESSION `{name}` = {value}");
    }
    let value = value.replace('\\', "\\\\").replace('\'', "''");
    format!("SET SESSION `{name}` = '{value}'")
}

fn mysql_channel(endpoint: &Endpoint, encryption: Option<&Encryption>) -> mysql::Channel {
    match (&endpoint.address, encryption) {
        (Address::Unix { .. }, _) => mysql::Channel::Unix,
        (_, None) => mysql::Channel::Plain,
        (_, Some(encryption)) => {
            mysql::Channel::WantsTls { required: encryption.mode != TlsMode::Prefer }
        }
    }
}
