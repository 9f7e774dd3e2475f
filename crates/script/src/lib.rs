//! Scripts: what one client runs in one transaction.
//!
//! Scripts are coroutines: an execution is resumed with the result it waited for and continues to
//! its next step. It does no I/O, reads no clock, and draws random numbers only from the stream it
//! was given, so the same execution runs with sockets and in the simulator.

mod dist;
pub mod lua;
pub mod pgbench;
mod problem;
pub mod workload;

pub use dist::{Span, Zipf, fnv1a, last_name, non_uniform, permute, random_text};
pub use problem::{Problem, Severity};

use dbdyno_model::{ConnectionId, Nanos, Reply, Request, Stream};

/// One client's execution of its scripts: variables and current position.
pub trait Execution: Send {
    /// Begins a transaction with script number `script` of the plan. All random numbers it draws
    /// come from `chance`.
    fn begin(&mut self, script: usize, chance: Stream);

    /// Restarts the same transaction after a retryable failure, with the variables and the random
    /// stream it began with.
    fn restart(&mut self);

    /// Whether the script handles its own errors and transaction blocks: it then receives a
    /// statement's error as the reply, and decides itself when its transaction restarts.
    fn handles_own_errors(&self) -> bool {
        false
    }

    /// Begins the script's setup, which runs once on the client's first connection before any
    /// transaction: resumed until [`Step::Done`]. False when there is none.
    fn set_up(&mut self, _chance: Stream) -> bool {
        false
    }

    /// Begins the script's teardown at the end of the run, in the same way.
    fn tear_down(&mut self, _chance: Stream) -> bool {
        false
    }

    /// The transaction that has just begun is one that this client has left to an executor.
    fn act_for(&mut self, _client: u64) {}

    /// A queued request is answered, without an error.
    fn queued_answered(&mut self, _reply: &Reply<'_>) {}

    /// Whether the script says that the server has rolled this try of its transaction back.
    fn was_rolled_back(&self) -> bool {
        false
    }

    /// Adds what the script has counted in this try of its transaction, each counter at its number.
    fn add_counted(&self, _counted: &mut Vec<u64>) {}

    /// The connection is closed after a transaction, for the next one to have its own: what the
    /// script has set up in the session is gone.
    fn connection_left(&mut self) {}

    /// Whether it can continue in another thread, between two transactions.
    fn can_move(&self) -> bool {
        false
    }

    /// Its turn comes next: prefetches what it points to and is sure to need.
    fn prefetch(&self) {}

    /// Continues until the script needs something again.
    ///
    /// The first call after `begin` returns the first step. After `Request` with
    /// [`dbdyno_model::Flow::Wait`], `input` is the reply, or that rows are wanted; after `Shell`
    /// its output; after a queued request, a sleep, a restart, a connect and a disconnect,
    /// `Continue`.
    fn resume(&mut self, input: Resume<'_>) -> Result<Step<'_>, Fault>;
}

/// What an execution is resumed with.
#[derive(Debug)]
pub enum Resume<'a> {
    /// Nothing was awaited.
    Continue,
    /// The reply to the request.
    Reply(&'a Reply<'a>),
    /// The server wants rows of the COPY, or more of them: the step is `CopyRows`.
    RowsWanted,
    /// What the shell command printed, or why it failed.
    Shell(Result<&'a str, &'a str>),
}

/// What an execution needs next.
#[derive(Debug, PartialEq)]
pub enum Step<'a> {
    /// Send a request on one of the client's connections.
    Request(ConnectionId, Request<'a>),
    /// Pause.
    Sleep(Nanos),
    /// Run a shell command; its output is wanted when `output` is set.
    Shell {
        /// The command line.
        command: &'a str,
        /// Whether the execution reads the output.
        output: bool,
    },
    /// The try has failed, and the script has cleaned up after it: the same transaction restarts
    /// when the execution is resumed.
    Restart,
    /// Open this connection to this server of the endpoint, or replace it by a new one.
    Connect {
        /// Which of the client's connections.
        connection: ConnectionId,
        /// The number of the server, among those of the endpoint.
        server: u32,
    },
    /// Close this connection; the execution is resumed at once.
    Disconnect(ConnectionId),
    /// The transaction's script has ended.
    Done,
    /// The client wants no further transaction.
    Stop {
        /// Whether the script reported the current one as over; otherwise it does not count.
        is_over: bool,
    },
}

/// A script failed while running: its client cannot continue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Which script.
    pub script: u32,
    /// Which command of the script.
    pub command: u32,
    /// Line of the script, from 1.
    pub line: u32,
    /// What went wrong.
    pub message: String,
    /// The SQLSTATE of the server's error that the script did not handle, if it is that.
    pub sqlstate: Option<String>,
}

impl Fault {
    /// The message without the line that Lua puts before it, for callers that show the line
    /// separately.
    pub fn message_without_place(&self, script: &str) -> &str {
        self.message.strip_prefix(&format!("{script}:{}: ", self.line)).unwrap_or(&self.message)
    }
}
