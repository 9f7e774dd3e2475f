//! The clients of a worker, by their numbers within it, from 0.
//!
//! A client that moves to another thread leaves its number vacant, for the next one that arrives.

use crate::client::Client;
use std::ops::{Deref, DerefMut};

pub(crate) struct Clients {
    /// With a placeholder under each vacant number.
    all: Vec<Client>,
    vacant: Vec<usize>,
    /// How many are not finished.
    left: usize,
}

impl Clients {
    /// None of them is finished.
    pub(crate) fn new(all: Vec<Client>) -> Self {
        Self { left: all.len(), all, vacant: Vec::new() }
    }

    /// One of them is finished.
    pub(crate) fn one_finished(&mut self) {
        self.left -= 1;
    }

    /// Whether any of them is not finished.
    pub(crate) fn are_left(&self) -> bool {
        self.left > 0
    }

    /// Adds a client from another thread; returns its number here.
    pub(crate) fn add(&mut self, mut client: Client) -> usize {
        self.left += 1;
        let Some(number) = self.vacant.pop() else {
            self.all.push(client);
            return self.all.len() - 1;
        };
        // Alarms set for the number's previous client are void.
        client.generation = self.all[number].generation.wrapping_add(1);
        self.all[number] = client;
        number
    }

    /// Removes a client, which goes to another thread.
    pub(crate) fn take(&mut self, number: usize) -> Client {
        let placeholder = Client::placeholder(&self.all[number]);
        self.left -= 1;
        self.vacant.push(number);
        std::mem::replace(&mut self.all[number], placeholder)
    }
}

impl Deref for Clients {
    type Target = [Client];

    #[inline]
    fn deref(&self) -> &[Client] {
        &self.all
    }
}

impl DerefMut for Clients {
    #[inline]
    fn deref_mut(&mut self) -> &mut [Client] {
        &mut self.all
    }
}

#[cfg(test)]
mod tests {
    use super::Clients;
    use crate::client::{Client, NoExecution};

    fn client(id: u64) -> Client {
        Client::new(id, 0, Box::new(NoExecution))
    }

    fn ids(clients: &Clients) -> Vec<u64> {
        clients.iter().map(|client| client.id).collect()
    }

    #[test]
    fn the_next_client_gets_the_number_of_one_that_has_left() {
        let mut clients = Clients::new([10, 11, 12].map(client).into());
        assert_eq!(clients.take(1).id, 11);
        assert!(clients[1].state.is_finished());
        assert_eq!(clients.add(client(20)), 1);
        assert_eq!(clients.add(client(21)), 3);
        assert_eq!(ids(&clients), [10, 20, 12, 21]);
    }

    #[test]
    fn no_alarm_of_one_client_is_heard_by_the_next_one_of_its_number() {
        let mut clients = Clients::new(vec![client(10)]);
        let alarm = clients[0].generation;
        clients.take(0);
        assert_ne!(clients[0].generation, alarm);
        let of_placeholder = clients[0].generation;
        clients.add(client(20));
        assert!(![alarm, of_placeholder].contains(&clients[0].generation));
    }

    #[test]
    fn those_that_have_left_are_not_waited_for() {
        let mut clients = Clients::new([10, 11].map(client).into());
        clients.take(0);
        assert!(clients.are_left());
        clients.one_finished();
        assert!(!clients.are_left());
        clients.add(client(20));
        assert!(clients.are_left());
    }
}
