//! What goes in and out of a worker: its settings, what happens to it, what it wants done.
//!
//! Plain data and one trait, without a decision: those are the worker's.

use crate::Prospects;
use dbdyno_hist::Shape;
use dbdyno_model::{Nanos, Plan, Reply, Request, ServerError, StatementId};
use dbdyno_script::Session;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// What a worker wants done. Clients are numbered from 0 within the worker.
pub trait Port {
    /// Connect, log in and prepare; answered by `Connected` or `ConnectFailed`.
    fn connect(&mut self, client: usize);
    /// Close the connection; nothing of it is answered any more.
    fn close(&mut self, client: usize);
    /// Ask the server to cancel what the client waits for.
    fn cancel(&mut self, client: usize);
    /// Send a request.
    fn send(&mut self, client: usize, request: &Request<'_>);
    /// Let go of the connection, so that another thread can have it; answered by
    /// [`super::Worker::take_away`] or [`super::Worker::keep`].
    fn release(&mut self, client: usize);
    /// Run a command of the shell; answered by `Shell`.
    fn shell(&mut self, call: ShellCall);
}

/// A command of a script, for the shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellCall {
    /// Whose.
    pub client: usize,
    /// Which of the client's: a late end of one that is given up must not be taken for another's.
    pub ticket: u32,
    /// The command line.
    pub command: String,
    /// Whether its output is wanted.
    pub output: bool,
}

/// What happened.
#[derive(Debug)]
pub enum Event<'a> {
    /// Time passed.
    Wake,
    /// The client is connected, logged in, and its statements are prepared.
    Connected {
        /// Which client.
        client: usize,
        /// The server's process that serves it, or 0.
        backend: u32,
    },
    /// It could not be.
    ConnectFailed {
        /// Which client.
        client: usize,
        /// Why.
        error: &'a ServerError,
        /// Whether the server was merely too busy to take the connection.
        busy: bool,
    },
    /// The answer to what the script waits for.
    Reply {
        /// Which client.
        client: usize,
        /// The answer.
        reply: Reply<'a>,
    },
    /// The answer to a queued part of a pipeline.
    Part {
        /// Which client.
        client: usize,
        /// Its error, if it has one.
        error: Option<&'a ServerError>,
    },
    /// The connection is gone.
    Lost {
        /// Which client.
        client: usize,
        /// How.
        error: &'a ServerError,
    },
    /// The shell command ended.
    Shell {
        /// Which client.
        client: usize,
        /// The ticket of the call.
        ticket: u32,
        /// What it printed, or why it failed.
        output: Result<&'a str, &'a str>,
    },
    /// The run shall end earlier than planned.
    Stop {
        /// When: the same for all workers, and a little ahead, so that none has passed it.
        at: Nanos,
    },
}

impl Event<'_> {
    /// Whether the server has said something by it, good or bad.
    pub(super) fn is_heard_of_the_server(&self) -> bool {
        matches!(self, Self::Reply { .. } | Self::Part { .. } | Self::Connected { .. })
    }
}

/// A time without connections that were there before, or with [`Plan::reconnect_each_transaction`]
/// without any that could be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outage {
    /// The first connection lost, or asked for in vain.
    pub begin: Nanos,
    /// The first one had again.
    pub end: Option<Nanos>,
    /// How many were lost.
    pub connections_lost: u64,
    /// The first loss's message.
    pub message: String,
}

/// What is new of outages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutageNews {
    /// One has begun.
    Begun {
        /// With the first connection lost.
        at: Nanos,
        /// How that was told.
        message: String,
    },
    /// It is over, or the run is.
    Known(Outage),
}

/// A script that can never work, as one of its failures shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hopeless {
    /// The script.
    pub script: usize,
    /// The statement that fails.
    pub statement: StatementId,
    /// How it fails.
    pub error: ServerError,
}

/// What a worker is set up with.
pub struct Settings {
    /// The plan of the run.
    pub plan: Arc<Plan>,
    /// Which of the plan's threads this is, from 0.
    pub thread: u32,
    /// What there is to count.
    pub shape: Shape,
    /// The sessions of this thread's clients: client `i` here is client
    /// `thread + i · threads` of the run.
    pub sessions: Vec<Box<dyn Session>>,
    /// When any worker of the run last heard of the server, in nanoseconds: one client's long
    /// wait is no stall while others are answered.
    pub heard_by_all: Arc<AtomicU64>,
    /// When any worker of the run last met the server at its door, in nanoseconds: one client's
    /// refusals are no outage while others are let in, or turned away in the server's own words.
    pub met_by_all: Arc<AtomicU64>,
    /// What all workers of the run know of its scripts.
    pub prospects: Arc<Prospects>,
}
