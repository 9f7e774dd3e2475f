//! A lane, one thread of the engine: a worker, the links of its clients, and its kernel interface.

pub(crate) mod blocking;
mod cancelling;
mod dialing;
mod links;
mod messages;
mod moving;
mod notices;
mod prefetch;
mod reporting;
mod shell;

use crate::clock;
use crate::io::{Io, Ready, Received, Sending};
use crate::limits;
use crate::link::{LinkEvent, OwnedReply, Owner, Server};
use cancelling::Cancelling;
use dbdyno_load::{Event, Settings, Worker};
use dbdyno_model::{Flow, Nanos, Reply, ServerError};
use links::{Action, Links};
use notices::Notices;
use reporting::Reporter;
use shell::Shell;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::Sender;

pub(crate) use messages::{Channels, ConnectedLane, LaneEnd, Message, MovingClient, Report};

/// The longest wait of a lane, as a safeguard against a missed wake-up.
const SLEEP_LONGEST: Nanos = Nanos::from_millis(500);

/// One thread of the engine.
pub(crate) struct Lane<I: Io> {
    worker: Worker,
    links: Links,
    io: I,
    channels: Channels,
    reporter: Reporter,
    notices: Notices,
    shell: Shell,
    /// The lane's clients, by their numbers over the whole run.
    client_numbers: Vec<u32>,
    /// Since they were last reported to the worker.
    bytes_sent: u64,
    bytes_received: u64,
    cancelling: Cancelling,
}

/// Runs a lane to its end.
pub(crate) fn run<I: Io>(settings: Settings, servers: Arc<[Server]>, channels: Channels) {
    run_and_report(&channels.reports.clone(), channels.lane, || {
        run_lane::<I>(settings, servers, channels)
    });
}

/// Runs a lane, and reports how it ended, even by a panic, before its state is dropped.
fn run_and_report<State>(
    reports: &Sender<Report>,
    lane: u32,
    run_lane: impl FnOnce() -> (LaneEnd, Option<State>),
) {
    // The panic hook has logged the panic; the other lanes must not wait for this one.
    let (end, state) = catch_unwind(AssertUnwindSafe(run_lane)).unwrap_or_else(|_| {
        let broken = "a thread of the engine panicked: this is a defect of dbdyno";
        (LaneEnd { broken: Some(broken.into()), ..LaneEnd::default() }, None)
    });
    // The receiver is gone only when the whole run is.
    let _ = reports.send(Report::Over(lane, Box::new(end)));
    drop(state);
}

fn run_lane<I: Io>(
    settings: Settings,
    servers: Arc<[Server]>,
    channels: Channels,
) -> (LaneEnd, Option<Lane<I>>) {
    match Lane::<I>::new(settings, servers, channels) {
        Ok(mut lane) => {
            let broken = lane.run().err().map(|error| error.to_string());
            (LaneEnd { worker: lane.worker.end_report().clone(), broken }, Some(lane))
        }
        Err(error) => (LaneEnd { broken: Some(error.to_string()), ..LaneEnd::default() }, None),
    }
}

/// However a lane ends, the kernel releases its links' memory before that is freed; the sessions
/// stay open until the requests to cancel what they do are delivered.
impl<I: Io> Drop for Lane<I> {
    fn drop(&mut self) {
        self.cancelling.await_ended();
        self.links.retire_all(&mut self.io);
    }
}

impl<I: Io> Lane<I> {
    fn new(settings: Settings, servers: Arc<[Server]>, channels: Channels) -> io::Result<Self> {
        let clients = settings.executions.len();
        let client_numbers = settings.plan.clients_of(settings.thread).collect();
        let connections = clients * limits::connections_max(&settings.plan) as usize;
        let slots = limits::slots(connections).min(limits::open_files_max() as usize);
        Ok(Self {
            worker: Worker::new(settings),
            links: Links::new(clients, slots, servers),
            io: I::new(slots, limits::slots(clients), &channels.waker)?,
            reporter: Reporter::new(&channels),
            notices: Notices::new(channels.reports.clone()),
            shell: Shell::new(&channels),
            channels,
            client_numbers,
            bytes_sent: 0,
            bytes_received: 0,
            cancelling: Cancelling::default(),
        })
    }

