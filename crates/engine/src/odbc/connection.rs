//! One client's connection: a thread that carries out orders, since calls of ODBC wait.

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

/// The two ends of a connection. Dropped, it closes as soon as what it is doing is done.
#[derive(Debug)]
pub(crate) struct Connection {
    orders: Sender<Order>,
    running: Arc<Running>,
}

/// What a connection tells its lane.
#[derive(Debug)]
pub(crate) struct Letter {
    pub(crate) client: usize,
    /// Which of the client's connections, one after the other, it is.
    pub(crate) life: u64,
    pub(crate) at: Nanos,
    pub(crate) news: News,
}

/// What has happened on a connection.
#[derive(Debug)]
pub(crate) enum News {
    /// It can be used; the server's version.
    Connected(String),
    Refused(ServerError),
    Answered(Flow, Answer),
    Lost(ServerError),
}

/// Who writes a connection's letters.
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
        // A lane that is gone reads no more.
        let _ = self.lane.send(letter);
        self.alarm.ring();
    }
}

impl Connection {
    /// Begins to connect.
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
        // A connection that is lost has said so.
        let _ = self.orders.send(Order::of(request));
    }

    /// By which what it is doing can be cancelled.
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
