//! Sockets, threads and the machine's clock: the only crate that uses them.
//!
//! [`Engine::run`] takes a plan and reports in frames. Each of its threads is a lane: a
//! [`dbdyno_load::Worker`] with the connections of its clients, driven by `io_uring` or epoll.
//! [`load`] fills tables.

mod address;
mod bulk;
pub mod clock;
mod compiled_scripts;
mod error;
mod fleet;
mod greeting;
mod io;
mod lane;
mod limits;
mod link;
mod odbc;
mod run;
mod scheduling_policy;
mod script_survey;
mod selfcheck;
mod tls;
mod usage;

pub use bulk::load;
pub use error::EngineError;
pub use fleet::{Arrival, Fleet};
pub use greeting::greeting;
pub use limits::{files_beside_clients, raise_file_limit};
pub use run::{Engine, RunHandle, problems, statements_with_variables};
pub use script_survey::survey_script;

/// Where frames go: encoded, in order. An error ends the run.
pub type Sink<'a> = dyn FnMut(&[u8]) -> std::io::Result<()> + 'a;
