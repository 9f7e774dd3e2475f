//! One client's connection: a thread that executes commands, since ODBC calls block.

use super::blueprint::Blueprint;
use super::order::Order;
use super::running::Running;
use super::session::Session;
use crate::clock;
use crate::io::Alarm;
use crate::link::Answer;
use dbdyno_model::{FailureClass, Flow, Nanos, Request, ServerError};
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

/// The lane's side of a connection. When dropped, it closes as soon as its current command ends.
#[derive(Debug)]
pub(crate) struct Connection {
    orders: Sender<Order>,
    running: Arc<Running>,
}

/// An event of a connection, with its origin and time.
#[derive(Debug)]
pub(crate) struct Letter {
    pub(crate) client: usize,
    /// Which of the client's successive connections it is.
    pub(crate) life: u64,
    pub(crate) at: Nanos,
    pub(crate) news: News,
}

/// What happened on a connection.
#[derive(Debug)]
pub(crate) enum News {
    /// It is ready; the server's version.
    Connected(String),
    Refused(ServerError),
    Answered(Flow, Answer),
    Lost(ServerError),
}

/// Sends a connection's events to its lane.
#[derive(Debug)]
pub(crate) struct Writer {
    pub(crate) client: usize,
    pub(crate) life: u64,
    pub(crate) lane: Sender<Letter>,
    pub(crate) alarm: Alarm,
}

impl Writer {
    fn tell(&self, news: News) {
        let letter = Letter { client: self.client, life: self.life, at: clock::now(), news };
        // A lane that is gone receives no more.
        let _ = self.lane.send(letter);
        self.alarm.ring();
    }
}

impl Connection {
    /// Starts to connect.
    pub(crate) fn open(blueprint: &Arc<Blueprint>, writer: Writer) -> io::Result<Self> {
        let (orders, inbox) = channel();
        let running = Arc::new(Running::new(blueprint.library));
        let (blueprint, seen) = (Arc::clone(blueprint), Arc::clone(&running));
        std::thread::Builder::new()
            .name(format!("odbc-{}", writer.client))
            .spawn(move || live(&blueprint, &seen, &inbox, &writer))?;
        Ok(Self { orders, running })
    }

    pub(crate) fn send(&self, request: &Request<'_>) {
        // A lost connection has reported that.
        let _ = self.orders.send(Order::of(request));
    }

    /// Through which its current statement can be cancelled.
    pub(crate) fn running(&self) -> Arc<Running> {
        Arc::clone(&self.running)
    }
}

fn live(
    blueprint: &Arc<Blueprint>,
    running: &Arc<Running>,
    orders: &Receiver<Order>,
    writer: &Writer,
) {
    let mut session = match Session::open(blueprint, running) {
        Ok(session) => session,
        Err(error) => return writer.tell(News::Refused(error)),
    };
    writer.tell(News::Connected(session.server_version()));
    for order in orders {
        let answer = session.perform(&order);
        match answer.error {
            Some(error) if error.class == FailureClass::Connection => {
                return writer.tell(News::Lost(error));
            }
            _ => writer.tell(News::Answered(order.flow(), answer)),
        }
    }
}
