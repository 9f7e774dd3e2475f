//! A script that has been loaded and examined, and the executions that run it.

use super::coroutine::Entry;
use super::counters::{Counter, Counters};
use super::execution::LuaExecution;
use super::fault;
use super::host::ClientContext;
use super::reporter::Reporter;
use super::settings::Settings;
use super::source::{RUN, Source};
use super::state::State;
use super::statements::Statements;
use crate::dist::Unique;
use crate::{Execution, Problem, Severity};
use dbdyno_model::{Purpose, Script, Stream};
use mlua::Table;
use std::sync::{Arc, Mutex, PoisonError};

/// The client number used for examining the script and for its reports, which belong to no client.
const NO_CLIENT: u32 = 0;

/// A script that is ready to run.
#[derive(Debug)]
pub struct Program {
    source: Arc<Source>,
    commands: Vec<String>,
    is_parallel: bool,
    has_init: bool,
    has_done: bool,
    counters: Mutex<Vec<Arc<Counters>>>,
}

/// Examines a script: loads it once, and reads what it declares.
pub fn compile(script: &Script, settings: Settings) -> Result<Program, Vec<Problem>> {
    examine(script, settings).map_err(|message| vec![problem(script, &message)])
}

fn examine(script: &Script, settings: Settings) -> Result<Program, String> {
    let source = Arc::new(Source::new(script, settings)?);
    let state = State::new(&source, Arc::default()).map_err(|error| fault::message_of(&error))?;
    let mut context = no_client(source.settings.seed);
    let client = state.client(NO_CLIENT, &mut context)?;
    let survey = state.survey(&client).map_err(|error| fault::message_of(&error))?;
    refuse_unknown_command(&source, &survey)?;
    Ok(Program {
        commands: read(&survey, "commands")?,
        is_parallel: read(&survey, "parallel")?,
        has_init: read(&survey, "has_init")?,
        has_done: read(&survey, "has_done")?,
        counters: Mutex::default(),
        source,
    })
}

fn refuse_unknown_command(source: &Source, survey: &Table) -> Result<(), String> {
    let (name, command) = (&source.name, &source.settings.command);
    if command != RUN && !read::<bool>(survey, "knows_command")? {
        let commands: Vec<String> = read(survey, "commands")?;
        return Err(format!(
            "{name} has no command '{command}': it has run, {}",
            commands.join(", ")
        ));
    }
    if command == RUN && !read::<bool>(survey, "has_event")? {
        return Err(format!("cannot find the event() function in {name}"));
    }
    Ok(())
}

fn no_client(seed: u64) -> ClientContext {
    // A stream that no client and no transaction has.
    let chance = Stream::keyed(seed, Purpose::Script, u64::MAX, u64::MAX);
    ClientContext { chance, unique: Unique::new(0, 1, seed), seeded: None }
}

fn problem(script: &Script, message: &str) -> Problem {
    let fault = fault::fault(message.to_owned().into(), &script.name);
    Problem {
        severity: Severity::Error,
        script: script.name.clone(),
        line: fault.line,
        column: u32::from(fault.line > 0),
        text: String::new(),
        message: fault.message_without_place(&script.name).to_owned(),
    }
}

fn read<T: mlua::FromLua>(table: &Table, key: &str) -> Result<T, String> {
    table.get(key).map_err(|error| fault::message_of(&error))
}

impl Program {
    /// Sessions that run the events of these clients, or the command that the script was compiled
    /// for as each client's one transaction. All clients of one thread are created together: they
    /// share a Lua state.
    pub fn executions(
        &self,
        clients: impl Iterator<Item = u32>,
    ) -> Result<Vec<Box<dyn Execution>>, Problem> {
        let state = self.state()?;
        let entry =
            if self.source.settings.command == RUN { Entry::ThreadInit } else { Entry::Command };
        let execution = |client| {
            Box::new(LuaExecution::new(Arc::clone(&state), client, entry)) as Box<dyn Execution>
        };
        Ok(clients.map(execution).collect())
    }

    /// A Lua state for one thread.
    fn state(&self) -> Result<Arc<State>, Problem> {
        let counters: Arc<Counters> = Arc::default();
        self.counters().push(Arc::clone(&counters));
        let state = State::new(&self.source, counters);
        state
            .map(Arc::new)
            .map_err(|error| Problem::outside(&self.source.name, fault::message_of(&error)))
    }

    /// What runs the script's report hooks, in a Lua state of its own; none when it has no hooks,
    /// or when another command than `run` is executed.
    pub fn reporter(&self) -> Result<Option<Reporter>, Problem> {
        if self.source.settings.command != RUN {
            return Ok(None);
        }
        let refused = |message: String| Problem::outside(&self.source.name, message);
        let state = self.state()?;
        let mut context = no_client(self.source.settings.seed);
        let client = state.client(NO_CLIENT, &mut context).map_err(refused)?;
        let reporter = Reporter::of(state, client, context);
        reporter.map_err(|error| refused(fault::message_of(&error)))
    }

    /// The script's commands besides `run`, in alphabetical order.
    pub fn commands(&self) -> &[String] {
        &self.commands
    }

    /// Whether the script has something to do once before a run, as its command `init`.
    pub fn has_init(&self) -> bool {
        self.has_init
    }

    /// Whether it has something to do once after a run, as its command `done`.
    pub fn has_done(&self) -> bool {
        self.has_done
    }

    /// Whether the command is to be run by all threads at once.
    pub fn is_parallel(&self) -> bool {
        self.is_parallel
    }

    /// The statements discovered so far.
    pub fn statements(&self) -> &Arc<Statements> {
        &self.source.statements
    }

    /// One of sysbench's counts, over all threads so far.
    pub fn count(&self, counter: Counter) -> u64 {
        self.counters().iter().map(|counters| counters.get(counter)).sum()
    }

    fn counters(&self) -> std::sync::MutexGuard<'_, Vec<Arc<Counters>>> {
        self.counters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
