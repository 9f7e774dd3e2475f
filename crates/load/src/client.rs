//! One client: the state of its connection and its current transaction.

use dbdyno_hist::Copied;
use dbdyno_model::{
    BlockEnd, BlockWords, CopyDirection, Flow, Nanos, Queue, Reply, ServerError, StatementId,
    Stream,
};
use dbdyno_script::{Fault, Resume, Session, Step};

/// The state of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Not connected and not connecting. Waits for its turn to connect, or for the alarm that ends
    /// its pause after a failed attempt. Leaves to `Connecting`.
    Unconnected,
    /// Connecting since this instant. Leaves to `Idle`, or into the transaction that waited for the
    /// connection, or back to `Unconnected`.
    Connecting(Nanos),
    /// Connected and idle since this instant. Leaves to `AwaitingReply` when a transaction is due.
    Idle(Nanos),
    /// Think time between two transactions, until its alarm. Leaves to `AwaitingReply`.
    Thinking,
    /// After a transaction without requests, until the clock has advanced. Leaves as `Idle` does,
    /// or to `Thinking`.
    Yielding,
    /// Waits for a reply. Stays with the next statement, or leaves to any of the states below, or
    /// to the end of the transaction.
    AwaitingReply,
    /// The script sleeps, until its alarm.
    Sleeping,
    /// A shell command is running.
    InShell,
    /// The transaction failed and left its block open; waits for the reply to ROLLBACK. Leaves to
    /// the retry or to the transaction's end.
    RollingBack {
        /// Whether the transaction is retried.
        retry: bool,
    },
    /// The run is over and the server was asked to cancel; waits for its last reply.
    Cancelling,
    /// Moves to another thread as soon as its connection can. Leaves with it, or as `Idle` does.
    Moving,
    /// Done: there is no further state.
    Finished,
}

/// Where a client is between the setup and the teardown of its script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lifecycle {
    /// Setup has not run, or the connection it ran on was lost. Leaves to `SettingUp` with the next
    /// connection, or to `SetUp` when the script has no setup.
    NotSetUp,
    /// The script's setup is running. Leaves to `SetUp`, or back to `NotSetUp` if the connection is
    /// lost.
    SettingUp,
    /// The client runs transactions. Leaves to `TearingDown`, or back to `NotSetUp` if the
    /// connection is lost.
    SetUp,
    /// The last transaction is over, and the script's teardown is running. The client is finished
    /// then.
    TearingDown,
}

/// The transaction a client is in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transaction {
    pub(crate) script: usize,
    /// Index among the client's transactions (closed loop), or number of the arrival (open loop).
    pub(crate) number: u64,
    pub(crate) due: Nanos,
    /// When its first request was sent.
    pub(crate) sent: Option<Nanos>,
    pub(crate) tries: u32,
    /// When its latest try began.
    pub(crate) try_began: Nanos,
    /// Whether it was due in the measured part of the run.
    pub(crate) measured: bool,
}

/// MySQL's and MariaDB's code of a deadlock, which rolls the whole block back.
const MYSQL_DEADLOCK: &str = "1213";

/// A script's last transaction block. Statements outside of a block commit themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Block {
    /// Not ended.
    Open,
    /// Committed, or there was none.
    Committed,
    /// By the script's ROLLBACK.
    RolledBackByScript,
    /// A COMMIT was answered by a rollback, or a deadlock that the script caught ended it.
    RolledBackByServer,
}

/// A request without an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    pub(crate) statement: StatementId,
    pub(crate) sent: Nanos,
    pub(crate) words: BlockWords,
    /// Which way it copies rows, if it does.
    pub(crate) copy: Option<CopyDirection>,
}

/// One client.
pub struct Client {
    /// Its number over the whole run.
    pub(crate) id: u64,
    /// The thread it is to move to.
    pub(crate) moving_to: Option<u32>,
    pub(crate) session: Box<dyn Session>,
    pub(crate) state: State,
    pub(crate) lifecycle: Lifecycle,
    /// Whether it has a usable connection.
    pub(crate) connected: bool,
    /// The server's process at the other end of its latest connection; 0 if unknown.
    pub(crate) backend: u32,
    /// Alarms set in earlier states carry an older generation.
    pub(crate) generation: u32,
    pub(crate) transaction: Option<Transaction>,
    /// Requests without an answer yet, oldest first.
    pub(crate) outstanding: Queue<Asked>,
    /// Statements of this try and their latencies.
    pub(crate) timings: Vec<(StatementId, Nanos)>,
    /// The error of the current try.
    pub(crate) error: Option<ServerError>,
    /// The statement that the latest error answered.
    pub(crate) failing: StatementId,
    pub(crate) in_transaction: bool,
    /// The last transaction block that this try of the transaction opened or found open, as far as
    /// answers have come.
    pub(crate) block: Block,
    /// Rows that this try of the transaction has copied.
    pub(crate) copied: Copied,
    /// Scripts that failed permanently here while it was undecided whether they can work.
    pub(crate) failed_scripts: Vec<usize>,
    /// Transactions begun, warm-up included: the next one's number in a closed loop.
    pub(crate) begun: u64,
    /// Measured transactions begun.
    pub(crate) measured: u64,
    /// Connect attempts that failed in a row.
    pub(crate) connect_failures: u32,
    /// When the first of its failed connect attempts began, since any client last reached the
    /// server.
    pub(crate) refused_since: Option<Nanos>,
    /// Whether its missing connection has been counted as lost.
    pub(crate) is_counted_as_lost: bool,
    /// Since when it has been trying to connect to a server that is too busy.
    pub(crate) server_busy_since: Option<Nanos>,
}

