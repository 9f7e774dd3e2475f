//! A client's coroutine: its state, its entry point, and its random stream.
//!
//! Knows nothing of statements and replies: it is resumed with values and returns what the script
//! yields next.

use super::fault::message_of;
use super::host::ClientContext;
use super::state::{State, resume};
use super::yielded::Yielded;
use dbdyno_model::Stream;
use mlua::{IntoLuaMulti, Table, Thread};

/// The entry point of a coroutine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// `thread_init`, then events.
    ThreadInit,
    /// Events, after one that was interrupted.
    Events,
    /// `thread_done`.
    ThreadDone,
    /// A command, such as `prepare`.
    Command,
}

impl Entry {
    fn name(self) -> &'static str {
        match self {
            Self::ThreadInit => "enter",
            Self::Events => "again",
            Self::ThreadDone => "leave",
            Self::Command => "command",
        }
    }
}

/// The state of the coroutine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CoroutineState {
    /// There is none yet, or it is of no more use: the next one starts with this entry point.
    NotStarted(Entry),
    /// It has started and has not reached its first event.
    Initializing,
    /// Between two events.
    BetweenEvents,
    /// In an event, or in another entry point.
    InEvent,
    /// After an event that it reported as over, before it asks for the next one.
    EventOver,
}

/// The coroutine of one client.
pub(super) struct Coroutine {
    number: u32,
    context: ClientContext,
    /// The client's Lua object, once the script is loaded for it.
    client: Option<Table>,
    thread: Option<Thread>,
    state: CoroutineState,
    /// Whether an event is to start when the coroutine is ready for one.
    event_is_due: bool,
}

impl Coroutine {
    pub(super) fn new(number: u32, context: ClientContext, entry: Entry) -> Self {
        let state = CoroutineState::NotStarted(entry);
        Self { number, context, client: None, thread: None, state, event_is_due: false }
    }

    pub(super) fn state(&self) -> CoroutineState {
        self.state
    }

    /// Whether the script was ever loaded for the client.
    pub(super) fn was_loaded(&self) -> bool {
        self.client.is_some()
    }

    /// An event is due, with this random stream.
    pub(super) fn begin_event(&mut self, chance: Stream) {
        self.context.chance = chance;
        self.event_is_due = true;
        // After an event was given up, its coroutine waits for an answer that will not come.
        match self.state {
            CoroutineState::InEvent | CoroutineState::EventOver => {
                self.state = CoroutineState::NotStarted(Entry::Events);
            }
            CoroutineState::Initializing => {
                self.state = CoroutineState::NotStarted(Entry::ThreadInit);
            }
            CoroutineState::NotStarted(_) | CoroutineState::BetweenEvents => {}
        }
    }

    /// The next coroutine starts with this entry point and random stream, and without an event.
    pub(super) fn begin_at(&mut self, entry: Entry, chance: Stream) {
        self.context.chance = chance;
        self.event_is_due = false;
        self.state = CoroutineState::NotStarted(entry);
    }

    /// The next event begins with `thread_init`, for a new connection.
    pub(super) fn begin_anew(&mut self) {
        self.event_is_due = false;
        self.state = CoroutineState::NotStarted(Entry::ThreadInit);
    }

    /// Starts a coroutine, which replaces the previous one.
    pub(super) fn start(&mut self, state: &State, entry: Entry) -> Result<Yielded, String> {
        let client = match &self.client {
            Some(client) => client.clone(),
            None => self.load(state)?,
        };
        let thread = state.thread(&client).map_err(|error| message_of(&error))?;
        self.thread = Some(thread);
        self.state = match entry {
            Entry::ThreadInit | Entry::Events => CoroutineState::Initializing,
            Entry::ThreadDone | Entry::Command => CoroutineState::InEvent,
        };
        self.resume((client, entry.name()))
    }

    fn load(&mut self, state: &State) -> Result<Table, String> {
        let client = state.client(self.number, &mut self.context)?;
        self.client = Some(client.clone());
        Ok(client)
    }

    /// Resumes the coroutine until it yields.
    pub(super) fn resume(&mut self, values: impl IntoLuaMulti) -> Result<Yielded, String> {
        let thread = self.thread.as_ref().ok_or("the script is not running")?;
        resume(thread, values, &mut self.context)
    }

    /// Resumes it into the event that it was waiting for.
    pub(super) fn resume_into_event(&mut self) -> Result<Yielded, String> {
        self.state = CoroutineState::InEvent;
        self.resume(())
    }

    /// It is ready for an event. Returns whether one is due, which then begins.
    pub(super) fn accept_event(&mut self) -> bool {
        let has_ended_one =
            matches!(self.state, CoroutineState::InEvent | CoroutineState::EventOver);
        let begins = self.event_is_due && !has_ended_one;
        self.state = if begins { CoroutineState::InEvent } else { CoroutineState::BetweenEvents };
        begins
    }

    /// It reports that its event is over.
    pub(super) fn end_event(&mut self) {
        if self.state == CoroutineState::InEvent {
            self.state = CoroutineState::EventOver;
        }
    }

    /// The script failed: there is nothing to resume any more.
    pub(super) fn abandon(&mut self) {
        self.thread = None;
    }
}
