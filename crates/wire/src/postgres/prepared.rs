//! What one connection knows of its prepared statements.
//!
//! A statement that could not be prepared ahead of the run (its table is made by the script
//! itself, say) is [`Preparation::Stale`] and is prepared by its next use.

use super::message::Fields;
use crate::ProtocolError;
use dbdyno_model::StatementId;

/// How far a statement is on this connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Preparation {
    /// The server does not know it. Its next use prepares it.
    #[default]
    Absent,
    /// It failed, or the server has thrown it away; whether its name is still taken is not
    /// known. Its next use closes it first, which is no error, and prepares it again.
    Stale,
    /// Parse has been sent, or answered; the types of the parameters are not known yet.
    Underway,
    /// Prepared; the types of its parameters.
    Ready(Box<[u32]>),
}

/// The statements of a plan, as far as they are prepared on one connection.
#[derive(Debug)]
pub(crate) struct Preparations(Box<[Preparation]>);

impl Preparations {
    pub(crate) fn of(statements: usize) -> Self {
        Self(vec![Preparation::Absent; statements].into_boxed_slice())
    }

    /// A new session begins: the server has forgotten them.
    pub(crate) fn forget_all(&mut self) {
        self.0.fill(Preparation::Absent);
    }

    pub(crate) fn of_statement(&self, statement: StatementId) -> &Preparation {
        self.0.get(statement.0 as usize).unwrap_or(&Preparation::Absent)
    }

    pub(crate) fn set(&mut self, statement: StatementId, preparation: Preparation) {
        if let Some(place) = self.0.get_mut(statement.0 as usize) {
            *place = preparation;
        }
    }

    /// Reads a `ParameterDescription`.
    pub(crate) fn learn(
        &mut self,
        statement: StatementId,
        body: &[u8],
    ) -> Result<(), ProtocolError> {
        let mut fields = Fields(body);
        let count = fields.u16()?;
        let types = (0..count).map(|_| fields.u32()).collect::<Result<Box<[u32]>, _>>()?;
        self.set(statement, Preparation::Ready(types));
        Ok(())
    }
}
