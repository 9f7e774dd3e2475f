//! The commands of a program one by one, in the order that another language decides.

use super::names::Slot;
use super::program::{Body, Operation, Program, Query};
use super::step_buffers::StepBuffers;
use super::variables::Variables;
use dbdyno_model::{Request, StatementId, Value};

/// One client's values for the commands of a program.
#[derive(Debug)]
pub(crate) struct Commands {
    variables: Variables,
    buffers: StepBuffers,
}

impl Commands {
    pub(crate) fn new(program: &Program) -> Self {
        let variables = Variables::new(program.start.clone());
        Self { variables, buffers: StepBuffers::default() }
    }

    /// Sets a variable.
    pub(crate) fn set(&mut self, slot: Slot, value: Value) {
        self.variables.replace(slot, value);
    }

    /// The request of the SQL command at this place of a script.
    pub(crate) fn request<'a>(
        &'a mut self,
        program: &'a Program,
        script: usize,
        place: usize,
    ) -> Option<Request<'a>> {
        let query = program.query(script, place)?;
        Some(self.buffers.request(query, &self.variables, &program.names))
    }
}

impl Program {
    /// The variable of this name, if a command has one.
    pub(crate) fn slot(&self, name: &str) -> Option<Slot> {
        let place = self.names.iter().position(|known| known == name)?;
        Some(Slot(place as u32))
    }

    fn query(&self, script: usize, place: usize) -> Option<&Query> {
        match &self.scripts[script].get(place)?.operation {
            Operation::Query(query) => Some(query),
            _ => None,
        }
    }

    /// Whether the values of the command at this place are written into its text.
    pub(crate) fn is_text(&self, script: usize, place: usize) -> bool {
        matches!(self.query(script, place), Some(Query { body: Body::Text(..), .. }))
    }

    /// The synchronization point at the end of a script, if it ends with a pipeline.
    pub(crate) fn sync(&self, script: usize) -> Option<StatementId> {
        match self.scripts[script].last()?.operation {
            Operation::Sync(statement, _) => Some(statement),
            _ => None,
        }
    }

    /// The number of statements of a script.
    pub(crate) fn count(&self, script: usize) -> usize {
        self.statements.iter().filter(|statement| statement.script as usize == script).count()
    }

    /// Gives each statement the line of its script and index.
    pub(crate) fn place_at(&mut self, line: impl Fn(usize, usize) -> u32) {
        for statement in &mut self.statements {
            statement.line = line(statement.script as usize, statement.index as usize);
        }
    }
}
