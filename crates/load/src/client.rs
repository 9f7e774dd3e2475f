//! One client: its state, its connections, and what its current transaction has come to.

use crate::state::{Errand, Input, State};
use dbdyno_hist::Copied;
use dbdyno_model::{
    BlockEnd, BlockWords, ConnectionId, CopyDirection, Flow, Nanos, Queue, Reply, ServerError,
    StatementId, Stream,
};
use dbdyno_script::{Execution, Fault, Resume, Step};

/// MySQL's and MariaDB's code of a deadlock, which rolls the whole block back.
const MYSQL_DEADLOCK: &str = "1213";

/// The last transaction block of a connection. Statements outside of a block commit themselves.
///
/// In this order, of the blocks of several connections the last one says how a transaction ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Block {
    /// Committed, or there was none.
    #[default]
    Committed,
    /// By the script's ROLLBACK.
    RolledBackByScript,
    /// A COMMIT was answered by a rollback, or a deadlock that the script caught ended it.
    RolledBackByServer,
    /// Not ended.
    Open,
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

/// One of a client's connections.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Connection {
    /// Whether it is usable.
    pub(crate) is_open: bool,
    /// Whether the script has closed it: it is not made again before the script asks for it.
    pub(crate) is_closed_by_script: bool,
    /// The server's number, among those of the endpoint.
    pub(crate) server: u32,
    /// How many servers it has moved on, each time from one that failed.
    pub(crate) moved_on: u32,
    /// The server's process at its other end; 0 if unknown.
    pub(crate) backend: u32,
    pub(crate) in_transaction: bool,
    /// The last transaction block that this try of the transaction opened or found open, as far as
    /// answers have come.
    pub(crate) block: Block,
}

impl Connection {
    /// It is closed, and with it any open transaction block.
    pub(crate) fn leave(&mut self) {
        self.is_open = false;
        self.in_transaction = false;
        if self.block == Block::Open {
            self.block = Block::RolledBackByScript;
        }
    }

    /// Notes what an answer to a text with these words means for the transaction block.
    fn note_block(&mut self, words: BlockWords, reply: &Reply<'_>, flow: Flow) {
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
}

/// What is known of a client that misses a connection.
#[derive(Debug)]
pub(crate) struct Trouble {
    /// The connection that it lost, or could not make, and has not had since.
    pub(crate) missing: ConnectionId,
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

impl Trouble {
    fn new(missing: ConnectionId) -> Self {
        Self {
            missing,
            connect_failures: 0,
            refused_since: None,
            is_counted_as_lost: false,
            server_busy_since: None,
        }
    }
}

/// One client. Small, as hundreds take turns: what few clients have, or for a short time only, is
/// boxed.
pub struct Client {
    /// Its number over the whole run.
    pub(crate) id: u64,
    /// The thread it is to move to.
    pub(crate) moving_to: Option<u32>,
    pub(crate) execution: Box<dyn Execution>,
    pub(crate) state: State,
    /// The connection that the engine makes for it.
    pub(crate) first: Connection,
    /// Those that its script has opened besides, from number 1 on. Boxed, as few clients have any.
    #[expect(clippy::box_collection, reason = "a client's size decides how much of it is cached")]
    pub(crate) others: Option<Box<Vec<Connection>>>,
    /// The connection that it uses at present: it connects, or waits for an answer there.
    pub(crate) using: ConnectionId,
    /// Since it lost a connection, or could not make one, until it has it again.
    pub(crate) trouble: Option<Box<Trouble>>,
    /// Alarms set in earlier states carry an older generation.
    pub(crate) generation: u32,
    /// Requests without an answer yet, oldest first.
    pub(crate) outstanding: Queue<Asked>,
    /// Statements of this try and their latencies.
    pub(crate) timings: Vec<(StatementId, Nanos)>,
    /// The error of the current try.
    pub(crate) error: Option<Box<ServerError>>,
    /// The statement that the latest error answered.
    pub(crate) failing: StatementId,
    /// Rows that this try of the transaction has copied.
    pub(crate) copied: Copied,
    /// Scripts that failed permanently here while it was undecided whether they can work.
    pub(crate) failed_scripts: Vec<usize>,
    /// Transactions begun, warm-up included: the next one's number in a closed loop.
    pub(crate) begun: u64,
    /// Measured transactions begun.
    pub(crate) measured: u64,
}

impl Client {
    pub(crate) fn new(id: u64, server: u32, execution: Box<dyn Execution>) -> Self {
        Self {
            id,
            moving_to: None,
            execution,
            state: State::Unconnected(Errand::SetUp),
            first: Connection { server, ..Connection::default() },
            others: None,
            using: ConnectionId::FIRST,
            trouble: None,
            generation: 0,
            outstanding: Queue::default(),
            timings: Vec::new(),
            error: None,
            failing: StatementId::UNCOUNTED,
            copied: Copied::default(),
            failed_scripts: Vec::new(),
            begun: 0,
            measured: 0,
        }
    }

