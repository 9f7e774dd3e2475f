//! A client's coroutine: its state, its entry point, and its random stream.
//!
//! Knows nothing of statements and replies: it is resumed with values and returns what the script
//! yields next.

use super::ask::Ask;
use super::fault::message_of;
use super::host::Running;
use super::lane::{Lane, resume};
use dbdyno_model::Stream;
use mlua::{IntoLuaMulti, Table, Thread};

/// The entry point of a coroutine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// `thread_init`, then events.
    Enter,
    /// Events, after one that was interrupted.
    Again,
    /// `thread_done`.
    Leave,
    /// A command, such as `prepare`.
    Command,
}

impl Entry {
    fn name(self) -> &'static str {
        match self {
            Self::Enter => "enter",
            Self::Again => "again",
            Self::Leave => "leave",
            Self::Command => "command",
        }
    }
}

/// The state of the coroutine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// There is none yet, or it is of no more use: the next one starts with this entry point.
    Outside(Entry),
    /// It has started and has not reached its first event.
    Entering,
    /// Between two events.
    Between,
    /// In an event, or in another entry point.
    Inside,
    /// After an event that it reported as over, before it asks for the next one.
    Past,
}

/// The coroutine of one client.
pub(super) struct Coroutine {
    number: u32,
    running: Running,
    /// The client's Lua object, once the script is loaded for it.
    client: Option<Table>,
    thread: Option<Thread>,
    place: Place,
    /// Whether an event is to start when the coroutine is ready for one.
    event_is_due: bool,
}

impl Coroutine {
    pub(super) fn new(number: u32, running: Running, entry: Entry) -> Self {
        let place = Place::Outside(entry);
        Self { number, running, client: None, thread: None, place, event_is_due: false }
    }

    pub(super) fn place(&self) -> Place {
        self.place
    }

    /// Whether the script was ever loaded for the client.
    pub(super) fn has_lived(&self) -> bool {
        self.client.is_some()
    }

    /// An event is due, with this random stream.
    pub(super) fn begin_event(&mut self, chance: Stream) {
        self.running.chance = chance;
        self.event_is_due = true;
        // After an event was given up, its coroutine waits for an answer that will not come.
        match self.place {
            Place::Inside | Place::Past => self.place = Place::Outside(Entry::Again),
            Place::Entering => self.place = Place::Outside(Entry::Enter),
            Place::Outside(_) | Place::Between => {}
        }
    }

    /// The next coroutine starts with this entry point and random stream, and without an event.
    pub(super) fn begin_at(&mut self, entry: Entry, chance: Stream) {
        self.running.chance = chance;
        self.event_is_due = false;
        self.place = Place::Outside(entry);
    }

    /// Starts a coroutine, which replaces the previous one.
    pub(super) fn start(&mut self, lane: &Lane, entry: Entry) -> Result<Ask, String> {
        let client = match &self.client {
            Some(client) => client.clone(),
            None => self.load(lane)?,
        };
        let thread = lane.thread(&client).map_err(|error| message_of(&error))?;
        self.thread = Some(thread);
        self.place = match entry {
            Entry::Enter | Entry::Again => Place::Entering,
            Entry::Leave | Entry::Command => Place::Inside,
        };
        self.wake((client, entry.name()))
    }

    fn load(&mut self, lane: &Lane) -> Result<Table, String> {
        let client = lane.client(self.number, &mut self.running)?;
        self.client = Some(client.clone());
        Ok(client)
    }

    /// Resumes the coroutine until it yields.
    pub(super) fn wake(&mut self, values: impl IntoLuaMulti) -> Result<Ask, String> {
        let thread = self.thread.as_ref().ok_or("the script is not running")?;
        resume(thread, values, &mut self.running)
    }

    /// Resumes it into the event that it was waiting for.
    pub(super) fn wake_for_event(&mut self) -> Result<Ask, String> {
        self.place = Place::Inside;
        self.wake(())
    }

    /// It is ready for an event. Returns whether one is due, which then begins.
    pub(super) fn comes_to_event(&mut self) -> bool {
        let has_ended_one = matches!(self.place, Place::Inside | Place::Past);
        let begins = self.event_is_due && !has_ended_one;
        self.place = if begins { Place::Inside } else { Place::Between };
        begins
    }

    /// It reports that its event is over.
    pub(super) fn pass_event(&mut self) {
        if self.place == Place::Inside {
            self.place = Place::Past;
        }
    }

    /// The script failed: there is nothing to resume any more.
    pub(super) fn abandon(&mut self) {
        self.thread = None;
    }
}
