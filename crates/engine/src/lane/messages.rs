//! The messages to a lane, its reports, and its ends of the channels: plain data.

use crate::io::Waker;
use crate::link::Link;
use dbdyno_hist::{Activity, Latencies};
use dbdyno_load::{Client, ClosedInterval, EndReport, HopelessScript, OutageEvent, Timeline};
use dbdyno_model::{Nanos, ServerError};
use std::collections::HashMap;
use std::fmt;
use std::sync::mpsc::{Receiver, Sender};

/// A message to a lane.
#[derive(Debug)]
pub(crate) enum Message {
    /// The load begins at the timeline's start.
    Start(Timeline),
    /// The run is to end at this time.
    Stop(Nanos),
    /// The run is to end at once, with what is in flight.
    Abandon,
    /// A client, by its number over the whole run, is to move to another lane.
    MoveClient { client: u64, to: u32 },
    /// A client comes from another lane.
    ClientArrived(Box<MovingClient>),
    /// A client's shell command has ended.
    Shell { client: usize, ticket: u32, output: Result<String, String> },
    /// A tally's memory, for reuse.
    ReuseTally(Box<dbdyno_hist::Tally>),
}

/// A report of a lane.
#[derive(Debug)]
pub(crate) enum Report {
    /// The lane is alive; not all of its clients are connected yet.
    Connecting(u32),
    /// All clients of the lane are connected.
    Connected(ConnectedLane),
    /// The lane's first clients were let go at this instant.
    Begun(Nanos),
    /// A client has left for another lane.
    ClientDeparted { to: u32, moving: Box<MovingClient> },
    /// An interval is over.
    IntervalClosed(u32, ClosedInterval),
    /// What the lane's clients were doing at the instants of the last second.
    Activities(u32, Vec<Activity>),
    /// A notice of the server.
    Notice(Nanos, String),
    /// Connections were lost or restored.
    Outage(OutageEvent),
    /// A script can never work.
    Hopeless(HopelessScript),
    /// The lane is done.
    Over(u32, Box<LaneEnd>),
    /// The server refuses the session that would cancel what the lane's clients are executing.
    CancelFailed(u32, ServerError),
    /// The caller is ready for the load to begin, at this instant or as soon as it can.
    Begin(Option<Nanos>),
    /// The caller wants the run to end, at this instant or as soon as it can.
    Stop(Option<Nanos>),
    /// The caller is gone, as far as can be seen, for this reason.
    Abandon(String),
    /// Which task serves which session of the server, as the caller has found out.
    SessionTasks(HashMap<u32, u32>),
}

/// A client on its way between two lanes, with its connection.
pub(crate) struct MovingClient {
    pub(crate) client: Client,
    pub(crate) link: Box<Link>,
}

impl fmt::Debug for MovingClient {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("MovingClient").finish_non_exhaustive()
    }
}

/// What a lane reports once all its clients are connected.
#[derive(Debug, Default)]
pub(crate) struct ConnectedLane {
    pub(crate) lane: u32,
    pub(crate) server_version: String,
    pub(crate) tls: String,
    /// Times to connect.
    pub(crate) connects: Latencies,
    /// (client over the whole run, backend process ID).
    pub(crate) backends: Vec<(u64, u32)>,
    /// The kernel's ID of the lane's thread.
    pub(crate) task: u32,
}

/// How a lane ended.
#[derive(Debug, Default)]
pub(crate) struct LaneEnd {
    /// What its worker has to say.
    pub(crate) worker: EndReport,
    /// The error of the kernel interface itself.
    pub(crate) broken: Option<String>,
}

/// A lane's ends of the channels.
pub(crate) struct Channels {
    /// The lane's place among those of this engine.
    pub(crate) lane: u32,
    pub(crate) inbox: Receiver<Message>,
    pub(crate) sender: Sender<Message>,
    pub(crate) reports: Sender<Report>,
    pub(crate) waker: Waker,
}
