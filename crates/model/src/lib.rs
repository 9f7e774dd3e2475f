//! Plain data shared by the other crates. Depends on none of them.
//!
//! Each concept that crosses a crate boundary is defined here: the plan, the requests of scripts
//! and the replies, failure classes, instants and durations, and seeded random streams.

mod block;
mod failure;
mod nanos;
mod number;
mod pattern;
mod plan;
mod prefetch;
mod queue;
mod request;
mod rows;
mod seed;
mod value;

pub use block::{BlockEnd, BlockWords};
pub use failure::{FailureClass, ServerError};
pub use nanos::Nanos;
pub use number::write_double;
pub use pattern::text_by_pattern;
pub use plan::{
    Address, ArrivalLaw, Arrivals, Choice, ClientGroup, ColumnType, Endpoint, Field, Generator, Io,
    Language, LoadColumn, LoadPlan, LoadTable, Pacing, Plan, Protocol, QueryMode, Reports, Retry,
    Scalar, Script, ScriptChoice, Stage, Think, ThinkLaw, Tls, TlsMode, server_of,
};
pub use prefetch::prefetch;
pub use queue::Queue;
pub use request::{
    ConnectionId, CopyDirection, Flow, Keep, PreparedId, Reply, Request, ResultSet, Statement,
    StatementId,
};
pub use rows::{RowWriter, Rows};
pub use seed::{Purpose, Stream};
pub use value::Value;
