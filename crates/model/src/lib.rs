//! Plain data that the other crates share. Depends on nothing of ours.
//!
//! A concept that crosses a crate boundary has its one home here: the plan that comes in,
//! the request a script makes and the reply it gets, the ways in which a transaction can
//! fail, instants and spans of time, and the seeded streams of chance.

mod failure;
mod nanos;
mod number;
mod pattern;
mod plan;
mod prefetch;
mod queue;
mod request;
mod seed;
mod value;

pub use failure::{FailureClass, ServerError};
pub use nanos::Nanos;
pub use number::write_double;
pub use pattern::text_by_pattern;
pub use plan::{
    Address, ArrivalLaw, Arrivals, ColumnType, Endpoint, Generator, Io, LoadColumn, LoadPlan,
    LoadTable, Plan, Protocol, QueryMode, Retry, Scalar, Script, Stage, Think, ThinkLaw, Tls,
    TlsMode,
};
pub use prefetch::prefetch;
pub use queue::Queue;
pub use request::{Flow, Keep, PreparedId, Reply, Request, ResultSet, Statement, StatementId};
pub use seed::{Purpose, Stream};
pub use value::Value;