impl Client {
    pub(crate) fn new(id: u64, session: Box<dyn Session>) -> Self {
        Self {
            id,
            moving_to: None,
            session,
            state: State::Unconnected,
            lifecycle: Lifecycle::NotSetUp,
            connected: false,
            backend: 0,
            generation: 0,
            transaction: None,
            outstanding: Queue::default(),
            timings: Vec::new(),
            error: None,
            failing: StatementId::UNCOUNTED,
            in_transaction: false,
            block: Block::Committed,
            copied: Copied::default(),
            failed_scripts: Vec::new(),
            begun: 0,
            measured: 0,
            connect_failures: 0,
            refused_since: None,
            is_counted_as_lost: false,
            server_busy_since: None,
        }
    }

    /// A placeholder for a client that has moved away; its alarms are void.
    pub(crate) fn placeholder(gone: &Self) -> Self {
        let generation = gone.generation.wrapping_add(1);
        let placeholder = Self::new(u64::MAX, Box::new(NoSession));
        Self { state: State::Finished, generation, ..placeholder }
    }

    /// Enters a state; alarms set before are void.
    pub(crate) fn enter(&mut self, state: State) {
        self.state = state;
        self.generation = self.generation.wrapping_add(1);
    }

    /// Its connection is closed, and with it any open transaction block.
    pub(crate) fn leave_session(&mut self) {
        self.connected = false;
        self.in_transaction = false;
        if self.block == Block::Open {
            self.block = Block::RolledBackByScript;
        }
    }

    /// A try begins: of earlier ones, only a block that is still open concerns it.
    pub(crate) fn forget_last_try(&mut self) {
        self.copied = Copied::default();
        if self.block != Block::Open {
            self.block = Block::Committed;
        }
    }

    /// Notes what an answer to a text with these words means for the script's transaction block.
    pub(crate) fn note_block(&mut self, words: BlockWords, reply: &Reply<'_>, flow: Flow) {
        if let Some(error) = reply.error {
            // PostgreSQL keeps a failed block open. MySQL rolls it back after a deadlock, and does
            // not say so with errors.
            if self.block == Block::Open && error.code == MYSQL_DEADLOCK {
                self.block = Block::RolledBackByServer;
            }
            return;
        }
        let was_open = self.block == Block::Open || words.begins;
        let is_open = match flow {
            Flow::Wait => reply.in_transaction,
            Flow::Queue => was_open && words.ends.is_none(),
        };
        self.block = match words.ends {
            _ if is_open => Block::Open,
            _ if !was_open => return,
            Some(BlockEnd::Rollback) => Block::RolledBackByScript,
            Some(BlockEnd::Commit) if reply.rolled_back => Block::RolledBackByServer,
            // Some other statement may have ended it: MySQL commits before it changes a schema.
            Some(BlockEnd::Commit) | None => Block::Committed,
        };
    }

    /// Its number over the whole run.
    pub fn number(&self) -> u64 {
        self.id
    }

    /// Whether it can run transactions.
    pub(crate) fn is_set_up(&self) -> bool {
        self.connected && matches!(self.lifecycle, Lifecycle::SetUp | Lifecycle::TearingDown)
    }

    /// Whether it waits for an answer of the server.
    pub(crate) fn awaits_server(&self) -> bool {
        matches!(self.state, State::AwaitingReply | State::RollingBack { .. } | State::Cancelling)
    }
}

/// The session of a placeholder.
struct NoSession;

impl Session for NoSession {
    fn begin(&mut self, _: usize, _: Stream) {}

    fn restart(&mut self) {}

    fn resume(&mut self, _: Resume<'_>) -> Result<Step<'_>, Fault> {
        Ok(Step::Stop { is_over: false })
    }
}
