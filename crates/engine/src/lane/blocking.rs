//! A lane whose connections are threads: for databases behind ODBC, whose calls block.
//!
//! It drives the same worker. Each event carries the time at which it happened, so that its delay
//! on the way to the lane is not counted as the server's.

use super::dialing::is_busy;
use super::reporting::Reporter;
use super::shell::Shell;
use super::{Channels, ConnectedLane, LaneEnd, Message, SLEEP_LONGEST, reply_event};
use crate::clock;
use crate::io::Waker;
use crate::odbc::{ActiveStatement, Config, Connection, ConnectionEvent, EventSender, TimedEvent};
use dbdyno_hist::Latencies;
use dbdyno_load::{Event, Port, Settings, ShellCall, Worker};
use dbdyno_model::{ConnectionId, Nanos, Request, ServerError};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Builder;
use std::time::Duration;

/// How long connections may take to close at the end.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// A thread of the engine, with the threads of its connections.
struct BlockingLane {
    worker: Worker,
    connections: Connections,
    events: Receiver<TimedEvent>,
    channels: Channels,
    reporter: Reporter,
    server_version: String,
    /// The time of the latest event: events of several threads may arrive out of order.
    now: Nanos,
}

/// The connections of a lane, by client.
struct Connections {
    config: Arc<Config>,
    open: Vec<Option<Connection>>,
    /// Incremented when a connection is made and when it is closed: events of an earlier generation
    /// are ignored.
    generations: Vec<u64>,
    event_sender: Sender<TimedEvent>,
    waker: Waker,
    shell: Shell,
    cancelled: Vec<Arc<ActiveStatement>>,
}

/// Runs a lane to its end.
pub(crate) fn run(settings: Settings, config: Arc<Config>, channels: Channels) {
    super::run_and_report(&channels.reports.clone(), channels.lane, || {
        let mut lane = BlockingLane::new(settings, config, channels);
        lane.run();
        let worker = lane.worker.end_report().clone();
        lane.close_connections();
        (LaneEnd { worker, broken: None }, None::<BlockingLane>)
    });
}

impl BlockingLane {
    fn new(settings: Settings, config: Arc<Config>, channels: Channels) -> Self {
        let clients = settings.executions.len();
        let (event_sender, events) = channel();
        let connections = Connections {
            config,
            open: (0..clients).map(|_| None).collect(),
            generations: vec![0; clients],
            event_sender,
            waker: channels.waker.clone(),
            shell: Shell::new(&channels),
            cancelled: Vec::new(),
        };
        let reporter = Reporter::new(&channels);
        Self {
            worker: Worker::new(settings),
            connections,
            events,
            channels,
            reporter,
            server_version: String::new(),
            now: Nanos::ZERO,
        }
    }

    fn run(&mut self) {
        self.now = clock::now();
        self.worker.connect_all(self.now, &mut self.connections);
        while !self.worker.is_over() {
            let timeout = self.worker.next_wake() - clock::now();
            self.channels.waker.wait(timeout.min(SLEEP_LONGEST));
            while let Ok(event) = self.events.try_recv() {
                self.read(event);
            }
            self.read_messages();
            self.notify_worker(clock::now(), Event::Wake);
            self.report();
        }
        self.worker.close_last(clock::now());
        self.report();
    }

    /// Passes on an event, unless its connection has been closed.
    fn read(&mut self, event: TimedEvent) {
        let TimedEvent { client, generation, at, event } = event;
        if self.connections.generations[client] != generation {
            return;
        }
        match event {
            ConnectionEvent::Connected(version) => {
                self.server_version = version;
                self.notify_worker(at, Event::Connected { client, backend: 0 });
            }
            ConnectionEvent::Replied(flow, answer) => {
                self.notify_worker(at, reply_event(client, flow, &answer));
            }
            ConnectionEvent::Refused(error) => {
                self.connections.open[client] = None;
                let busy = is_busy(&error);
                self.notify_worker(at, Event::ConnectFailed { client, error: &error, busy });
            }
            ConnectionEvent::Lost(error) => {
                self.connections.open[client] = None;
                let connection = ConnectionId::FIRST;
                self.notify_worker(at, Event::Lost { client, connection, error: &error });
            }
        }
    }

