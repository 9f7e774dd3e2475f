//! A client's coroutine: where it is, what begins it anew, and whose chance it draws.
//!
//! Knows nothing of statements and replies: it is resumed with values and tells what the script
//! asks for next.

use super::ask::Ask;
use super::fault::message_of;
use super::host::Running;
use super::lane::{Lane, resume};
use dbdyno_model::Stream;
use mlua::{IntoLuaMulti, Table, Thread};

/// What a coroutine is made to run.
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

/// Where the coroutine is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// There is none yet, or it is of no more use: the next one begins here.
    Outside(Entry),
    /// It has begun and has not come to its first event.
    Entering,
    /// Between two events.
    Between,
    /// In an event, or in whatever else it was made for.
    Inside,
    /// Past an event that it said is over, and not yet asking for the next.
    Past,
}

/// The coroutine of one client.
pub(super) struct Coroutine {
    number: u32,
    running: Running,
    /// The client in the state's own terms, once the script is loaded for it.
    client: Option<Table>,
    thread: Option<Thread>,
    place: Place,
    /// Whether an event is to follow when the coroutine is ready for one.
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

    /// An event is due, with this chance.
    pub(super) fn begin_event(&mut self, chance: Stream) {
        self.running.chance = chance;
        self.event_is_due = true;
        // An event that was given up leaves a coroutine that nobody will answer any more.
        match self.place {
            Place::Inside | Place::Past => self.place = Place::Outside(Entry::Again),
            Place::Entering => self.place = Place::Outside(Entry::Enter),
            Place::Outside(_) | Place::Between => {}
        }
    }

    /// The next coroutine begins here, with this chance and no event.
    pub(super) fn begin_at(&mut self, entry: Entry, chance: Stream) {
        self.running.chance = chance;
        self.event_is_due = false;
        self.place = Place::Outside(entry);
    }

    /// Begins a coroutine, which takes the place of the one before.
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

    /// Lets the coroutine run until it asks for something.
    pub(super) fn wake(&mut self, values: impl IntoLuaMulti) -> Result<Ask, String> {
        let thread = self.thread.as_ref().ok_or("the script is not running")?;
        resume(thread, values, &mut self.running)
    }

    /// Lets it run into the event that it was waiting for.
    pub(super) fn wake_for_event(&mut self) -> Result<Ask, String> {
        self.place = Place::Inside;
        self.wake(())
    }

    /// It is ready for an event. Whether there is one, which begins at once.
    pub(super) fn comes_to_event(&mut self) -> bool {
        let has_ended_one = matches!(self.place, Place::Inside | Place::Past);
        let begins = self.event_is_due && !has_ended_one;
        self.place = if begins { Place::Inside } else { Place::Between };
        begins
    }

    /// It says that its event is over.
    pub(super) fn pass_event(&mut self) {
        if self.place == Place::Inside {
            self.place = Place::Past;
        }
    }

    /// The script went wrong: there is nothing to resume any more.
    pub(super) fn abandon(&mut self) {
        self.thread = None;
    }
}
