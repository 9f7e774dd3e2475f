//! The settings that a script runs with. They are decided elsewhere: nothing here has a default.

use dbdyno_sql::Dialect;
use std::collections::BTreeMap;

/// The kind of server the script talks to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Driver {
    /// The MySQL family.
    Mysql,
    /// PostgreSQL.
    Pgsql,
}

impl Driver {
    /// The name that `drv:name()` gives.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mysql => "mysql",
            Self::Pgsql => "pgsql",
        }
    }

    /// Whose grammar statements are read by.
    pub(super) fn dialect(self) -> Dialect {
        match self {
            Self::Mysql => Dialect::Mysql,
            Self::Pgsql => Dialect::Postgresql,
        }
    }
}

/// The settings that a script runs with.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The command to run: `run`, `prepare`, `cleanup`, `help` or one of the script's own.
    pub command: String,
    /// Path of the script, as it was given.
    pub path: String,
    /// The options of the command line, the script's own and sysbench's general ones: name, with
    /// dashes or underscores and without the leading dashes, and text; empty for a flag without a
    /// value.
    pub arguments: BTreeMap<String, String>,
    /// What `require` finds: the text of each module by its name (`oltp_common`, `lib.util`).
    pub modules: BTreeMap<String, String>,
    /// The kind of server.
    pub driver: Driver,
    /// Whether `con:prepare` prepares; otherwise values are inserted into the text
    /// (`--db-ps-mode`).
    pub prepares: bool,
    /// The number of clients over all threads: sysbench's threads.
    pub clients: u32,
    /// The servers that connections are spread over.
    pub servers: u32,
    /// The run's seed.
    pub seed: u64,
    /// Whether the script may use the real `io`, `os` and `ffi`.
    pub allow_unsafe: bool,
    /// Receives the lines that scripts print.
    pub print: fn(&str),
}

impl Settings {
    /// The value of an option, under either spelling of its name.
    pub(super) fn argument(&self, name: &str) -> Option<&str> {
        let dashed = name.replace('_', "-");
        [name, dashed.as_str()]
            .iter()
            .find_map(|name| self.arguments.get(*name))
            .map(String::as_str)
    }
}
