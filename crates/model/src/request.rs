//! A script's requests to the server, and their replies: the only types that `script` and `wire`
//! share.

use crate::{Rows, ServerError, Value};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A statement's index in the table of all statements of a plan, over all its scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StatementId(pub u32);

impl StatementId {
    /// Stands for statements without statistics.
    pub const UNCOUNTED: Self = Self(u32::MAX);
}

/// A statement that a script prepared while running: a small number per client, reused once the
/// script has closed the statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PreparedId(pub u32);

/// One of a client's connections: 0 is the first, which the engine makes before the script runs; a
/// script may open others, each under the lowest number that is free.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct ConnectionId(pub u32);

impl ConnectionId {
    /// The first one.
    pub const FIRST: Self = Self(0);
}

/// One SQL command of a script, known before the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Statement {
    /// Its script, counted from 0 in the order of the plan.
    pub script: u32,
    /// Its index among the script's commands (meta-commands count too), from 0.
    pub index: u32,
    /// Line of the script where it begins, from 1.
    pub line: u32,
    /// The text as its author wrote it, for people to read.
    pub source: String,
    /// The text for the server in the extended protocol, with `$1`, `$2`, …, in the order of the
    /// request's parameters.
    pub sql: String,
    /// The number of parameters.
    pub parameters: u32,
    /// Their types as PostgreSQL's OIDs, as the plan tells them; empty if it does not.
    pub parameter_types: Vec<u32>,
    /// Why its values are written into its text although the query mode has parameters; such a
    /// statement is never prepared.
    pub as_text: Option<String>,
    /// Which way it copies rows, if it does; such a statement is never prepared.
    pub copy: Option<CopyDirection>,
    /// Which of its client's connections it is sent on.
    pub connection: ConnectionId,
    /// The number of the server at the other end, among those of the endpoint.
    pub server: u32,
}

/// Which way COPY moves rows between the server and its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CopyDirection {
    /// `COPY … FROM STDIN`: to the server.
    In,
    /// `COPY … TO STDOUT`: from the server.
    Out,
}

/// Which rows of an answer the script needs. All are received and counted; few are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Keep {
    /// Rows are counted only.
    #[default]
    None,
    /// The last row of each result set.
    LastRow,
    /// All rows.
    AllRows,
}

/// Whether the script waits for the reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Flow {
    /// Send, and resume the script with the reply.
    #[default]
    Wait,
    /// Send as a part of a pipeline and resume the script at once, without a reply.
    Queue,
}

