//! The inputs and outputs of a worker: its settings, its events, and the actions it requests.
//!
//! Plain data and one trait, without decisions.

use crate::RunShared;
use dbdyno_hist::Shape;
use dbdyno_model::{
    BlockWords, ConnectionId, Nanos, Plan, Reply, Request, ServerError, StatementId,
};
use dbdyno_script::{Execution, Fault};
use std::sync::Arc;

/// The actions a worker requests. Clients are numbered from 0 within the worker.
pub trait Port {
    /// Connect to this server of the endpoint, log in and prepare; answered by `Connected` or
    /// `ConnectFailed`.
    fn connect(&mut self, client: usize, connection: ConnectionId, server: u32);
    /// Close a connection; no event of it follows.
    fn close(&mut self, client: usize, connection: ConnectionId);
    /// Ask the server to cancel what the client waits for on a connection.
    fn cancel(&mut self, client: usize, connection: ConnectionId);
    /// Send a request on a connection.
    fn send(&mut self, client: usize, connection: ConnectionId, request: &Request<'_>);
    /// Release the only connection of a client, so that another thread can use it; answered by
    /// [`crate::Worker::take_client`] or [`crate::Worker::cancel_move`].
    fn release(&mut self, client: usize);
    /// Run a shell command; answered by `Shell`.
    fn shell(&mut self, call: ShellCall);
}

/// A shell command of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellCall {
    /// The client that runs it.
    pub client: usize,
    /// Identifies the call, so that the late end of one that was given up is not taken for
    /// another's.
    pub ticket: u32,
    /// The command line.
    pub command: String,
    /// Whether the script wants its output.
    pub output: bool,
}

/// An event.
#[derive(Debug)]
pub enum Event<'a> {
    /// Time passed.
    Wake,
    /// The connection that the client is making is logged in, and its statements are prepared.
    Connected {
        /// Which client.
        client: usize,
        /// The server's process that serves it, or 0.
        backend: u32,
    },
    /// Connecting failed.
    ConnectFailed {
        /// Which client.
        client: usize,
        /// Why.
        error: &'a ServerError,
        /// Whether the server was merely too busy to accept the connection.
        busy: bool,
    },
    /// The reply that the script waits for.
    Reply {
        /// Which client.
        client: usize,
        /// The answer.
        reply: Reply<'a>,
    },
    /// The server wants rows of the client's COPY, and has taken those sent before.
    RowsWanted {
        /// Which client.
        client: usize,
    },
    /// The answer to a queued part of a pipeline.
    Part {
        /// Which client.
        client: usize,
        /// The answer; whether a block is open is known with the pipeline's last one only.
        reply: Reply<'a>,
    },
    /// A connection is lost.
    Lost {
        /// Which client.
        client: usize,
        /// Which of its connections.
        connection: ConnectionId,
        /// How.
        error: &'a ServerError,
    },
    /// The shell command has ended.
    Shell {
        /// Which client.
        client: usize,
        /// The ticket of the call.
        ticket: u32,
        /// What it printed, or why it failed.
        output: Result<&'a str, &'a str>,
    },
    /// The run is to end earlier than planned.
    Stop {
        /// When: the same for all workers, and slightly in the future, so that none has passed it.
        at: Nanos,
    },
    /// The run is to end now, and what is in flight is to be cancelled.
    Abandon,
}

impl Event<'_> {
    /// Whether it shows that the server is alive.
    pub(crate) fn is_from_server(&self) -> bool {
        matches!(
            self,
            Self::Reply { .. }
                | Self::RowsWanted { .. }
                | Self::Part { .. }
                | Self::Connected { .. }
        )
    }
}

/// A script that can never work, with one of its failures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HopelessScript {
    /// The script.
    pub script: usize,
    /// The statement that fails.
    pub statement: StatementId,
    /// Its error.
    pub error: ServerError,
}

/// What a worker has to say at its end.
#[derive(Clone, Debug, Default)]
pub struct EndReport {
    /// An error before the load began, which makes the run impossible.
    pub fatal: Option<ServerError>,
    /// How the server stopped answering, if it did.
    pub stalled: Option<String>,
    /// Clients whose scripts failed: (client over the whole run, error).
    pub faults: Vec<(u64, Fault)>,
    /// Ages, at the end of the grace period, of the measured transactions that were cut off.
    pub unfinished_ages: Vec<Nanos>,
    /// When the last measured transaction ended.
    pub last_end: Nanos,
}

/// What a worker is created with.
pub struct Settings {
    /// The plan of the run.
    pub plan: Arc<Plan>,
    /// Which of the plan's threads this is, from 0.
    pub thread: u32,
    /// The counters and histograms to keep.
    pub shape: Shape,
    /// What the statements known before the run ask of transaction blocks, by their IDs.
    pub block_words: Arc<[BlockWords]>,
    /// The executions of this thread's clients: client `i` here is client `thread + i · threads` of
    /// the run.
    pub executions: Vec<Box<dyn Execution>>,
    /// What all workers of the run know together.
    pub shared: Arc<RunShared>,
}
