//! The plan: everything the engine needs to know, as JSON on its standard input.
//!
//! The Python side decides; the plan says what was decided, with nothing left to default.
//! Unknown fields are refused, so that the two sides cannot drift apart in silence.

mod arrivals;
mod endpoint;
mod loading;

use crate::{Nanos, Value};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub use arrivals::{ArrivalLaw, Arrivals, Stage, Think, ThinkLaw};
pub use endpoint::{Address, Endpoint, Protocol, Tls, TlsMode};
pub use loading::{ColumnType, Generator, LoadColumn, LoadPlan, LoadTable};

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
    /// Whether a script that can never work ends the run: failures are then not let pass.
    pub ends_on_hopeless_script: bool,
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

/// Trying again after serialization failures and deadlocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Retry {
    /// Tries of one transaction, the first included; 0 for no limit.
    pub tries_max: u32,
    /// No further try when the transaction is older than this.
    pub time_max_ns: Option<Nanos>,
}
