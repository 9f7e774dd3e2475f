//! The links of a lane, by slot and by client and connection, and the actions that the worker requests for them.

use super::ConnectedLane;
use crate::io::Io;
use crate::link::{Link, Owner, Server, SharedMemory, Stage};
use dbdyno_hist::Latencies;
use dbdyno_load::{Port, ShellCall};
use dbdyno_model::{ConnectionId, Request};
use dbdyno_wire::Cancellation;
use rustix::fd::OwnedFd;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// An action that the worker requested while it handled an event.
#[derive(Debug)]
pub(crate) enum Action {
    /// Send the link's output.
    Flush(usize),
    /// Close the link.
    Close(usize),
    /// Make this connection of the client, to this server.
    Dial(Owner, u32),
    /// Cancel, at this server, what a session is executing.
    Cancel(u32, Cancellation),
    /// Release the link, for another lane.
    Release(usize),
    /// Run a shell command.
    Shell(ShellCall),
}

/// The links of a lane.
pub(crate) struct Links {
    /// By their numbers among those of the endpoint; at least one.
    pub(crate) servers: Arc<[Server]>,
    /// `Box`, because a link is large and most slots are free.
    slots: Vec<Option<Box<Link>>>,
    free: Vec<usize>,
    /// Slots freed in this round of events, in which stale events may still name them.
    freed: Vec<usize>,
    /// The slots of the clients' first connections.
    slot_of: Vec<Option<usize>>,
    /// Those of further ones, which scripts have opened.
    slot_of_further: HashMap<Owner, usize>,
    actions: VecDeque<Action>,
    memory: SharedMemory,
    /// Links with a COPY that has further rows, unless it was given up meanwhile.
    pub(crate) copying: Vec<usize>,
}

impl Links {
    pub(crate) fn new(clients: usize, slots: usize, servers: Arc<[Server]>) -> Self {
        Self {
            servers,
            slots: std::iter::repeat_with(|| None).take(slots).collect(),
            free: (0..slots).rev().collect(),
            freed: Vec::new(),
            slot_of: vec![None; clients],
            slot_of_further: HashMap::new(),
            actions: VecDeque::new(),
            memory: SharedMemory::default(),
            copying: Vec::new(),
        }
    }

    #[inline]
    pub(crate) fn get(&mut self, slot: usize) -> Option<&mut Link> {
        self.slots[slot].as_deref_mut()
    }

    #[inline]
    pub(crate) fn peek(&self, slot: usize) -> Option<&Link> {
        self.slots[slot].as_deref()
    }

    /// Bytes of a link are about to be received.
    #[inline]
    pub(crate) fn before_receiving(&mut self, slot: usize) {
        if let Some(link) = self.slots[slot].as_deref_mut() {
            link.borrow_incoming(&mut self.memory);
        }
    }

    /// All events in them have been handled.
    #[inline]
    pub(crate) fn after_receiving(&mut self, slot: usize) {
        if let Some(link) = self.slots[slot].as_deref_mut() {
            link.return_incoming(&mut self.memory);
        }
    }

    /// A link was flushed.
    #[inline]
    pub(crate) fn after_flush(&mut self, slot: usize) {
        if let Some(link) = self.slots[slot].as_deref_mut() {
            link.return_outgoing(&mut self.memory);
        }
    }

    /// Whose connection a link is, unless the worker wants it closed: no event of it follows then.
    #[inline]
    pub(crate) fn owner_of(&self, slot: usize) -> Option<Owner> {
        let owner = self.peek(slot)?.owner;
        (self.slot_of(owner) == Some(slot)).then_some(owner)
    }

    pub(crate) fn next_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// The link is to be flushed once the events of this moment are handled.
    #[inline]
    pub(crate) fn flush_later(&mut self, slot: usize) {
        if let Some(link) = self.get(slot)
            && !std::mem::replace(&mut link.is_to_be_flushed, true)
        {
            self.actions.push_back(Action::Flush(slot));
        }
    }

    /// Whether this holds for a link with further rows.
    pub(crate) fn has_copy_ready(&self, is_ready: impl Fn(usize, &Link) -> bool) -> bool {
        self.copying.iter().any(|&slot| self.peek(slot).is_some_and(|link| is_ready(slot, link)))
    }

    /// A link to a server for a client; none when every slot is taken.
    pub(crate) fn add(&mut self, owner: Owner, server: u32, socket: OwnedFd) -> Option<usize> {
        let slot = self.free.pop()?;
        let Server { blueprint, route } = &self.servers[server as usize];
        let link = Link::new(socket, owner, server, route, blueprint);
        self.slots[slot] = Some(Box::new(link));
        self.set_slot(owner, slot);
        Some(slot)
    }