    fn run(&mut self) -> io::Result<()> {
        let mut ready = Vec::new();
        self.worker.connect_all(clock::now(), &mut self.links);
        self.perform_actions()?;
        while !self.worker.is_over() {
            let timeout = self.timeout();
            self.io.wait(timeout, &mut ready)?;
            for place in 0..ready.len() {
                self.prefetch_next_clients(&ready[place..]);
                self.handle(ready[place])?;
            }
            ready.clear();
            self.links.release_freed();
            self.continue_copies();
            self.notify_worker(Event::Wake);
            self.perform_actions()?;
            self.report();
        }
        self.worker.close_last(clock::now());
        self.notices.report_suppressed(clock::now());
        self.report();
        Ok(())
    }

    /// Notifies the worker of what happened, and then does all that it asks for.
    fn handle(&mut self, ready: Ready) -> io::Result<()> {
        match ready {
            Ready::Readable(slot) => self.readable(slot),
            Ready::Writable(slot) => self.writable(slot)?,
            Ready::Freed(slot) => self.links.freed(slot),
            Ready::Released(slot) => self.released(slot)?,
            Ready::Woken => self.read_messages()?,
        }
        self.perform_actions()
    }

    fn flush(&mut self, slot: usize) {
        let Some(link) = self.links.get(slot) else { return };
        link.is_to_be_flushed = false;
        if let Err(error) = link.seal() {
            return self.lost(slot, &error);
        }
        let waiting = link.out.len();
        let flushed = self.io.flush(slot, link);
        self.bytes_sent += (waiting - link.out.len()) as u64;
        self.links.after_flush(slot);
        if let Err(error) = flushed {
            self.lost(slot, &broken(&error));
        }
    }

    fn readable(&mut self, slot: usize) {
        self.links.before_receiving(slot);
        self.receive(slot);
        self.links.after_receiving(slot);
    }

    fn receive(&mut self, slot: usize) {
        while let Some(link) = self.links.get(slot) {
            let (received, more) = match self.io.receive(slot, link) {
                Ok(Received::Nothing) => return,
                Ok(Received::End) => (Err(closed()), false),
                Ok(Received::Bytes { count, more }) => {
                    self.bytes_received += count as u64;
                    (link.received(count), more)
                }
                Err(error) => (Err(broken(&error)), false),
            };
            match received {
                Ok(()) => self.handle_events(slot),
                Err(error) => self.lost(slot, &error),
            }
            if !more {
                break;
            }
        }
    }

    /// Handles all events in the bytes a link has received.
    fn handle_events(&mut self, slot: usize) {
        let now = clock::now();
        while let Some(link) = self.links.get(slot) {
            match link.poll() {
                Ok(Some(event)) => self.link_event(now, slot, event),
                Ok(None) => return self.links.flush_later(slot),
                Err(error) => return self.lost(slot, &error),
            }
        }
    }

    fn link_event(&mut self, now: Nanos, slot: usize, event: LinkEvent) {
        let Some(Owner { client, .. }) = self.links.owner_of(slot) else { return };
        match event {
            LinkEvent::Reply(flow, answer) => {
                self.worker.on(now, reply_event(client, flow, &answer), &mut self.links);
            }
            LinkEvent::RowsWanted => {
                self.worker.on(now, Event::RowsWanted { client }, &mut self.links);
            }
            LinkEvent::Connected(backend) => {
                self.links.note_login(slot);
                self.notify_worker(Event::Connected { client, backend });
                // The client's script starts here: with many clients, starting them may take long
                // in total.
                self.report();
            }
            LinkEvent::Notice(text) => self.notices.add(now, text),
            LinkEvent::VersionRefused => self.dial_with_oldest_version(slot),
        }
    }