    fn notify_worker(&mut self, at: Nanos, event: Event<'_>) {
        self.now = self.now.max(at);
        self.worker.on(self.now, event, &mut self.connections);
        self.connections.deliver_cancellations();
    }

    fn read_messages(&mut self) {
        while let Ok(message) = self.channels.inbox.try_recv() {
            match message {
                Message::Start(timeline) => self.worker.start(timeline),
                Message::Stop(at) => self.notify_worker(clock::now(), Event::Stop { at }),
                Message::Abandon => self.notify_worker(clock::now(), Event::Abandon),
                // Only links of our own wire protocols can move to another thread.
                Message::MoveClient { .. } | Message::ClientArrived(_) => {}
                Message::ReuseTally(tally) => self.worker.reuse_tally(tally),
                Message::Shell { client, ticket, output } => {
                    let output = output.as_deref().map_err(String::as_str);
                    self.notify_worker(clock::now(), Event::Shell { client, ticket, output });
                }
            }
        }
    }

    fn report(&mut self) {
        let connected_lane = || ConnectedLane {
            lane: self.channels.lane,
            task: 0,
            server_version: self.server_version.clone(),
            tls: String::new(), // the driver does not report it
            connects: Latencies::default(),
            backends: Vec::new(),
        };
        self.reporter.report(&mut self.worker, connected_lane);
    }

    /// Closes all connections, and waits a while for those that are still busy.
    fn close_connections(self) {
        let Self { connections, events, .. } = self;
        drop(connections);
        let deadline = clock::now() + Nanos(CLOSE_TIMEOUT.as_nanos() as u64);
        // The last connection that ends closes the channel.
        while clock::now() < deadline && events.recv_timeout(CLOSE_TIMEOUT).is_ok() {}
    }
}

impl Connections {
    /// A driver may make a connection for each cancellation, so this runs in a thread of its own.
    fn deliver_cancellations(&mut self) {
        if self.cancelled.is_empty() {
            return;
        }
        let round = std::mem::take(&mut self.cancelled);
        // If no thread can be started, nothing is cancelled: the run gives up after its usual wait.
        let _ = Builder::new()
            .name("cancel".into())
            .spawn(move || round.iter().for_each(|statement| statement.cancel()));
    }
}

/// Only scripts in Lua open further connections, and they do not support ODBC.
impl Port for Connections {
    fn connect(&mut self, client: usize, _: ConnectionId, _: u32) {
        self.generations[client] += 1;
        let generation = self.generations[client];
        let (lane, waker) = (self.event_sender.clone(), self.waker.clone());
        let events = EventSender { client, generation, lane, waker };
        match Connection::open(&self.config, events) {
            Ok(connection) => self.open[client] = Some(connection),
            Err(error) => {
                let message = format!("cannot start a thread for a connection: {error}");
                let event = ConnectionEvent::Refused(ServerError::connection_lost(message));
                // The lane itself holds the receiver.
                let _ = self.event_sender.send(TimedEvent {
                    client,
                    generation,
                    at: clock::now(),
                    event,
                });
                self.waker.wake();
            }
        }
    }

    fn close(&mut self, client: usize, _: ConnectionId) {
        self.generations[client] += 1;
        self.open[client] = None;
    }

    fn cancel(&mut self, client: usize, _: ConnectionId) {
        self.cancelled.extend(self.open[client].as_ref().map(Connection::active_statement));
    }

    fn send(&mut self, client: usize, _: ConnectionId, request: &Request<'_>) {
        if let Some(connection) = &self.open[client] {
            connection.send(request);
        }
    }

    fn release(&mut self, _: usize) {}

    fn shell(&mut self, call: ShellCall) {
        self.shell.run(call);
    }
}
