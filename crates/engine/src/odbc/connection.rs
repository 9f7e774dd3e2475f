//! One client's connection: a thread that executes commands, since ODBC calls block.

use super::active_statement::ActiveStatement;
use super::command::Command;
use super::config::Config;
use super::session::Session;
use crate::clock;
use crate::io::Waker;
use crate::link::OwnedReply;
use dbdyno_model::{FailureClass, Flow, Nanos, Request, ServerError};
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

/// The lane's side of a connection. When dropped, it closes as soon as its current command ends.
#[derive(Debug)]
pub(crate) struct Connection {
    commands: Sender<Command>,
    active: Arc<ActiveStatement>,
}

/// An event of a connection, with its origin and time.
#[derive(Debug)]
pub(crate) struct TimedEvent {
    pub(crate) client: usize,
    /// Which of the client's successive connections it is.
    pub(crate) generation: u64,
    pub(crate) at: Nanos,
    pub(crate) event: ConnectionEvent,
}

/// What happened on a connection.
#[derive(Debug)]
pub(crate) enum ConnectionEvent {
    /// It is ready; the server's version.
    Connected(String),
    Refused(ServerError),
    Replied(Flow, OwnedReply),
    Lost(ServerError),
}

/// Sends a connection's events to its lane.
#[derive(Debug)]
pub(crate) struct EventSender {
    pub(crate) client: usize,
    pub(crate) generation: u64,
    pub(crate) lane: Sender<TimedEvent>,
    pub(crate) waker: Waker,
}

impl EventSender {
    fn send(&self, event: ConnectionEvent) {
        let timed = TimedEvent {
            client: self.client,
            generation: self.generation,
            at: clock::now(),
            event,
        };
        // A lane that is gone receives no more.
        let _ = self.lane.send(timed);
        self.waker.wake();
    }
}

impl Connection {
    /// Starts to connect.
    pub(crate) fn open(config: &Arc<Config>, events: EventSender) -> io::Result<Self> {
        let (commands, inbox) = channel();
        let active = Arc::new(ActiveStatement::new(config.library));
        let (config, seen) = (Arc::clone(config), Arc::clone(&active));
        std::thread::Builder::new()
            .name(format!("odbc-{}", events.client))
            .spawn(move || run(&config, &seen, &inbox, &events))?;
        Ok(Self { commands, active })
    }

    pub(crate) fn send(&self, request: &Request<'_>) {
        // A lost connection has reported that.
        let _ = self.commands.send(Command::of(request));
    }

    /// Through which its current statement can be cancelled.
    pub(crate) fn active_statement(&self) -> Arc<ActiveStatement> {
        Arc::clone(&self.active)
    }
}

fn run(
    config: &Arc<Config>,
    active: &Arc<ActiveStatement>,
    commands: &Receiver<Command>,
    events: &EventSender,
) {
    let mut session = match Session::open(config, active) {
        Ok(session) => session,
        Err(error) => return events.send(ConnectionEvent::Refused(error)),
    };
    events.send(ConnectionEvent::Connected(session.server_version()));
    for command in commands {
        let answer = session.perform(&command);
        match answer.error {
            Some(error) if error.class == FailureClass::Connection => {
                return events.send(ConnectionEvent::Lost(error));
            }
            _ => events.send(ConnectionEvent::Replied(command.flow(), answer)),
        }
    }
}
