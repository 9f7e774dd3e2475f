//! The prepared statements of one connection.
//!
//! The statements of the plan have the first indexes; those that a script prepares while running
//! follow.

use super::parameter::{self, Slot};
use dbdyno_model::{PreparedId, StatementId};
use std::sync::Arc;

/// A statement's index on its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place(u32);

/// The state of a statement on this connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Preparation {
    /// The server does not know it. Its next use prepares it.
    #[default]
    Absent,
    /// Prepared.
    Ready(Prepared),
    /// The server cannot prepare statements of this kind: it is sent as text.
    Textual,
}

/// A statement prepared on the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Prepared {
    /// Its number on the server.
    pub(super) number: u32,
    pub(super) slots: Box<[Slot]>,
    /// The names of the columns of its last result set.
    pub(super) columns: Arc<[String]>,
}

/// The states of one connection's statements.
#[derive(Debug)]
pub(super) struct Preparations {
    places: Vec<Preparation>,
    /// How many of them belong to the plan.
    planned: usize,
}

impl Preparations {
    pub(super) fn of(statements: usize) -> Self {
        Self { places: vec![Preparation::Absent; statements], planned: statements }
    }

    /// For a new session: the server does not know them.
    pub(super) fn forget_all(&mut self) {
        self.places.truncate(self.planned);
        self.places.fill(Preparation::Absent);
    }

    pub(super) fn planned(statement: StatementId) -> Place {
        Place(statement.0)
    }

    pub(super) fn scripted(&self, prepared: PreparedId) -> Place {
        Place(self.planned as u32 + prepared.0)
    }

    pub(super) fn at(&self, place: Place) -> &Preparation {
        self.places.get(place.0 as usize).unwrap_or(&Preparation::Absent)
    }

    #[inline]
    pub(super) fn prepared(&mut self, place: Place) -> Option<&mut Prepared> {
        match self.places.get_mut(place.0 as usize) {
            Some(Preparation::Ready(prepared)) => Some(prepared),
            _ => None,
        }
    }

    /// Sets the state of a statement, and returns the previous one.
    pub(super) fn set(&mut self, place: Place, preparation: Preparation) -> Preparation {
        let index = place.0 as usize;
        if index >= self.places.len() {
            self.places.resize(index + 1, Preparation::Absent);
        }
        std::mem::replace(&mut self.places[index], preparation)
    }

    /// After an error it is unknown which types the server remembers.
    pub(super) fn unbind(&mut self, place: Place) {
        if let Some(prepared) = self.prepared(place) {
            parameter::unbind(&mut prepared.slots);
        }
    }
}
