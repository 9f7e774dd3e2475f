//! A script that has been looked at, and the sessions that run it.

use super::counters::{Counter, Counters};
use super::fault;
use super::host::Running;
use super::lane::Lane;
use super::laws::Laws;
use super::session::{Entry, LuaSession};
use super::settings::Settings;
use super::statements::Statements;
use super::usage::values_are_dropped;
use crate::dist::Unique;
use crate::{Problem, Resume, Session, Severity, Step};
use dbdyno_model::{Keep, Purpose, Script, Stream};
use mlua::Table;
use std::sync::{Arc, Mutex, PoisonError};

/// The client outside of all clients, in whose name a script is looked at, and runs `init`.
const NOBODY: u32 = 0;

/// Everything that all lanes share of a script.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) name: String,
    pub(super) text: String,
    pub(super) settings: Settings,
    pub(super) laws: Laws,
    pub(super) statements: Arc<Statements>,
    /// What to keep of the answers to texts and to prepared statements: nothing when the
    /// script never looks.
    pub(super) keep_of_query: Keep,
    pub(super) keep_of_execute: Keep,
}

/// An option that a script declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptOption {
    /// Its name, with underscores.
    pub name: String,
    /// What follows the name on a command line: `=N`, `[=on|off]`, …
    pub placeholder: String,
    /// Its default as text; empty for none.
    pub default: String,
    /// What it is for.
    pub description: String,
}

/// A script that can be run.
#[derive(Debug)]
pub struct Program {
    source: Arc<Source>,
    commands: Vec<String>,
    options: Vec<ScriptOption>,
    is_parallel: bool,
    init_needs_server: bool,
    counters: Mutex<Vec<Arc<Counters>>>,
}

/// Looks at a script: loads it once, reads what it declares, and runs its `init` for a run.
pub fn compile(script: &Script, settings: Settings) -> Result<Program, Vec<Problem>> {
    look_at(script, settings).map_err(|message| vec![problem(script, &message)])
}

fn look_at(script: &Script, settings: Settings) -> Result<Program, String> {
    let source = Arc::new(Source::new(script, settings)?);
    let lane = Lane::new(&source, Arc::default()).map_err(|error| fault::message_of(&error))?;
    let mut running = nobody(source.settings.seed);
    let client = lane.client(NOBODY, &mut running)?;
    let survey = lane.survey(&client).map_err(|error| fault::message_of(&error))?;
    let runs = source.settings.command == "run";
    if runs && !read::<bool>(&survey, "has_event")? {
        return Err(format!("cannot find the event() function in {}", source.name));
    }
    let program = Program {
        commands: read(&survey, "commands")?,
        options: options(&survey)?,
        is_parallel: read(&survey, "parallel")?,
        init_needs_server: false,
        counters: Mutex::default(),
        source,
    };
    // The state goes with its lane: all that is read from it has been read.
    Ok(Program { init_needs_server: runs && needs_server(lane)?, ..program })
}

/// Runs `init`; true when it asks for a server before it is through, which must then run it.
fn needs_server(lane: Lane) -> Result<bool, String> {
    let mut session = LuaSession::new(Arc::new(lane), NOBODY, Entry::Init);
    match session.resume(Resume::Continue) {
        Ok(Step::Done) => Ok(false),
        Ok(_) => Ok(true),
        Err(fault) => Err(fault.message),
    }
}

fn nobody(seed: u64) -> Running {
    // A stream that no client and no transaction has.
    let chance = Stream::keyed(seed, Purpose::Script, u64::MAX, u64::MAX);
    Running { chance, unique: Unique::new(0, 1, seed) }
}

fn problem(script: &Script, message: &str) -> Problem {
    let message = fault::trimmed(message);
    let line = fault::line_in(&message, &script.name);
    Problem {
        severity: Severity::Error,
        script: script.name.clone(),
        line,
        column: u32::from(line > 0),
        text: String::new(),
        message,
    }
}

