//! Errors that end the engine's work, or prevent it.

use dbdyno_hist::frame::Failed;
use dbdyno_load::WAITED_BESIDE_OTHERS;
use dbdyno_model::{FailureClass, Protocol, ServerError};
use dbdyno_script::Problem;
use std::fmt;

/// An error that ends the engine's work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineError {
    /// A stable identifier.
    pub code: String,
    /// What went wrong.
    pub message: String,
    /// What to do about it; may be empty.
    pub hint: String,
}

/// Our error code for a driver that cannot be loaded.
pub(crate) const NO_DRIVER: &str = "no_odbc_driver";
/// SQLSTATE of a prepared statement that already exists.
pub(crate) const SHARED_SESSION: &str = "42P05";

impl EngineError {
    /// An error with a hint.
    pub fn new(code: &str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into(), hint: hint.into() }
    }

    /// Clients could not connect, because of this error.
    pub fn cannot_connect(protocol: Protocol, error: &ServerError) -> Self {
        let hint = match (error.class, error.code.as_str()) {
            (_, "53300" | "1040" | "1203") => {
                "raise max_connections on the server, or use fewer clients (-c)"
            }
            (_, "3D000" | "1049") => "create the database, or name another",
            (_, "1153") => "raise max_allowed_packet on the server, or send shorter statements",
            (_, "tls") => tls_hint(protocol),
            (_, SHARED_SESSION) => {
                "use -M simple or -M extended, which keep nothing in a session, or let the pooler \
                 know of prepared statements (PgBouncer, from 1.21 on: max_prepared_statements)"
            }
            (_, WAITED_BESIDE_OTHERS | "connect_timeout") => {
                "check that the server answers; a pooler without a free session keeps a client waiting: use fewer clients (-c), or \
                 let it have more sessions or lend them for a transaction (PgBouncer: \
                 default_pool_size, pool_mode = transaction)"
            }
            (_, NO_DRIVER) => {
                "install the database's ODBC driver; odbcinst -q -d lists the installed ones"
            }
            (_, "28000" | "1130") => {
                "check user and password, or the client's certificate, and that the server lets \
                 them in from where the load runs (PostgreSQL: pg_hba.conf; MySQL and MariaDB: \
                 'user'@'host')"
            }
            (FailureClass::Permission, _) => "check user and password, or the client's certificate",
            (FailureClass::Protocol, _) => match protocol {
                Protocol::Postgresql => "check that a PostgreSQL server listens there",
                Protocol::Mysql => "check that a MySQL or MariaDB server listens there",
                Protocol::Odbc => "",
            },
            (FailureClass::Connection, _) => "check that the server runs and listens there",
            _ => "",
        };
        Self::new("cannot_connect", error.message.clone(), hint)
    }

    /// The scripts have errors.
    pub fn bad_script(problems: &[Problem]) -> Self {
        let words: Vec<String> = problems.iter().map(ToString::to_string).collect();
        Self::new("bad_script", words.join("\n"), "")
    }

    /// The frame that reports the error.
    pub fn into_frame(self) -> Failed {
        Failed { code: self.code, message: self.message, hint: self.hint }
    }
}

/// What to check when encryption fails, by the option names of the database's own clients.
pub(crate) fn tls_hint(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Postgresql => "check sslmode, sslrootcert, sslcert and sslkey",
        Protocol::Mysql => "check ssl-mode, ssl-ca, ssl-cert and ssl-key",
        Protocol::Odbc => "check the driver's attributes for encryption",
    }
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for EngineError {}

impl From<std::io::Error> for EngineError {
    fn from(error: std::io::Error) -> Self {
        Self::new("io", error.to_string(), "")
    }
}

impl From<rustix::io::Errno> for EngineError {
    fn from(errno: rustix::io::Errno) -> Self {
        std::io::Error::from(errno).into()
    }
}
