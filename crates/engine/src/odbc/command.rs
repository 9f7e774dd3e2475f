//! A request in owned form, on its way from the script to a connection's thread.

use dbdyno_model::{Flow, Keep, PreparedId, Request, StatementId, Value};

/// A command to a session. Owns its data.
#[derive(Debug)]
pub(super) enum Command {
    Text {
        sql: String,
        keep: Keep,
    },
    /// A statement of the plan's table.
    Statement {
        statement: StatementId,
        parameters: Vec<Value>,
        keep: Keep,
    },
    Prepare {
        prepared: PreparedId,
        sql: String,
    },
    Execute {
        prepared: PreparedId,
        sql: String,
        parameters: Vec<Value>,
        keep: Keep,
    },
    /// A part of a pipeline, which ODBC does not support.
    Pipelined(Flow),
}

impl Command {
    pub(super) fn of(request: &Request<'_>) -> Self {
        match *request {
            Request::TextInPipeline { flow, .. }
            | Request::Sync { flow, .. }
            | Request::Parameterized { flow: flow @ Flow::Queue, .. } => Self::Pipelined(flow),
            Request::Copy { .. } | Request::CopyRows { .. } | Request::CopyFail { .. } => {
                unreachable!("scripts with a COPY are refused for ODBC")
            }
            Request::Text { sql, keep, .. } => Self::Text { sql: sql.to_owned(), keep },
            Request::Parameterized { statement, parameters, keep, flow: Flow::Wait } => {
                Self::Statement { statement, parameters: parameters.to_vec(), keep }
            }
            Request::Prepare { prepared, sql, .. } => {
                Self::Prepare { prepared, sql: sql.to_owned() }
            }
            Request::Execute { prepared, sql, parameters, keep, .. } => Self::Execute {
                prepared,
                sql: sql.to_owned(),
                parameters: parameters.to_vec(),
                keep,
            },
        }
    }

    /// Whether the script waits for the answer.
    pub(super) fn flow(&self) -> Flow {
        match self {
            Self::Pipelined(flow) => *flow,
            _ => Flow::Wait,
        }
    }
}
