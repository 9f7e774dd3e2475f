//! Moves clients to other threads, between two transactions of a closed loop.
//!
//! A client that is to move begins no further transaction: its connection is released, and client
//! and connection leave together. Its slot is reused by the next client that arrives.

use super::Worker;
use super::port::Port;
use crate::client::{Client, State};
use dbdyno_model::Nanos;

impl Worker {
    /// The client of this number over the whole run is to move to another thread, if it is here.
    pub fn move_client(&mut self, id: u64, thread: u32) {
        let can_go = self.ending.is_none();
        let own = self.clients.iter_mut().find(|client| client.id == id);
        if let Some(client) = own.filter(|client| can_go && client.is_movable()) {
            client.moving_to = (thread != self.thread).then_some(thread);
        }
    }

    /// Whether a client waits for its connection to be released.
    pub fn wants_to_move(&self, client: usize) -> bool {
        self.clients[client].state == State::Moving && self.clients[client].moving_to.is_some()
    }

    /// Removes a client whose connection has been released; also returns the thread it moves to.
    pub fn take_client(&mut self, client: usize) -> Option<(Client, u32)> {
        let own = &mut self.clients[client];
        let thread = own.moving_to.take()?;
        let placeholder = Client::placeholder(own);
        self.clients_left -= 1;
        self.vacant.push(client);
        Some((std::mem::replace(own, placeholder), thread))
    }

    /// The connection cannot be released after all: the client stays.
    pub fn cancel_move<P: Port>(&mut self, now: Nanos, client: usize, port: &mut P) {
        self.clients[client].moving_to = None;
        if self.clients[client].state == State::Moving {
            self.ready(now, client, port);
        }
    }

    /// Adds a client from another thread; returns its slot.
    pub fn add_client(&mut self, mut client: Client) -> usize {
        self.clients_left += 1;
        let Some(place) = self.vacant.pop() else {
            self.clients.push(client);
            return self.clients.len() - 1;
        };
        // Alarms set for the slot's previous client are void.
        client.generation = self.clients[place].generation.wrapping_add(1);
        self.clients[place] = client;
        place
    }
}
