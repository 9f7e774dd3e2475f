//! The plan: everything the engine needs to know, as JSON on its standard input.
//!
//! The Python side decides; the plan says what was decided, with nothing left to default.
//! Unknown fields are refused, so that the two sides cannot drift apart in silence.

use crate::{Nanos, Value};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One measured load on one target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Where to.
    pub endpoint: Endpoint,
    /// How statements travel.
    pub query_mode: QueryMode,
    /// What the clients run; at least one, with a total weight above zero.
    pub scripts: Vec<Script>,
    /// Variables every client starts with: `-D` and the workload's parameters.
    pub variables: BTreeMap<String, Scalar>,
    /// The seed of all chance.
    pub seed: u64,
    /// Connections; each is one client.
    pub clients: u32,
    /// Threads of the engine, at most one a client.
    pub threads: u32,
    /// Which kernel interface drives the sockets.
    pub io: Io,
    /// When transactions become due.
    pub arrivals: Arrivals,
    /// The run in time; the first stage starts after the warm-up, which runs as the first does.
    pub stages: Vec<Stage>,
    /// Stop after so many transactions per client, instead of after the stages' time.
    pub transactions_per_client: Option<u64>,
    /// Run so long before anything is counted.
    pub warmup_ns: Nanos,
    /// One frame so often.
    pub interval_ns: Nanos,
    /// Tell so often, from the load's begin on, which statement each client awaits; none for
    /// never.
    pub activity_interval_ns: Option<Nanos>,
    /// In an open loop: a transaction that would start later than this is skipped;
    /// in both: those slower than this are counted as late.
    pub latency_limit_ns: Option<Nanos>,
    /// Connect anew for each transaction.
    pub reconnect_each_transaction: bool,
    /// Which failures are tried again, and how often.
    pub retry: Retry,
    /// The longest that a run waits, with not one byte from the server, before it fails.
    pub stall_limit_ns: Nanos,
    /// Whether `\shell` and `\setshell` may run.
    pub allow_shell: bool,
    /// What the script needs beside its text when it is one for sysbench, in Lua; it is the
    /// only one then. None for pgbench's language.
    pub lua: Option<Lua>,
}

/// What a Lua script is run with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lua {
    /// What is asked of it: `run`, or one of its commands, which each client then does once.
    pub command: String,
    /// Path of the script, as it was given.
    pub path: String,
    /// The options of the command line, the script's own and sysbench's general ones, by their
    /// names without the leading dashes; empty for a bare flag.
    pub arguments: BTreeMap<String, String>,
    /// What it may require: texts by the modules' names.
    pub modules: BTreeMap<String, String>,
    /// Whether it may use the real `io`, `os` and `ffi`.
    pub allow_unsafe: bool,
}

/// A scalar of JSON, as a script's variable is given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Scalar {
    /// null
    Null,
    /// true, false
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// Any other number.
    Double(f64),
    /// Text.
    Text(String),
}

impl From<Scalar> for Value {
    fn from(scalar: Scalar) -> Self {
        match scalar {
            Scalar::Null => Self::Null,
            Scalar::Bool(truth) => Self::Bool(truth),
            Scalar::Int(number) => Self::Int(number),
            Scalar::Double(number) => Self::Double(number),
            Scalar::Text(text) => Self::Text(text),
        }
    }
}

/// A server and how to log in to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Endpoint {
    /// Which wire protocol it speaks.
    pub protocol: Protocol,
    /// Where it listens.
    pub address: Address,
    /// Who logs in.
    pub user: String,
    /// With which password, if any. Never written down.
    pub password: Option<String>,
    /// To which database.
    pub database: String,
    /// Further parameters of the session, set at its start: what PostgreSQL's startup message
    /// takes, or session variables of MySQL.
    pub parameters: BTreeMap<String, String>,
    /// Encryption.
    pub tls: Tls,
    /// How long one attempt to connect may take.
    pub connect_timeout_ns: Nanos,
}

/// A wire protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// PostgreSQL's, version 3.
    Postgresql,
    /// MySQL's and MariaDB's, version 4.1.
    Mysql,
    /// None of ours: whatever an ODBC driver speaks.
    Odbc,
}

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Address {
    /// A Unix socket.
    Unix {
        /// The socket file itself.
        path: String,
    },
    /// TCP.
    Tcp {
        /// A name or an address, IPv4 or IPv6.
        host: String,
        /// The port.
        port: u16,
    },
    /// Behind an ODBC driver.
    Odbc {
        /// Attributes of a connection string: the driver or the data source, and where it
        /// leads; not who logs in.
        attributes: String,
    },
}

/// Encryption of the connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// How much is asked for.
    pub mode: TlsMode,
    /// PEM file of trusted roots, for the verifying modes; none means the system's.
    pub root_certificates: Option<String>,
    /// PEM file of the client's own certificate.
    pub certificate: Option<String>,
    /// PEM file of the client's own key.
    pub key: Option<String>,
}

