//! A lane whose connections are threads: for databases behind ODBC, whose calls block.
//!
//! It drives the same worker. Each event carries the time at which it happened, so that its delay
//! on the way to the lane is not counted as the server's.

use super::dialing::is_busy;
use super::reporting::{Reporter, ending};
use super::shelling::Shell;
use super::{Channels, Greeting, Message, SLEEP_LONGEST, reply_event};
use crate::clock;
use crate::io::Alarm;
use crate::odbc::{Blueprint, Connection, Letter, News, Running, Writer};
use dbdyno_hist::Latencies;
use dbdyno_load::{Event, Port, Settings, ShellCall, Worker};
use dbdyno_model::{Nanos, Request, ServerError};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Builder;
use std::time::Duration;

/// How long connections may take to close at the end.
const GOODBYE: Duration = Duration::from_secs(2);

/// A thread of the engine, with the threads of its connections.
struct BlockingLane {
    worker: Worker,
    connections: Connections,
    letters: Receiver<Letter>,
    channels: Channels,
    reporter: Reporter,
    server_version: String,
    /// The time of the latest event: events of several threads may arrive out of order.
    now: Nanos,
}

/// The connections of a lane, by client.
struct Connections {
    blueprint: Arc<Blueprint>,
    open: Vec<Option<Connection>>,
    /// Incremented when a connection is made and when it is closed: events of an earlier generation
    /// are ignored.
    lives: Vec<u64>,
    post: Sender<Letter>,
    alarm: Alarm,
    shell: Shell,
    cancelled: Vec<Arc<Running>>,
}

/// Runs a lane to its end.
pub(crate) fn run(settings: Settings, blueprint: Arc<Blueprint>, channels: Channels) {
    super::watched(&channels.reports.clone(), channels.thread, || {
        let mut lane = BlockingLane::new(settings, blueprint, channels);
        lane.run();
        let ending = ending(&lane.worker);
        lane.say_goodbye();
        (ending, None::<BlockingLane>)
    });
}

impl BlockingLane {
    fn new(settings: Settings, blueprint: Arc<Blueprint>, channels: Channels) -> Self {
        let clients = settings.sessions.len();
        let (post, letters) = channel();
        let connections = Connections {
            blueprint,
            open: (0..clients).map(|_| None).collect(),
            lives: vec![0; clients],
            post,
            alarm: channels.alarm.clone(),
            shell: Shell::new(&channels),
            cancelled: Vec::new(),
        };
        let reporter = Reporter::new(&channels);
        Self {
            worker: Worker::new(settings),
            connections,
            letters,
            channels,
            reporter,
            server_version: String::new(),
            now: Nanos::ZERO,
        }
    }

    fn run(&mut self) {
        self.now = clock::now();
        self.worker.connect_all(self.now, &mut self.connections);
        while !self.worker.is_over() && self.worker.fatal().is_none() {
            let timeout = self.worker.next_wake() - clock::now();
            self.channels.alarm.wait(timeout.min(SLEEP_LONGEST));
            while let Ok(letter) = self.letters.try_recv() {
                self.read(letter);
            }
            self.read_messages();
            self.tell(clock::now(), Event::Wake);
            self.report();
        }
        self.worker.close_last(clock::now());
        self.report();
    }

    /// Passes on an event, unless its connection has been closed.
    fn read(&mut self, letter: Letter) {
        let Letter { client, life, at, news } = letter;
        if self.connections.lives[client] != life {
            return;
        }
        match news {
            News::Connected(version) => {
                self.server_version = version;
                self.tell(at, Event::Connected { client, backend: 0 });
            }
            News::Answered(flow, answer) => self.tell(at, reply_event(client, flow, &answer)),
            News::Refused(error) => {
                self.connections.open[client] = None;
                let busy = is_busy(&error);
                self.tell(at, Event::ConnectFailed { client, error: &error, busy });
            }
            News::Lost(error) => {
                self.connections.open[client] = None;
                self.tell(at, Event::Lost { client, error: &error });
            }
        }
    }

    fn tell(&mut self, at: Nanos, event: Event<'_>) {
        self.now = self.now.max(at);
        self.worker.on(self.now, event, &mut self.connections);
        self.connections.deliver_cancellations();
    }

    fn read_messages(&mut self) {
        while let Ok(message) = self.channels.inbox.try_recv() {
            match message {
                Message::Start(timeline) => self.worker.start(timeline),
                Message::Stop(at) => self.tell(clock::now(), Event::Stop { at }),
                // Only links of our own wire protocols can move to another thread.
                Message::Send { .. } | Message::Arrival(_) => {}
                Message::GiveBack(tally) => self.worker.give_back(tally),
                Message::Shell { client, ticket, output } => {
                    let output = output.as_deref().map_err(String::as_str);
                    self.tell(clock::now(), Event::Shell { client, ticket, output });
                }
            }
        }
    }

    fn report(&mut self) {
        let greeting = || Greeting {
            thread: self.channels.thread,
            task: 0,
            server_version: self.server_version.clone(),
            tls: String::new(), // the driver does not report it
            connects: Latencies::default(),
            backends: Vec::new(),
        };
        self.reporter.report(&mut self.worker, greeting);
    }

    /// Closes all connections, and waits a while for those that are still busy.
    fn say_goodbye(self) {
        let Self { connections, letters, .. } = self;
        drop(connections);
        let deadline = clock::now() + Nanos(GOODBYE.as_nanos() as u64);
        // The last connection that ends closes the channel.
        while clock::now() < deadline && letters.recv_timeout(GOODBYE).is_ok() {}
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
            .spawn(move || round.iter().for_each(|running| running.cancel()));
    }
}

impl Port for Connections {
    fn connect(&mut self, client: usize) {
        self.lives[client] += 1;
        let life = self.lives[client];
        let (lane, alarm) = (self.post.clone(), self.alarm.clone());
        let writer = Writer { client, life, lane, alarm };
        match Connection::open(&self.blueprint, writer) {
            Ok(connection) => self.open[client] = Some(connection),
            Err(error) => {
                let message = format!("no thread for a connection: {error}");
                let news = News::Refused(ServerError::connection_lost(message));
                // The lane itself holds the receiver.
                let _ = self.post.send(Letter { client, life, at: clock::now(), news });
                self.alarm.ring();
            }
        }
    }

    fn close(&mut self, client: usize) {
        self.lives[client] += 1;
        self.open[client] = None;
    }

    fn cancel(&mut self, client: usize) {
        self.cancelled.extend(self.open[client].as_ref().map(Connection::running));
    }

    fn send(&mut self, client: usize, request: &Request<'_>) {
        if let Some(connection) = &self.open[client] {
            connection.send(request);
        }
    }

    fn release(&mut self, _: usize) {}

    fn shell(&mut self, call: ShellCall) {
        self.shell.run(call);
    }
}
