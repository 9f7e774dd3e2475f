//! The plan of a load: tables to fill, and the values of each column.
//!
//! Given the seed, it determines the rows completely, but not how they are sent.

use super::{Endpoint, Generator};
use serde::{Deserialize, Serialize};

/// Tables to fill, in parallel, by the protocol's bulk-load method.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadPlan {
    /// The server.
    pub endpoint: Endpoint,
    /// The seed of random contents.
    pub seed: u64,
    /// Number of parallel connections, of all engines that share the load.
    pub jobs: u32,
    /// The jobs of this engine, by number; all if it is alone.
    #[serde(default)]
    pub own_jobs: Vec<u32>,
    /// The tables, filled one after the other, each in parallel.
    pub tables: Vec<LoadTable>,
}

impl LoadPlan {
    /// Whether other engines have other jobs.
    pub fn is_shared(&self) -> bool {
        !self.own_jobs.is_empty()
    }
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
    /// The number of rows; in a table of children, that of their ancestors.
    pub rows: u64,
    /// In a table of children, how many each ancestor has, and in a second level, each of those.
    pub per: Vec<Generator>,
    /// The number of rows to expect, for progress: of children it is known only on average.
    pub rows_total: u64,
    /// Maximum number of pieces; 1 where the table's rows must be loaded in one transaction.
    pub pieces_max: u32,
    /// The numbers whose rows are there already: each from one to before the other, in order.
    pub loaded: Vec<(u64, u64)>,
    /// The statement that notes, in the transaction of a piece and before its rows, which numbers
    /// they have: from `{first}` to before `{end}`. Empty if nothing is to be noted.
    pub note: String,
    /// The columns, in the order of the load statement.
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
    /// True or false, from a number.
    Boolean,
    /// An exact number, from an integer in units of its last digit.
    Decimal {
        /// Digits after the point.
        scale: u8,
    },
    /// Any character type; `char(n)` must be given its padding.
    Text,
    /// A JSON document; PostgreSQL's `jsonb`.
    Json,
    /// Days since 2000-01-01.
    Date,
    /// Microseconds since 2000-01-01, with or without time zone.
    Timestamp,
}