/// A request of a script.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Request<'a> {
    /// This text through the simple protocol; it may contain several statements.
    Text {
        /// The statement, for the statistics.
        statement: StatementId,
        /// The text, including the values.
        sql: &'a str,
        /// What to keep of the answer.
        keep: Keep,
    },
    /// This text, of one statement, as a part of a pipeline.
    TextInPipeline {
        /// The statement, for the statistics.
        statement: StatementId,
        /// The text, including the values.
        sql: &'a str,
        /// What to keep of the answer.
        keep: Keep,
        /// Whether the script waits for it, and with it for the pipeline.
        flow: Flow,
    },
    /// COPY between the server and its client, alone and as text: no protocol has parameters for
    /// it. If rows are to come, the script is resumed when the server wants them, else with the
    /// reply.
    Copy {
        /// The statement, for the statistics.
        statement: StatementId,
        /// The text, including the values.
        sql: &'a str,
        /// Which way.
        direction: CopyDirection,
    },
    /// Rows for the COPY that wants them; the script is resumed when more can be sent, after the
    /// last ones with the reply.
    CopyRows {
        /// The statement, for the statistics.
        statement: StatementId,
        /// Any part of the data: where a row ends does not matter.
        rows: &'a [u8],
        /// Whether nothing follows.
        is_last: bool,
    },
    /// Instead of further rows: the server gives the COPY up, with an error as the reply.
    CopyFail {
        /// The statement, for the statistics.
        statement: StatementId,
        /// What the server's error is to say.
        reason: &'a str,
    },
    /// A statement of the table with its parameters; the plan's query mode determines whether it is
    /// parsed each time or prepared once per connection.
    Parameterized {
        /// The statement.
        statement: StatementId,
        /// Its parameters, in order.
        parameters: &'a [Value],
        /// What to keep of the answer.
        keep: Keep,
        /// Alone, or as a part of a pipeline (then without a synchronization point).
        flow: Flow,
    },
    /// A synchronization point of a pipeline (`\syncpipeline` with `Queue`, `\endpipeline` with
    /// `Wait`: the reply then comes when everything queued before has been answered).
    Sync {
        /// The command, for the statistics.
        statement: StatementId,
        /// Whether the script waits for all that is outstanding.
        flow: Flow,
    },
    /// This text becomes the prepared statement of that number on the client's connection; a
    /// different text of that number is closed first.
    Prepare {
        /// The statement, for the statistics.
        statement: StatementId,
        /// The number.
        prepared: PreparedId,
        /// The text, with parameters as the server writes them (`$1` or `?`).
        sql: &'a str,
    },
    /// A statement that was prepared by [`Request::Prepare`]. If the connection does not know it,
    /// because it is a new one or preparing failed, it is prepared first.
    Execute {
        /// The statement, for the statistics.
        statement: StatementId,
        /// Its number.
        prepared: PreparedId,
        /// Its text.
        sql: &'a str,
        /// Its parameters, in order.
        parameters: &'a [Value],
        /// What to keep of the answer.
        keep: Keep,
    },
}

impl Request<'_> {
    /// The statement this request is counted under.
    pub fn statement(&self) -> StatementId {
        match self {
            Self::Text { statement, .. }
            | Self::TextInPipeline { statement, .. }
            | Self::Copy { statement, .. }
            | Self::CopyRows { statement, .. }
            | Self::CopyFail { statement, .. }
            | Self::Parameterized { statement, .. }
            | Self::Sync { statement, .. }
            | Self::Prepare { statement, .. }
            | Self::Execute { statement, .. } => *statement,
        }
    }

    /// Whether the script waits for its reply.
    pub fn flow(&self) -> Flow {
        match self {
            Self::Text { .. }
            | Self::Copy { .. }
            | Self::CopyRows { .. }
            | Self::CopyFail { .. }
            | Self::Prepare { .. }
            | Self::Execute { .. } => Flow::Wait,
            Self::TextInPipeline { flow, .. }
            | Self::Parameterized { flow, .. }
            | Self::Sync { flow, .. } => *flow,
        }
    }
}

/// The answer to one statement of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResultSet {
    /// Names of the columns; empty for a statement that returns no rows.
    pub columns: Arc<[String]>,
    /// The number of rows returned.
    pub row_count: u64,
    /// The rows that were kept, values as text.
    pub rows: Rows,
}

/// The reply to one request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply<'a> {
    /// The error, if there was one; a text's later statements were then not executed.
    pub error: Option<&'a ServerError>,
    /// The answers, when the request asked to keep rows; otherwise empty.
    pub results: &'a [ResultSet],
    /// Rows returned, over all statements.
    pub rows_returned: u64,
    /// Rows affected, over all statements, as reported by the server.
    pub rows_affected: u64,
    /// Rows that its statements touched: returned, changed or, by an update that changed nothing,
    /// found.
    pub rows_touched: u64,
    /// Whether a transaction block is open now, failed or not.
    pub in_transaction: bool,
    /// Whether the server reports that it rolled the last block back that it ended. PostgreSQL
    /// answers the COMMIT of a failed block so; MySQL's protocol never says it.
    pub rolled_back: bool,
    /// Bytes of rows that COPY moved, either way; their number is that of the rows affected.
    pub copied_bytes: u64,
}
