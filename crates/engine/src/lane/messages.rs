//! What a lane is told, what it tells, and the two ends that it talks through: plain data.

use crate::io::Alarm;
use crate::link::Link;
use dbdyno_hist::{Activity, Latencies};
use dbdyno_load::{Client, ClosedInterval, Hopeless, OutageNews, Timeline};
use dbdyno_model::{Nanos, ServerError};
use dbdyno_script::Fault;
use std::collections::HashMap;
use std::fmt;
use std::sync::mpsc::{Receiver, Sender};

/// What a lane is told.
#[derive(Debug)]
pub(crate) enum Message {
    /// The load begins at the timeline's start.
    Start(Timeline),
    /// The run shall end then.
    Stop(Nanos),
    /// A client, by its number over the whole run, shall go to another lane.
    Send { client: u64, to: u32 },
    /// A client comes from another lane.
    Arrival(Box<Mover>),
    /// A shell command of a client has ended.
    Shell { client: usize, ticket: u32, output: Result<String, String> },
    /// A tally's memory, for use again.
    GiveBack(Box<dbdyno_hist::Tally>),
}

/// What a lane tells.
#[derive(Debug)]
pub(crate) enum Report {
    /// The lane lives; not all of its clients are connected yet.
    Connecting(u32),
    /// All clients of the lane are connected.
    Connected(Greeting),
    /// A client has left for another lane.
    Departure { to: u32, mover: Box<Mover> },
    /// An interval is over.
    Closed(u32, ClosedInterval),
    /// What the lane's clients were doing at an instant.
    Activity(u32, Activity),
    /// A notice of the server.
    Notice(Nanos, String),
    /// Connections were lost, or had again.
    Outage(OutageNews),
    /// A script can never work.
    Hopeless(Hopeless),
    /// The lane is done.
    Over(u32, Box<Ending>),
    /// The server lets in nobody who could tell it what to cancel for the lane.
    Uncancelled(u32, ServerError),
    /// Somebody outside wants the run to end.
    Stop,
    /// Somebody outside knows which task serves which session of the server.
    Served(HashMap<u32, u32>),
}

/// A client between two lanes, with its connection.
pub(crate) struct Mover {
    pub(crate) client: Client,
    pub(crate) link: Box<Link>,
}

impl fmt::Debug for Mover {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Mover").finish_non_exhaustive()
    }
}

/// What the servers said at the beginning.
#[derive(Debug, Default)]
pub(crate) struct Greeting {
    pub(crate) thread: u32,
    pub(crate) server_version: String,
    pub(crate) tls: String,
    /// Times to connect.
    pub(crate) connects: Latencies,
    /// (client over the whole run, process of the server).
    pub(crate) backends: Vec<(u64, u32)>,
    /// The lane, as the kernel knows it.
    pub(crate) task: u32,
}

/// How a lane ended.
#[derive(Debug, Default)]
pub(crate) struct Ending {
    pub(crate) fatal: Option<ServerError>,
    pub(crate) stalled: Option<&'static str>,
    pub(crate) faults: Vec<(u64, Fault)>,
    pub(crate) unfinished_ages: Vec<Nanos>,
    pub(crate) last_end: Nanos,
    /// The kernel interface itself failed.
    pub(crate) broken: Option<String>,
}

/// The two ends a lane talks through.
pub(crate) struct Channels {
    pub(crate) thread: u32,
    pub(crate) inbox: Receiver<Message>,
    pub(crate) sender: Sender<Message>,
    pub(crate) reports: Sender<Report>,
    pub(crate) alarm: Alarm,
}