fn read<T: mlua::FromLua>(table: &Table, key: &str) -> Result<T, String> {
    table.get(key).map_err(|error| fault::message_of(&error))
}

fn options(survey: &Table) -> Result<Vec<ScriptOption>, String> {
    let found: Vec<[String; 4]> = read(survey, "options")?;
    let option = |[name, placeholder, default, description]: [String; 4]| ScriptOption {
        name,
        placeholder,
        default,
        description,
    };
    Ok(found.into_iter().map(option).collect())
}

impl Source {
    fn new(script: &Script, settings: Settings) -> Result<Self, String> {
        let laws = Laws::new(&settings)?;
        let modules = settings.modules.values().map(String::as_str);
        let texts = || modules.clone().chain([script.text.as_str()]);
        let keep = |dropped| if dropped { Keep::None } else { Keep::AllRows };
        let keep_of_query =
            keep(values_are_dropped("query", texts()) && values_are_dropped("db_query", texts()));
        let keep_of_execute = keep(
            values_are_dropped("execute", texts()) && values_are_dropped("db_execute", texts()),
        );
        Ok(Self {
            name: script.name.clone(),
            text: script.text.clone(),
            laws,
            statements: Arc::default(),
            keep_of_query,
            keep_of_execute,
            settings,
        })
    }
}

impl Program {
    /// Sessions that run the events of these clients. All clients of one thread are made
    /// together: they share a Lua state.
    pub fn sessions(
        &self,
        clients: impl Iterator<Item = u32>,
    ) -> Result<Vec<Box<dyn Session>>, Problem> {
        let lane = self.lane()?;
        let session = |client| {
            Box::new(LuaSession::new(Arc::clone(&lane), client, Entry::Enter)) as Box<dyn Session>
        };
        Ok(clients.map(session).collect())
    }

    /// A Lua state of its own for one thread.
    fn lane(&self) -> Result<Arc<Lane>, Problem> {
        let counters: Arc<Counters> = Arc::default();
        self.counters().push(Arc::clone(&counters));
        let lane = Lane::new(&self.source, counters);
        lane.map(Arc::new)
            .map_err(|error| Problem::outside(&self.source.name, fault::message_of(&error)))
    }

    /// A session whose one transaction is the command that the script was compiled for, in the
    /// name of this thread of it.
    pub fn command(&self, thread: u32) -> Result<Box<dyn Session>, Problem> {
        self.alone(thread, Entry::Command)
    }

    /// A session whose one transaction is the script's `init`. Only for a script whose `init`
    /// talks to the server: any other has been run.
    pub fn init(&self) -> Result<Option<Box<dyn Session>>, Problem> {
        self.init_needs_server.then(|| self.alone(NOBODY, Entry::Init)).transpose()
    }

    /// A session whose one transaction is the script's `done`, for the end of a run.
    pub fn done(&self) -> Result<Box<dyn Session>, Problem> {
        self.alone(NOBODY, Entry::Done)
    }

    /// A session with a lane to itself.
    fn alone(&self, client: u32, entry: Entry) -> Result<Box<dyn Session>, Problem> {
        let lane = self.lane()?;
        Ok(Box::new(LuaSession::new(lane, client, entry)))
    }

    /// The script's commands, in the order of the alphabet, beside `run`.
    pub fn commands(&self) -> &[String] {
        &self.commands
    }

    /// The options that the script declares, in the order of the alphabet.
    pub fn options(&self) -> &[ScriptOption] {
        &self.options
    }

    /// Whether the command is to be run by all threads at once.
    pub fn is_parallel(&self) -> bool {
        self.is_parallel
    }

    /// The statements, as they come up.
    pub fn statements(&self) -> &Arc<Statements> {
        &self.source.statements
    }

    /// One of sysbench's counts, over all lanes so far.
    pub fn count(&self, counter: Counter) -> u64 {
        self.counters().iter().map(|counters| counters.get(counter)).sum()
    }

    fn counters(&self) -> std::sync::MutexGuard<'_, Vec<Arc<Counters>>> {
        self.counters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