    /// Lets each COPY go on whose last rows the socket has taken: one block in each round, so that
    /// the other clients have their turns, and none while the server does not read.
    fn continue_copies(&mut self) {
        for slot in std::mem::take(&mut self.links.copying) {
            let Some(link) = self.links.peek(slot).filter(|link| link.has_more_rows) else {
                continue;
            };
            let client = link.owner.client;
            match self.io.sending(slot, link) {
                Sending::Done => self.notify_worker(Event::RowsWanted { client }),
                Sending::Soon | Sending::Blocked => self.links.copying.push(slot),
            }
        }
    }

    /// How long the thread may wait for events.
    fn timeout(&self) -> Nanos {
        let is_ready = |slot, link: &_| self.io.sending(slot, link) != Sending::Blocked;
        if self.links.has_copy_ready(is_ready) {
            return Nanos::ZERO;
        }
        (self.worker.next_wake() - clock::now()).min(SLEEP_LONGEST)
    }

    fn notify_worker(&mut self, event: Event<'_>) {
        self.worker.on(clock::now(), event, &mut self.links);
    }

    /// Performs the actions the worker asked for, and those it adds meanwhile.
    fn perform_actions(&mut self) -> io::Result<()> {
        while let Some(action) = self.links.next_action() {
            match action {
                Action::Flush(slot) => self.flush(slot),
                // At the end all links are closed after the lane has reported: closing thousands of
                // sessions must neither slow down the lane's last transactions nor delay the
                // result.
                Action::Close(slot) if self.is_of_ended_client(slot) => {}
                Action::Close(slot) => self.close(slot),
                Action::Dial(owner, server) => self.dial(owner, server)?,
                Action::Cancel(server, cancellation) => self.cancelling.add(server, cancellation),
                Action::Release(slot) => self.release(slot)?,
                Action::Shell(call) => self.shell.run(call),
            }
        }
        self.cancelling.deliver(&self.links.servers, &self.channels);
        Ok(())
    }

    fn is_of_ended_client(&self, slot: usize) -> bool {
        self.links.peek(slot).is_some_and(|link| self.worker.has_ended(link.owner.client))
    }

    fn read_messages(&mut self) -> io::Result<()> {
        while let Ok(message) = self.channels.inbox.try_recv() {
            match message {
                Message::Start(timeline) => self.worker.start(timeline),
                Message::Stop(at) => self.notify_worker(Event::Stop { at }),
                Message::Abandon => self.notify_worker(Event::Abandon),
                Message::MoveClient { client, to } => self.worker.move_client(client, to),
                Message::ClientArrived(moving) => self.add_moved(*moving)?,
                Message::ReuseTally(tally) => self.worker.reuse_tally(tally),
                Message::Shell { client, ticket, output } => {
                    let output = output.as_deref().map_err(String::as_str);
                    self.notify_worker(Event::Shell { client, ticket, output });
                }
            }
        }
        Ok(())
    }

    /// Reports the intervals and activity completed since the last report.
    fn report(&mut self) {
        let (sent, received) = (&mut self.bytes_sent, &mut self.bytes_received);
        self.worker.count_bytes(std::mem::take(sent), std::mem::take(received));
        let connected_lane = || self.links.connected_lane(self.channels.lane, &self.client_numbers);
        self.reporter.report(&mut self.worker, connected_lane);
    }
}

fn reply_event(client: usize, flow: Flow, answer: &OwnedReply) -> Event<'_> {
    let reply = Reply {
        error: answer.error.as_ref(),
        results: &answer.results,
        rows_returned: answer.rows_returned,
        rows_affected: answer.rows_affected,
        rows_touched: answer.rows_touched,
        in_transaction: answer.in_transaction,
        rolled_back: answer.rolled_back,
        copied_bytes: answer.copied_bytes,
    };
    match flow {
        Flow::Queue => Event::Part { client, reply },
        Flow::Wait => Event::Reply { client, reply },
    }
}

fn broken(error: &io::Error) -> ServerError {
    ServerError::connection_lost(format!("the connection broke: {error}"))
}

fn closed() -> ServerError {
    ServerError::connection_lost("the server closed the connection")
}
