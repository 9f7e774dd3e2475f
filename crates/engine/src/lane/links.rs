//! The links of a lane, by slot and by client, and the actions that the worker requests for them.

use super::ConnectedLane;
use crate::io::Io;
use crate::limits;
use crate::link::{Blueprint, Link, Route, Stage};
use dbdyno_hist::Latencies;
use dbdyno_load::{Port, ShellCall};
use dbdyno_model::Request;
use rustix::fd::OwnedFd;
use std::collections::VecDeque;
use std::sync::Arc;

/// An action that the worker requested while it handled an event.
#[derive(Debug)]
pub(crate) enum Action {
    /// Send the link's output.
    Flush(usize),
    /// Close the link.
    Close(usize),
    /// Connect the client.
    Dial(usize),
    /// Cancel what the link's session is executing.
    Cancel(usize),
    /// Release the link, for another lane.
    Release(usize),
    /// Run a shell command.
    Shell(ShellCall),
}

/// The links of a lane.
pub(crate) struct Links {
    pub(crate) blueprint: Arc<Blueprint>,
    pub(crate) route: Arc<Route>,
    /// `Box`, because a link is large and most slots are free.
    slots: Vec<Option<Box<Link>>>,
    free: Vec<usize>,
    /// Slots freed in this round of events, in which stale events may still name them.
    freed: Vec<usize>,
    slot_of: Vec<Option<usize>>,
    actions: VecDeque<Action>,
    /// Links with a COPY that has further rows, unless it was given up meanwhile.
    pub(crate) copying: Vec<usize>,
    /// The link whose events are being handled: it is flushed once that is done.
    pub(crate) handling: Option<usize>,
}

impl Links {
    /// Slots for this many clients: a closed link may keep its slot for a while.
    pub(crate) fn slots_for(clients: usize) -> usize {
        limits::slots(clients).min(limits::open_files_max() as usize)
    }

    pub(crate) fn new(clients: usize, blueprint: Arc<Blueprint>, route: Arc<Route>) -> Self {
        let slots = Self::slots_for(clients);
        Self {
            blueprint,
            route,
            slots: std::iter::repeat_with(|| None).take(slots).collect(),
            free: (0..slots).rev().collect(),
            freed: Vec::new(),
            slot_of: vec![None; clients],
            actions: VecDeque::new(),
            copying: Vec::new(),
            handling: None,
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

    pub(crate) fn next_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// Whether this holds for a link with further rows.
    pub(crate) fn has_copy_ready(&self, is_ready: impl Fn(usize, &Link) -> bool) -> bool {
        self.copying.iter().any(|&slot| self.peek(slot).is_some_and(|link| is_ready(slot, link)))
    }

    /// A link for a client; none when every slot is taken.
    pub(crate) fn add(&mut self, client: usize, socket: OwnedFd) -> Option<usize> {
        let slot = self.free.pop()?;
        let link = Link::new(socket, client, &self.route, &self.blueprint);
        self.slots[slot] = Some(Box::new(link));
        self.slot_of[client] = Some(slot);
        Some(slot)
    }

    /// Removes a link, to be closed.
    pub(crate) fn take(&mut self, slot: usize) -> Option<Box<Link>> {
        let mut link = self.slots[slot].take()?;
        if self.slot_of[link.client] == Some(slot) {
            self.slot_of[link.client] = None;
        }
        send_terminate(&mut link);
        Some(link)
    }

    /// Removes a link, for another lane.
    pub(crate) fn detach(&mut self, slot: usize) -> Option<Box<Link>> {
        let link = self.slots[slot].take()?;
        self.slot_of[link.client] = None;
        self.freed.push(slot);
        Some(link)
    }

    /// Adds a link of another lane for a client of this one; none when every slot is taken.
    pub(crate) fn attach(&mut self, client: usize, mut link: Box<Link>) -> Option<usize> {
        let slot = self.free.pop()?;
        link.client = client;
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
    pub(crate) fn connected_lane(&self, thread: u32, threads: u32) -> ConnectedLane {
        let links = || self.slots.iter().flatten().filter(|link| link.stage == Stage::Ready);
        let global_id = |client: usize| u64::from(thread) + client as u64 * u64::from(threads);
        ConnectedLane {
            thread,
            connects: Latencies::default(),
            server_version: links()
                .next()
                .map(|link| link.server_version().to_owned())
                .unwrap_or_default(),
            tls: links().next().map(|link| link.tls_description()).unwrap_or_default(),
            task: rustix::thread::gettid().as_raw_nonzero().get() as u32,
            backends: links().map(|link| (global_id(link.client), link.backend())).collect(),
        }
    }
}

/// Sends the protocol's terminate message, if that is possible without waiting.
fn send_terminate(link: &mut Link) {
    link.terminate();
    link.seal();
    let _ = link.send_now();
}

impl Port for Links {
    fn connect(&mut self, client: usize) {
        self.actions.push_back(Action::Dial(client));
    }

    fn close(&mut self, client: usize) {
        if let Some(slot) = self.slot_of[client].take() {
            self.actions.push_back(Action::Close(slot));
        }
    }

    fn cancel(&mut self, client: usize) {
        if let Some(slot) = self.slot_of[client] {
            self.actions.push_back(Action::Cancel(slot));
        }
    }

    fn release(&mut self, client: usize) {
        if let Some(slot) = self.slot_of[client] {
            self.actions.push_back(Action::Release(slot));
        }
    }

    #[inline]
    fn send(&mut self, client: usize, request: &Request<'_>) {
        let Some(slot) = self.slot_of[client] else { return };
        let Some(link) = self.slots[slot].as_deref_mut() else { return };
        link.request(request);
        if link.has_more_rows {
            self.copying.push(slot);
        }
        if self.handling != Some(slot) {
            self.actions.push_back(Action::Flush(slot));
        }
    }

    fn shell(&mut self, call: ShellCall) {
        self.actions.push_back(Action::Shell(call));
    }
}
