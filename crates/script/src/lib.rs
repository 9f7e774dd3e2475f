//! What one client runs in one transaction.
//!
//! Scripts are coroutines: a session is resumed with what it waited for and goes on to its
//! next step. It does no I/O, knows no clock, and draws chance only from the stream it was
//! given, so the same session runs against sockets and in the simulator.

mod dist;
pub mod lua;
mod pgbench;
mod problem;

pub use pgbench::{Compilation, Options, PgbenchSession, Program, compile};
pub use problem::{Problem, Severity};

use dbdyno_model::{Nanos, Reply, Request, Stream};

/// One client's side of its scripts: variables and the place it has reached.
pub trait Session: Send {
    /// Begins a transaction with script number `script` of the plan. All that it draws comes
    /// from `chance`.
    fn begin(&mut self, script: usize, chance: Stream);

    /// Begins the same transaction again after a retryable failure, with the variables and
    /// the chance it began with.
    fn restart(&mut self);

    /// Whether the script answers for its own errors and transaction blocks: it is then told of
    /// a statement's error by its reply, and says itself when its transaction begins anew.
    fn handles_own_errors(&self) -> bool {
        false
    }

    /// Begins what the script does once on its client's first connection, before any
    /// transaction: resumed until [`Step::Done`]. False when there is nothing to do.
    fn set_up(&mut self, _chance: Stream) -> bool {
        false
    }

    /// Begins what the script does at the end of the run, in the same way.
    fn tear_down(&mut self, _chance: Stream) -> bool {
        false
    }

    /// Whether it can go on in another thread, between two transactions.
    fn can_move(&self) -> bool {
        false
    }

    /// Its turn comes next: fetches ahead what it points to and is sure to need.
    fn prefetch(&self) {}

    /// Goes on until the script needs something again.
    ///
    /// After `Begin` the first step; after `Ask` with [`dbdyno_model::Flow::Wait`] the reply;
    /// after a queued ask, a sleep, a restart and a new connection, `Continue`; after `Shell`
    /// its output.
    fn resume(&mut self, input: Resume<'_>) -> Result<Step<'_>, Fault>;
}

/// What a session is resumed with.
#[derive(Debug)]
pub enum Resume<'a> {
    /// Nothing was waited for.
    Continue,
    /// The reply to the request.
    Reply(&'a Reply<'a>),
    /// What the shell command printed, or why it failed.
    Shell(Result<&'a str, &'a str>),
}

/// What a session needs next.
#[derive(Debug, PartialEq)]
pub enum Step<'a> {
    /// An exchange with the server.
    Ask(Request<'a>),
    /// A pause.
    Sleep(Nanos),
    /// A command for the shell; its output is asked for when `output` is set.
    Shell {
        /// The command line.
        command: &'a str,
        /// Whether the session reads the output.
        output: bool,
    },
    /// The try has failed, and the script has cleaned up after it: the same transaction
    /// begins anew when the session is resumed.
    Restart,
    /// A new connection in place of the present one.
    Reconnect,
    /// The transaction's script is at its end.
    Done,
    /// The client wants no further transaction.
    Stop {
        /// Whether the script told that the present one is over; else it does not count.
        is_over: bool,
    },
}

/// The script itself went wrong while running: the client cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Which script.
    pub script: u32,
    /// Which command of it.
    pub command: u32,
    /// Line of the script, from 1.
    pub line: u32,
    /// What went wrong.
    pub message: String,
}

impl Fault {
    /// The message for whoever tells the line, which Lua has put before it.
    pub fn message_without_place(&self, script: &str) -> &str {
        self.message.strip_prefix(&format!("{script}:{}: ", self.line)).unwrap_or(&self.message)
    }
}
