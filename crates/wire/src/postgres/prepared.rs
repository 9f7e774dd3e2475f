//! The prepared statements of one connection.
//!
//! A statement that could not be prepared before the run (for example because its table is created
//! by the script itself) is [`Preparation::Stale`] and is prepared by its next use.

use super::message::Fields;
use crate::ProtocolError;
use dbdyno_model::{PreparedId, StatementId, prefetch};
use std::ops::Deref;
use std::sync::Arc;

/// The state of a statement on this connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Preparation {
    /// The server does not know it. Its next use prepares it.
    #[default]
    Absent,
    /// It failed, or the server has discarded it; whether its name is still taken is not known. Its
    /// next use closes it first, which is never an error, and prepares it again.
    Stale,
    /// Parse has been sent or answered; the types of the parameters are not known yet.
    Underway,
    /// Prepared; the types of its parameters.
    Ready(Types),
}

/// The types of a statement's parameters: a few of them in place, since each use reads them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Types {
    Few([u32; 4], usize),
    Many(Box<[u32]>),
}

impl From<&[u32]> for Types {
    fn from(types: &[u32]) -> Self {
        let mut few = [0; 4];
        match few.get_mut(..types.len()) {
            Some(place) => {
                place.copy_from_slice(types);
                Self::Few(few, types.len())
            }
            None => Self::Many(types.into()),
        }
    }
}

impl Deref for Types {
    type Target = [u32];

    #[inline]
    fn deref(&self) -> &[u32] {
        match self {
            Self::Few(few, count) => &few[..*count],
            Self::Many(all) => all,
        }
    }
}

/// A prepared statement's index and name on its connection: the statements of the plan come first,
/// followed by those that the script prepares while running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot(pub(crate) u32);

/// The states of one connection's statements.
#[derive(Debug)]
pub(crate) struct Preparations {
    places: Vec<Preparation>,
    /// The names of the columns of those that return rows, as described when they were prepared.
    columns: Vec<Arc<[String]>>,
    /// How many of them belong to the plan.
    planned: usize,
}

impl Preparations {
    pub(crate) fn of(statements: usize) -> Self {
        let places = vec![Preparation::Absent; statements];
        Self { places, columns: Vec::new(), planned: statements }
    }

    /// For a new session: the server does not know them.
    pub(crate) fn forget_all(&mut self) {
        self.places.truncate(self.planned);
        self.places.fill(Preparation::Absent);
    }

    /// The slot of a statement of the plan.
    pub(crate) fn planned(statement: StatementId) -> Slot {
        Slot(statement.0)
    }

    /// The slot of a statement that the script prepares.
    pub(crate) fn scripted(&self, prepared: PreparedId) -> Slot {
        Slot(self.planned as u32 + prepared.0)
    }

    pub(crate) fn at(&self, slot: Slot) -> &Preparation {
        self.places.get(slot.0 as usize).unwrap_or(&Preparation::Absent)
    }

    pub(crate) fn set(&mut self, slot: Slot, preparation: Preparation) {
        let place = slot.0 as usize;
        if place >= self.places.len() {
            self.places.resize(place + 1, Preparation::Absent);
        }
        self.places[place] = preparation;
    }

    /// A statement with another text is about to use this slot: the old one is closed first.
    pub(crate) fn retire(&mut self, slot: Slot) {
        if *self.at(slot) != Preparation::Absent {
            self.set(slot, Preparation::Stale);
        }
    }

    /// The tables may look different now: each next use prepares its statement anew.
    pub(crate) fn retire_all(&mut self) {
        for place in &mut self.places {
            if matches!(place, Preparation::Ready(_)) {
                *place = Preparation::Stale;
            }
        }
    }

    /// Reads a `ParameterDescription`.
    pub(crate) fn learn(&mut self, slot: Slot, body: &[u8]) -> Result<(), ProtocolError> {
        let mut fields = Fields(body);
        let count = fields.u16()?;
        let types = (0..count).map(|_| fields.u32()).collect::<Result<Vec<u32>, _>>()?;
        self.set(slot, Preparation::Ready(types[..].into()));
        Ok(())
    }

    /// Notes the columns of a statement that is described: none for one that returns no rows.
    pub(crate) fn describe(&mut self, slot: Slot, columns: Arc<[String]>) {
        let place = slot.0 as usize;
        if place >= self.columns.len() {
            self.columns.resize(place + 1, Arc::default());
        }
        self.columns[place] = columns;
    }

    /// The columns of a statement that has been prepared.
    pub(crate) fn columns(&self, slot: Slot) -> Arc<[String]> {
        self.columns.get(slot.0 as usize).cloned().unwrap_or_default()
    }

    /// Prefetches what the next request reads.
    pub(crate) fn prefetch(&self) {
        prefetch(&self.places[..]);
    }
}
