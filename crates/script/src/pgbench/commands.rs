//! The commands of a program one by one, in the order that another language decides.

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

    /// Sets a variable, if a command has one of this name.
    pub(crate) fn set(&mut self, program: &Program, name: &str, value: Value) {
        let place = program.names.iter().position(|known| known == name);
        if let Some(place) = place {
            self.variables.keep();
            self.variables.set(super::names::Slot(place as u32), value);
        }
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
