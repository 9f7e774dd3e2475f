//! The Lua scripts of workloads: control flow in Lua, with statements that are declared when a
//! script is loaded.
//!
//! All statements are known before the run, as those of the pgbench language are: they become the
//! commands of a script in that language, so that both are sent, prepared, pipelined and counted in
//! the same way, and a transaction that failed is tried again in the same way, with the same random
//! numbers. Each client has a Lua state of its own.

mod counters;
mod execution;
mod interpreter;
mod kinds;
mod rows;

use crate::pgbench::{Compilation, Options};
use crate::{Execution, Problem, pgbench};
use dbdyno_model::{QueryMode, Scalar, Script};
use dbdyno_sql::Dialect;
use execution::WorkloadExecution;
use interpreter::{Declared, Interpreter};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A script that mentions one of them uses pipelines.
const QUEUES: [&str; 2] = [":queue", ":ask"];

/// How scripts run, besides their texts.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The run's seed.
    pub seed: u64,
    /// How statements are sent.
    pub mode: QueryMode,
    /// Whether the server's protocol has pipelines.
    pub has_pipelines: bool,
    /// Whose grammar the SQL is read by.
    pub dialect: Dialect,
    /// Receives the lines that scripts print.
    pub print: fn(&str),
}

/// Scripts that are ready to run.
#[derive(Debug)]
pub struct Program {
    settings: Settings,
    scripts: Vec<Script>,
    variables: BTreeMap<String, Scalar>,
    /// The statements, as scripts in the other language.
    commands: pgbench::Program,
    /// What each script has declared.
    declared: Vec<Vec<Declared>>,
    /// The names of what the scripts count.
    counters: Vec<String>,
}

/// Loads the scripts once, for what they declare.
pub fn compile(
    scripts: &[Script],
    variables: &BTreeMap<String, Scalar>,
    settings: Settings,
) -> Result<Program, Vec<Problem>> {
    let loaded = Interpreter::load(scripts, variables, settings, 0);
    let loaded = loaded.map_err(|problem| vec![problem])?;
    let counters = loaded.counter_names();
    let mut declared = loaded.into_declared();
    let commands = commands(scripts, &declared, settings)?;
    for statement in declared.iter_mut().flatten() {
        let names = statement.parameters.iter();
        statement.slots = names.map(|(name, _)| commands.slot(name)).collect();
    }
    let (scripts, variables) = (scripts.to_vec(), variables.clone());
    Ok(Program { settings, scripts, variables, commands, declared, counters })
}

/// The statements as scripts in the other language, with the lines where they were declared.
fn commands(
    scripts: &[Script],
    declared: &[Vec<Declared>],
    settings: Settings,
) -> Result<pgbench::Program, Vec<Problem>> {
    let can_queue = settings.has_pipelines && settings.mode != QueryMode::Simple;
    let queues =
        |script: &Script| can_queue && QUEUES.iter().any(|word| script.text.contains(word));
    let texts: Vec<Script> = scripts
        .iter()
        .zip(declared)
        .map(|(script, statements)| Script {
            text: text(statements, queues(script)),
            ..script.clone()
        })
        .collect();
    let parameters = declared.iter().flatten().flat_map(|one| &one.parameters);
    let nulls = parameters.map(|(name, _)| (name.clone(), Scalar::Null)).collect();
    let options = Options {
        seed: settings.seed,
        allow_shell: false,
        dialect: settings.dialect,
        has_copy: false,
        print: settings.print,
    };
    let Compilation { program, mut problems } =
        pgbench::compile(&texts, &nulls, settings.mode, options);
    for problem in &mut problems {
        let place = scripts.iter().position(|script| script.name == problem.script);
        problem.line = place.map_or(0, |place| line_of(&declared[place], problem.line));
    }
    let Some(mut program) = program else { return Err(problems) };
    for (place, statements) in declared.iter().enumerate() {
        let wanted = statements.len() + usize::from(queues(&scripts[place]));
        if program.count(place) != wanted {
            let message = "each statement must be one SQL command";
            return Err(vec![Problem::outside(&scripts[place].name, message)]);
        }
    }
    program.place_at(|script, index| declared[script].get(index).map_or(0, |one| one.line));
    Ok(program)
}

fn text(statements: &[Declared], queues: bool) -> String {
    let mut text = String::new();
    for statement in statements {
        text.push_str(&statement.sql);
        text.push_str(";\n");
    }
    if queues {
        text.push_str("\\startpipeline\n\\endpipeline\n");
    }
    text
}

/// The line of the script where the statement was declared that is at this line of the commands.
fn line_of(statements: &[Declared], line: u32) -> u32 {
    let mut next = 1;
    for statement in statements {
        next += statement.sql.lines().count() as u32;
        if line < next {
            return statement.line;
        }
    }
    0
}

impl Program {
    /// The statements that requests refer to, over all scripts.
    pub fn statements(&self) -> &[dbdyno_model::Statement] {
        self.commands.statements()
    }

    /// The names of what the scripts count, by the numbers of their counters.
    pub fn counters(&self) -> &[String] {
        &self.counters
    }

    /// One client's execution.
    pub fn execution(self: &Arc<Self>, client: u32) -> Result<Box<dyn Execution>, Problem> {
        let interpreter = Interpreter::load(&self.scripts, &self.variables, self.settings, client)?;
        let number =
            |declared: &[Vec<Declared>]| -> Vec<usize> { declared.iter().map(Vec::len).collect() };
        if number(interpreter.declared()) != number(&self.declared)
            || interpreter.counter_names() != self.counters
        {
            let message = "every client must declare the same statements and counters";
            return Err(Problem::outside(&self.scripts[0].name, message));
        }
        Ok(Box::new(WorkloadExecution::new(Arc::clone(self), interpreter)))
    }
}