/// libpq's `sslmode`. Of the mysql client's `ssl-mode`, DISABLED is `disable`, PREFERRED
/// `prefer`, REQUIRED `require` (without roots: they would be checked), VERIFY_CA `verify-ca`
/// and VERIFY_IDENTITY `verify-full`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TlsMode {
    /// Never encrypted.
    Disable,
    /// Unencrypted unless the server insists.
    Allow,
    /// Encrypted if the server can.
    Prefer,
    /// Always encrypted; the server's certificate is not checked.
    Require,
    /// Encrypted, and the certificate must descend from a trusted root.
    VerifyCa,
    /// The same, and it must be for this host.
    VerifyFull,
}

/// How statements travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueryMode {
    /// As text.
    Simple,
    /// Parsed and bound each time; PostgreSQL only.
    Extended,
    /// Parsed once per connection, then bound.
    Prepared,
}

/// What one client does in one transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// Name in results and messages: a file's name, or a workload's script.
    pub name: String,
    /// How often it is chosen, against the others' weights.
    pub weight: u32,
    /// The text, in pgbench's language or in Lua.
    pub text: String,
}

/// Which kernel interface drives the sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Io {
    /// The better one of those that work here.
    Auto,
    /// `io_uring`.
    Uring,
    /// epoll.
    Epoll,
}

/// When transactions become due.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Arrivals {
    /// Each client starts its next transaction when its last is done, after a pause.
    Closed {
        /// The pause.
        think: Think,
    },
    /// Transactions become due by a schedule that the server cannot slow down; the stages say
    /// how many a second.
    Open {
        /// The law of the gaps.
        law: ArrivalLaw,
    },
}

/// A pause between transactions of one client.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Think {
    /// Its law.
    pub law: ThinkLaw,
    /// Its mean; zero for none.
    pub mean_ns: Nanos,
}

/// The law of a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThinkLaw {
    /// Always the mean.
    Constant,
    /// Exponential around the mean.
    Exponential,
}

/// The law of the gaps between arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArrivalLaw {
    /// Exponential gaps: independent users.
    Poisson,
    /// Even gaps.
    Constant,
}

/// A part of the run with its own load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// How long; none only for the sole stage of a run that counts transactions.
    pub duration_ns: Option<Nanos>,
    /// How many of the clients take part; none for all.
    pub clients: Option<u32>,
    /// In an open loop, arrivals per second.
    pub rate_tps: Option<f64>,
}

/// Trying again after serialization failures and deadlocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Retry {
    /// Tries of one transaction, the first included; 0 for no limit.
    pub tries_max: u32,
    /// No further try when the transaction is older than this.
    pub time_max_ns: Option<Nanos>,
}

/// Tables to fill, in parallel, by the protocol's bulk way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadPlan {
    /// Where to.
    pub endpoint: Endpoint,
    /// The seed of random contents.
    pub seed: u64,
    /// Connections that load at once.
    pub jobs: u32,
    /// What to fill; one after the other is enough, each table in parallel.
    pub tables: Vec<LoadTable>,
}

/// One table's rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadTable {
    /// Name, for progress and errors.
    pub name: String,
    /// Statements run first on each connection that loads this table, inside its transaction.
    pub before: Vec<String>,
    /// The statement that receives the rows: PostgreSQL's `COPY … FROM STDIN (FORMAT binary)`,
    /// MySQL's `LOAD DATA LOCAL INFILE 'dbdyno' INTO TABLE … CHARACTER SET utf8mb4`, or where the
    /// server forbids that, an `INSERT INTO … VALUES`, to which rows are appended as literals.
    pub copy: String,
    /// How many rows.
    pub rows: u64,
    /// In how many pieces at most; 1 where the table's rows must come in one transaction.
    pub pieces_max: u32,
    /// The columns, in the order of the copy.
    pub columns: Vec<LoadColumn>,
}

/// One column of a loaded table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadColumn {
    /// Its type in the database.
    pub kind: ColumnType,
    /// Where its values come from.
    pub generator: Generator,
}

/// Types that the loader can write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ColumnType {
    /// Four bytes.
    Int4,
    /// Eight bytes.
    Int8,
    /// Any character type; `char(n)` must be given its blanks.
    Text,
    /// Microseconds since 2000-01-01, with or without time zone.
    Timestamp,
}

/// Where a column's values come from; `row` counts from 0 within the table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Generator {
    /// Always NULL.
    Null,
    /// `start + row`.
    Sequence {
        /// The first value.
        start: i64,
    },
    /// `start + row / size`.
    Block {
        /// The first value.
        start: i64,
        /// Rows that share one value.
        size: u64,
    },
    /// Uniform between the two, both included.
    Random {
        /// The least.
        low: i64,
        /// The greatest.
        high: i64,
    },
    /// Always this number.
    Number {
        /// The number.
        value: i64,
    },
    /// Always this text.
    Constant {
        /// The text.
        text: String,
    },
    /// This text, followed by `start + row`.
    Numbered {
        /// What stands before the number.
        prefix: String,
        /// The first number.
        start: i64,
    },
    /// A text with each `#` a random digit and each `@` a random lower-case letter.
    Template {
        /// The pattern.
        pattern: String,
    },
}