    /// A placeholder for a client that has moved away; its alarms are void.
    pub(crate) fn placeholder(gone: &Self) -> Self {
        let generation = gone.generation.wrapping_add(1);
        let placeholder = Self::new(u64::MAX, 0, Box::new(NoExecution));
        Self { state: State::Finished, generation, ..placeholder }
    }

    /// Moves to its next state; alarms set before are void.
    #[expect(clippy::inline_always, reason = "as with the table: the input is known")]
    #[inline(always)]
    pub(crate) fn enter(&mut self, input: Input) {
        let Some(state) = self.state.after(input) else { impossible(&self.state, &input) };
        self.state = state;
        self.generation = self.generation.wrapping_add(1);
    }

    /// All of its connections that were ever open, with their numbers.
    pub(crate) fn connections(&self) -> impl Iterator<Item = (ConnectionId, &Connection)> {
        let others = self.others.iter().flat_map(|others| others.iter());
        (0..).map(ConnectionId).zip(std::iter::once(&self.first).chain(others))
    }

    fn connections_mut(&mut self) -> impl Iterator<Item = &mut Connection> {
        let others = self.others.iter_mut().flat_map(|others| others.iter_mut());
        std::iter::once(&mut self.first).chain(others)
    }

    /// The connection of this number, closed if it was never open.
    #[inline]
    pub(crate) fn connection_mut(&mut self, number: ConnectionId) -> &mut Connection {
        let Some(place) = number.0.checked_sub(1) else { return &mut self.first };
        let others = self.others.get_or_insert_default();
        let place = place as usize;
        if others.len() <= place {
            others.resize_with(place + 1, Connection::default);
        }
        &mut others[place]
    }

    /// It misses this connection, unless it has missed one before.
    pub(crate) fn misses(&mut self, connection: ConnectionId) -> &mut Trouble {
        self.trouble.get_or_insert_with(|| Box::new(Trouble::new(connection)))
    }

    /// All of its connections are closed, to be made anew.
    pub(crate) fn leave_connections(&mut self) {
        for connection in self.connections_mut() {
            connection.leave();
            connection.is_closed_by_script = false;
        }
        self.using = ConnectionId::FIRST;
    }

    /// Whether it can run its script: it has its first connection, or the script has closed that.
    pub(crate) fn is_connected(&self) -> bool {
        self.first.is_open || self.first.is_closed_by_script
    }

    /// Whether it has its first connection alone, with which it can move.
    pub(crate) fn is_movable(&self) -> bool {
        self.execution.can_move() && self.first.is_open && self.others.is_none()
    }

    /// A try begins: of earlier ones, only blocks that are still open concern it.
    pub(crate) fn forget_last_try(&mut self) {
        self.copied = Copied::default();
        for connection in self.connections_mut() {
            if connection.block != Block::Open {
                connection.block = Block::Committed;
            }
        }
    }

    /// Notes what an answer on the connection in use means for its transaction block.
    #[inline]
    pub(crate) fn note_block(&mut self, words: BlockWords, reply: &Reply<'_>, flow: Flow) {
        let using = self.using;
        self.connection_mut(using).note_block(words, reply, flow);
    }

    /// Whether the answer to a commit is missing: that of a COMMIT, or of a statement outside of a
    /// block, which commits itself.
    pub(crate) fn awaits_commit(&self) -> bool {
        let using = self.connections().find(|(number, _)| *number == self.using);
        let mut is_open = using.is_some_and(|(_, connection)| connection.block == Block::Open);
        self.outstanding.iter().any(|asked| {
            let BlockWords { begins, ends } = asked.words;
            let commits = ends.map_or(!is_open && !begins, |end| end == BlockEnd::Commit);
            is_open = begins || (is_open && ends.is_none());
            commits
        })
    }

    /// How its transaction ended, over all of its connections.
    pub(crate) fn block(&self) -> Block {
        self.connections().map(|(_, connection)| connection.block).max().unwrap_or_default()
    }

    /// Its number over the whole run.
    pub fn number(&self) -> u64 {
        self.id
    }

    /// Whether it can run transactions.
    pub(crate) fn is_set_up(&self) -> bool {
        self.is_connected() && self.state.is_set_up()
    }
}

#[cold]
fn impossible(state: &State, input: &Input) -> ! {
    panic!("{input:?} is impossible for a client that is {state:?}")
}

/// The execution of a placeholder.
pub(crate) struct NoExecution;

impl Execution for NoExecution {
    fn begin(&mut self, _: usize, _: Stream) {}

    fn restart(&mut self) {}

    fn resume(&mut self, _: Resume<'_>) -> Result<Step<'_>, Fault> {
        Ok(Step::Stop { is_over: false })
    }
}
