//! The plan: all input of the engine, as JSON on its standard input.
//!
//! All decisions are made on the Python side; the plan states them, without defaults. Unknown
//! fields are refused, so that the two sides cannot diverge unnoticed.

mod arrivals;
mod endpoint;
mod generator;
mod loading;

use crate::{Nanos, Value};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub use arrivals::{ArrivalLaw, Arrivals, Pacing, Stage, Think, ThinkLaw};
pub use endpoint::{Address, Endpoint, Protocol, Tls, TlsMode, server_of};
pub use generator::{Choice, Field, Generator};
pub use loading::{ColumnType, LoadColumn, LoadPlan, LoadTable};

/// One measured load on one target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The server.
    pub endpoint: Endpoint,
    /// How statements are sent.
    pub query_mode: QueryMode,
    /// The scripts of the clients; at least one, with a total weight above zero.
    pub scripts: Vec<Script>,
    /// How the script of each transaction is chosen among them.
    #[serde(default)]
    pub script_choice: ScriptChoice,
    /// Groups of clients that choose among scripts of their own, in a closed loop; together they
    /// are all clients but the executors, and all scripts. If empty, all clients choose among all scripts.
    #[serde(default)]
    pub groups: Vec<ClientGroup>,
    /// Variables every client starts with: `-D` and the workload's parameters.
    pub variables: BTreeMap<String, Scalar>,
    /// The seed of all random numbers.
    pub seed: u64,
    /// Connections; each is one client.
    pub clients: u32,
    /// How many of them, the last ones, are executors: they choose no scripts, but execute what
    /// others defer. At least one in each thread, if a script is deferred.
    #[serde(default)]
    pub executors: u32,
    /// Threads of the engine, at most one a client; if several engines share the load, of all.
    pub threads: u32,
    /// If several engines share the load: the threads of this one, by their numbers among all, and
    /// with them its clients and arrivals. Empty if this engine has all.
    #[serde(default)]
    pub own_threads: Vec<u32>,
    /// Which kernel interface drives the sockets.
    pub io: Io,
    /// When transactions become due.
    pub arrivals: Arrivals,
    /// The run in time; the first stage starts after the warm-up, which runs as the first does.
    pub stages: Vec<Stage>,
    /// The number of transactions per client, instead of the stages' duration.
    pub transactions_per_client: Option<u64>,
    /// The duration of the warm-up, before anything is counted.
    pub warmup_ns: Nanos,
    /// The interval of frames.
    pub interval_ns: Nanos,
    /// The interval, from the start of the load on, at which the statement that each client waits
    /// for is reported; none for never.
    pub activity_interval_ns: Option<Nanos>,
    /// In an open loop: a transaction that would start later than this is skipped;
    /// in both: those slower than this are counted as late.
    pub latency_limit_ns: Option<Nanos>,
    /// Reconnect for each transaction.
    pub reconnect_each_transaction: bool,
    /// Which failures are retried, and how often.
    pub retry: Retry,
    /// The longest time a run waits without receiving a byte from the server before it fails.
    pub stall_limit_ns: Nanos,
    /// Whether a script that can never work ends the run.
    pub ends_on_hopeless_script: bool,
    /// Whether `\shell` and `\setshell` may run.
    pub allow_shell: bool,
    /// What is reported of transactions.
    #[serde(default)]
    pub reports: Reports,
    /// The settings of a sysbench script, in Lua, which is then the only script. None for pgbench's
    /// language.
    pub lua: Option<Lua>,
}

impl Plan {
    /// Whether other engines run the rest of the load.
    pub fn is_shared(&self) -> bool {
        !self.own_threads.is_empty()
    }

    /// Whether a transaction may be due long before it is sent: in an open loop, when it connects
    /// first, or when it waits for one of few executors. Then response times are not service times.
    pub fn service_differs(&self) -> bool {
        let open = matches!(self.arrivals, Arrivals::Open { .. });
        open || self.reconnect_each_transaction || self.executors > 0
    }

    /// The threads of this engine, by their numbers among all.
    pub fn threads_here(&self) -> Vec<u32> {
        if self.is_shared() { self.own_threads.clone() } else { (0..self.threads).collect() }
    }

