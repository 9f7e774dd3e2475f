//! The scripts of sysbench: Lua, with its library for connections, random numbers and options.
//!
//! Scripts run unmodified, in LuaJIT. Each client is a coroutine with globals of its own; all
//! clients of a thread share one Lua state, the compiled script and the library, which is a new
//! implementation (`library/`). A script sends requests to the server by yielding. Of Lua's own
//! `os`, `io` and `ffi`, scripts get what load scripts need, and no more unless the user allows it.

mod answer;
mod coroutine;
mod counters;
mod exchange;
mod execution;
mod fault;
mod host;
mod laws;
mod normalize;
mod placeholders;
mod prepared;
mod printer;
mod program;
mod reporter;
mod result_usage;
mod seeded;
mod settings;
mod source;
mod state;
mod statements;
mod target;
mod yielded;

pub use counters::Counter;
pub(crate) use fault::{fault, message_of};
pub use program::{Program, compile};
pub use reporter::{Report, Reporter};
pub use settings::{Driver, Settings};
pub use statements::Statements;
pub use target::options_of;
