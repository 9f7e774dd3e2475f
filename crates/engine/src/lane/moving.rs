//! Moves clients to other lanes, together with their links.

use super::dialing::no_room;
use super::{Lane, MovingClient, Report};
use crate::clock;
use crate::io::Io;
use crate::link::Owner;
use dbdyno_load::Event;
use dbdyno_model::ConnectionId;
use std::io;

impl<I: Io> Lane<I> {
    /// Starts to release the link of a client that is to move.
    pub(super) fn release(&mut self, slot: usize) -> io::Result<()> {
        if self.io.release(slot) { self.depart(slot) } else { Ok(()) }
    }

    /// The kernel has released the link of such a client.
    pub(super) fn released(&mut self, slot: usize) -> io::Result<()> {
        self.readable(slot); // what the server sent at the last moment
        self.depart(slot)
    }

    fn depart(&mut self, slot: usize) -> io::Result<()> {
        let (Some(Owner { client, .. }), Some(link)) =
            (self.links.owner_of(slot), self.links.peek(slot))
        else {
            return Ok(());
        };
        if self.worker.wants_to_move(client)
            && self.io.detach(slot, link)?
            && let Some((client, to)) = self.worker.take_client(client)
            && let Some(link) = self.links.detach(slot)
        {
            let moving = Box::new(MovingClient { client, link });
            let _ = self.channels.reports.send(Report::ClientDeparted { to, moving });
            return Ok(());
        }
        self.worker.cancel_move(clock::now(), client, &mut self.links);
        self.links.flush_later(slot); // receiving has to be resumed in any case
        Ok(())
    }

    /// Adds a client that has moved here with its link.
    pub(super) fn add_moved(
        &mut self,
        MovingClient { client, link }: MovingClient,
    ) -> io::Result<()> {
        let client = self.worker.add_client(client);
        let Some(slot) = self.links.attach(client, link) else {
            let (connection, error) = (ConnectionId::FIRST, no_room());
            self.notify_worker(Event::Lost { client, connection, error: &error });
            return Ok(());
        };
        if let Some(link) = self.links.get(slot) {
            self.io.open(slot, link)?;
        }
        self.worker.cancel_move(clock::now(), client, &mut self.links);
        Ok(())
    }
}
