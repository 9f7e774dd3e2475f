//! Clients go to another thread, between two transactions of a closed loop.
//!
//! One that is bound for another thread begins no transaction there: its connection is let go, and
//! client and connection leave together. The place that it had is another's when one comes.

use super::Worker;
use super::port::Port;
use crate::client::{Client, State};
use dbdyno_model::Nanos;

impl Worker {
    /// The client of that number over the whole run shall go to another thread, if it is here.
    pub fn send_to(&mut self, id: u64, thread: u32) {
        let can_go = self.ending.is_none();
        let own = self.clients.iter_mut().find(|client| client.id == id);
        if let Some(client) = own.filter(|client| can_go && client.session.can_move()) {
            client.bound_for = (thread != self.thread).then_some(thread);
        }
    }

    /// Whether a client waits for its connection to go.
    pub fn wants_away(&self, client: usize) -> bool {
        self.clients[client].state == State::Moving && self.clients[client].bound_for.is_some()
    }

    /// The connection of a client goes, and the client with it; whereto, too.
    pub fn take_away(&mut self, client: usize) -> Option<(Client, u32)> {
        let own = &mut self.clients[client];
        let thread = own.bound_for.take()?;
        let nobody = Client::nobody(own);
        self.clients_left -= 1;
        self.vacant.push(client);
        Some((std::mem::replace(own, nobody), thread))
    }

    /// The connection cannot go after all: the client goes on here.
    pub fn keep<P: Port>(&mut self, now: Nanos, client: usize, port: &mut P) {
        self.clients[client].bound_for = None;
        if self.clients[client].state == State::Moving {
            self.ready(now, client, port);
        }
    }

    /// A client comes from another thread. Its place here.
    pub fn take_in(&mut self, mut client: Client) -> usize {
        self.clients_left += 1;
        let Some(place) = self.vacant.pop() else {
            self.clients.push(client);
            return self.clients.len() - 1;
        };
        // Alarms that were set for who was here before are void.
        client.generation = self.clients[place].generation.wrapping_add(1);
        self.clients[place] = client;
        place
    }
}