    fn set_slot(&mut self, owner: Owner, slot: usize) {
        if owner.connection == ConnectionId::FIRST {
            self.slot_of[owner.client] = Some(slot);
        } else {
            self.slot_of_further.insert(owner, slot);
        }
    }

    #[inline]
    fn slot_of(&self, owner: Owner) -> Option<usize> {
        if owner.connection == ConnectionId::FIRST {
            self.slot_of[owner.client]
        } else {
            self.slot_of_further.get(&owner).copied()
        }
    }

    fn take_slot(&mut self, owner: Owner) -> Option<usize> {
        if owner.connection == ConnectionId::FIRST {
            self.slot_of[owner.client].take()
        } else {
            self.slot_of_further.remove(&owner)
        }
    }

    /// The server of a link.
    pub(crate) fn server_of(&self, link: &Link) -> &Server {
        &self.servers[link.server as usize]
    }

    /// A session of this link's server has logged in.
    pub(crate) fn note_login(&self, slot: usize) {
        if let Some(link) = self.peek(slot) {
            self.server_of(link).route.note_login();
        }
    }

    /// Removes a link, to be closed.
    pub(crate) fn take(&mut self, slot: usize) -> Option<Box<Link>> {
        let mut link = self.slots[slot].take()?;
        if self.slot_of(link.owner) == Some(slot) {
            self.take_slot(link.owner);
        }
        send_terminate(&mut link);
        Some(link)
    }

    /// Removes a link, for another lane.
    pub(crate) fn detach(&mut self, slot: usize) -> Option<Box<Link>> {
        let mut link = self.slots[slot].take()?;
        link.is_to_be_flushed = false; // there is nothing to send
        self.take_slot(link.owner);
        self.freed.push(slot);
        Some(link)
    }

    /// Adds a link of another lane for a client of this one; none when every slot is taken.
    pub(crate) fn attach(&mut self, client: usize, mut link: Box<Link>) -> Option<usize> {
        let slot = self.free.pop()?;
        link.owner.client = client;
        self.slots[slot] = Some(link);
        self.slot_of.resize(self.slot_of.len().max(client + 1), None);
        self.slot_of[client] = Some(slot);
        Some(slot)
    }

    /// The kernel has released a slot.
    pub(crate) fn freed(&mut self, slot: usize) {
        self.freed.push(slot);
    }

    /// The round of events is over: freed slots can be reused.
    pub(crate) fn release_freed(&mut self) {
        self.free.append(&mut self.freed);
    }

    /// Closes everything.
    pub(crate) fn retire_all(&mut self, io: &mut impl Io) {
        for slot in 0..self.slots.len() {
            if let Some(link) = self.take(slot) {
                io.retire(slot, link);
            }
        }
    }

    /// What the lane reports once all clients are connected.
    pub(crate) fn connected_lane(&self, lane: u32, client_numbers: &[u32]) -> ConnectedLane {
        // Of other servers, and of further connections, neither telemetry nor the moves of clients
        // know anything.
        let links = || {
            let ready = self.slots.iter().flatten().filter(|link| link.stage == Stage::Ready);
            ready.filter(|link| link.owner.connection == ConnectionId::FIRST && link.server == 0)
        };
        let global_id = |client: usize| u64::from(client_numbers[client]);
        ConnectedLane {
            lane,
            connects: Latencies::default(),
            server_version: links()
                .next()
                .map(|link| link.server_version().to_owned())
                .unwrap_or_default(),
            tls: links().next().map(|link| link.tls_description()).unwrap_or_default(),
            task: rustix::thread::gettid().as_raw_nonzero().get() as u32,
            backends: links().map(|link| (global_id(link.owner.client), link.backend())).collect(),
        }
    }
}

/// Sends the protocol's terminate message, if that is possible without waiting.
fn send_terminate(link: &mut Link) {
    link.terminate();
    let _ = link.seal(); // a key that may not encrypt this either leaves it out
    let _ = link.send_now();
}

impl Port for Links {
    fn connect(&mut self, client: usize, connection: ConnectionId, server: u32) {
        self.actions.push_back(Action::Dial(Owner { client, connection }, server));
    }

    fn close(&mut self, client: usize, connection: ConnectionId) {
        let owner = Owner { client, connection };
        match self.take_slot(owner) {
            Some(slot) => self.actions.push_back(Action::Close(slot)),
            // It may have been requested, and not been dialed yet.
            None => self
                .actions
                .retain(|action| !matches!(action, Action::Dial(wanted, _) if *wanted == owner)),
        }
    }