    /// The clients of a thread, by their numbers over the whole run: every engine deals them out in
    /// the same way, so that what a client does depends neither on its thread nor on its engine.
    pub fn clients_of(&self, thread: u32) -> impl Iterator<Item = u32> + use<> {
        (thread..self.clients).step_by(self.threads.max(1) as usize)
    }

    /// The clients of these threads, in ascending order.
    pub fn clients_of_threads(&self, threads: &[u32]) -> Vec<u32> {
        let mut clients: Vec<u32> =
            threads.iter().flat_map(|&thread| self.clients_of(thread)).collect();
        clients.sort_unstable();
        clients
    }

    /// The number of this engine's clients.
    pub fn clients_here(&self) -> u32 {
        self.threads_here().into_iter().map(|thread| self.clients_of(thread).count() as u32).sum()
    }
}

/// The settings of a Lua script.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lua {
    /// The command to run: `run`, or one of the script's commands, which each client then runs
    /// once.
    pub command: String,
    /// Path of the script, as it was given.
    pub path: String,
    /// The options of the command line, the script's own and sysbench's general ones, by their
    /// names without the leading dashes; empty for a flag without a value.
    pub arguments: BTreeMap<String, String>,
    /// The modules it may require: texts by name.
    pub modules: BTreeMap<String, String>,
    /// Whether it may use the real `io`, `os` and `ffi`.
    pub allow_unsafe: bool,
}

/// A JSON scalar: the value of a script's variable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Scalar {
    /// null
    Null,
    /// true, false
    Bool(bool),
    /// An integer.
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

/// How statements are sent.
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// Name in results and messages: a file's name, or a workload's script.
    pub name: String,
    /// Its relative frequency among the scripts.
    pub weight: u32,
    /// The text, in pgbench's language or in Lua.
    pub text: String,
    /// Whether it is a workload's Lua.
    #[serde(default)]
    pub language: Language,
    /// The commands (by index, as in [`Statement`](crate::Statement)) whose values are written into
    /// their text in every query mode, because the server takes no parameters there, and why.
    #[serde(default)]
    pub as_text: BTreeMap<u32, String>,
    /// The types that the server infers for the parameters of commands, also by index, as far as it
    /// was asked before the run.
    #[serde(default)]
    pub parameter_types: BTreeMap<u32, Vec<u32>>,
    /// In a closed loop, the pauses around its transactions, instead of the general one.
    #[serde(default)]
    pub pacing: Option<Pacing>,
    /// Whether its clients do not wait for its transactions, which an executor executes in their
    /// place; only with pauses of its own.
    #[serde(default)]
    pub is_deferred: bool,
    /// Whether it runs on a standby of the endpoint; only in pgbench's language.
    #[serde(default)]
    pub is_on_standby: bool,
}

/// What a script is written in; a sysbench script is recognized by the plan's `lua`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Language {
    /// pgbench's script language.
    #[default]
    Pgbench,
    /// Lua, with the statements that it declares.
    Lua,
}

/// How the script of a transaction is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScriptChoice {
    /// Each is drawn by the weights of all scripts.
    #[default]
    Weighted,
    /// A client deals from a shuffled deck, in which a script has as many cards as its weight says,
    /// and shuffles a new deck when none are left.
    Deck,
}

/// Clients that choose among scripts of their own: in the order of the groups, the next so many
/// clients, and the next so many scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientGroup {
    /// The number of its clients; at least one.
    pub clients: u32,
    /// The number of its scripts; at least one, with a total weight above zero.
    pub scripts: u32,
    /// How the script of each transaction is chosen among them.
    #[serde(default)]
    pub choice: ScriptChoice,
}

/// What is reported of transactions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reports {
    /// Counts and distributions.
    #[default]
    Counts,
    /// Each measured one, besides.
    Transactions,
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

/// Retries after serialization failures and deadlocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Retry {
    /// Tries of one transaction, the first included; 0 for no limit.
    pub tries_max: u32,
    /// No retry when the transaction is older than this.
    pub time_max_ns: Option<Nanos>,
}