    fn cancel(&mut self, client: usize, connection: ConnectionId) {
        let slot = self.slot_of(Owner { client, connection });
        if let Some(link) = slot.and_then(|slot| self.peek(slot)) {
            let action = Action::Cancel(link.server, link.cancellation());
            self.actions.push_back(action);
        }
    }

    fn release(&mut self, client: usize) {
        if let Some(slot) = self.slot_of[client] {
            self.actions.push_back(Action::Release(slot));
        }
    }

    #[inline]
    fn send(&mut self, client: usize, connection: ConnectionId, request: &Request<'_>) {
        let Some(slot) = self.slot_of(Owner { client, connection }) else { return };
        let Some(link) = self.slots[slot].as_deref_mut() else { return };
        link.borrow_outgoing(&mut self.memory);
        link.request(request);
        if link.has_more_rows {
            self.copying.push(slot);
        }
        self.flush_later(slot);
    }

    fn shell(&mut self, call: ShellCall) {
        self.actions.push_back(Action::Shell(call));
    }
}

#[cfg(test)]
mod tests {
    use super::{Action, Links, Owner, Port, Server};
    use crate::address::Peer;
    use crate::link::{Blueprint, Route};
    use dbdyno_model::{Address, ConnectionId, Endpoint, Nanos, Protocol, Tls, TlsMode};
    use std::collections::BTreeMap;
    use std::sync::Arc;

    const FIRST: ConnectionId = ConnectionId::FIRST;
    const SECOND: ConnectionId = ConnectionId(1);

    fn server() -> Server {
        let tls =
            Tls { mode: TlsMode::Disable, root_certificates: None, certificate: None, key: None };
        let endpoint = Endpoint {
            protocol: Protocol::Postgresql,
            address: Address::Unix { path: "/nowhere".into() },
            user: String::new(),
            password: None,
            database: String::new(),
            parameters: BTreeMap::new(),
            session_statements: Vec::new(),
            tls,
            further_addresses: Vec::new(),
            read_only_query: None,
            standby_addresses: Vec::new(),
            connect_timeout_ns: Nanos::from_secs(10),
        };
        let blueprint = Blueprint::for_loading(&endpoint).expect("it needs no file");
        let route = Route::new(Peer::Tcp(([127, 0, 0, 1], 1).into()));
        Server { blueprint: Arc::new(blueprint), route: Arc::new(route) }
    }

    fn actions(links: &mut Links) -> Vec<String> {
        std::iter::from_fn(|| links.next_action()).map(|action| format!("{action:?}")).collect()
    }

    #[test]
    fn a_connection_that_is_closed_before_it_is_dialed_is_not_dialed() {
        let mut links = Links::new(2, 4, Arc::new([]));
        links.connect(0, FIRST, 0);
        links.connect(0, SECOND, 0);
        links.connect(1, FIRST, 0);
        links.close(0, FIRST);
        let dial = |client, connection| Action::Dial(Owner { client, connection }, 0);
        let left = [dial(0, SECOND), dial(1, FIRST)].map(|action| format!("{action:?}"));
        assert_eq!(actions(&mut links), left);
    }

    #[test]
    fn a_link_that_is_to_be_closed_is_nobodys_but_is_still_there() {
        let mut links = Links::new(1, 4, Arc::new([server()]));
        let owner = Owner { client: 0, connection: FIRST };
        let (socket, _peer) = std::os::unix::net::UnixStream::pair().expect("two sockets");
        let slot = links.add(owner, 0, socket.into()).expect("a free slot");
        assert_eq!(links.owner_of(slot), Some(owner));
        links.close(0, FIRST);
        assert_eq!(links.owner_of(slot), None);
        assert!(links.peek(slot).is_some());
        assert_eq!(actions(&mut links), [format!("{:?}", Action::Close(slot))]);
    }

    #[test]
    fn a_link_is_flushed_once_however_often_it_is_asked_for() {
        let mut links = Links::new(1, 4, Arc::new([server()]));
        let owner = Owner { client: 0, connection: FIRST };
        let (socket, _peer) = std::os::unix::net::UnixStream::pair().expect("two sockets");
        let slot = links.add(owner, 0, socket.into()).expect("a free slot");
        (0..3).for_each(|_| links.flush_later(slot));
        assert_eq!(actions(&mut links), [format!("{:?}", Action::Flush(slot))]);
    }
}
