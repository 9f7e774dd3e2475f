//! The script language of pgbench: SQL commands and backslash commands with expressions.
//!
//! All versions of the language at once, from 9.4's `\setrandom` to `\syncpipeline`. A plan's
//! scripts are compiled together before the run, since a client's variables persist from one script
//! to the next, and all errors that can be found in advance are reported then. Only arithmetic,
//! rows and shell commands can fail while running.

mod chars;
mod commands;
mod copy;
mod datum;
mod execution;
mod expression;
mod functions;
mod lexer;
mod line;
mod lower;
mod meta;
mod names;
mod operators;
mod parser;
mod program;
mod read;
mod routine;
mod scope;
mod source;
mod sql;
mod step_buffers;
mod template;
mod variables;

pub(crate) use commands::Commands;
pub use execution::PgbenchExecution;
pub(crate) use names::Slot;
pub use program::Program;

use crate::problem::{Problem, Severity};
use chars::is_valid_name;
use datum::value_from_text;
use dbdyno_model::{Purpose, QueryMode, Scalar, Script, Stream, Value};
use dbdyno_sql::Dialect;
use names::Names;
use program::Instruction;
use read::Reading;
use source::Source;
use std::collections::BTreeMap;

/// What scripts are compiled with, besides their text and variables.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The run's seed: `random_seed`, from which `default_seed` is derived.
    pub seed: u64,
    /// Whether shell commands may run.
    pub allow_shell: bool,
    /// Whose grammar the SQL is read by.
    pub dialect: Dialect,
    /// Whether the server's protocol has COPY.
    pub has_copy: bool,
    /// Receives the lines that `debug()` prints.
    pub print: fn(&str),
}

/// The result of compiling.
#[derive(Debug)]
pub struct Compilation {
    /// The program, if no problem is an error.
    pub program: Option<Program>,
    /// All problems, in the order of the scripts.
    pub problems: Vec<Problem>,
}

/// Compiles a plan's scripts. Never stops at the first problem.
///
/// ```
/// use dbdyno_model::{Purpose, QueryMode, Script, Stream};
/// use dbdyno_script::pgbench::{Options, compile};
/// use dbdyno_script::{Execution, Resume};
/// use dbdyno_sql::Dialect;
/// use std::{collections::BTreeMap, sync::Arc};
///
/// let text = "\\set id random(1, 10 * :scale)\nselect * from t where id = :id;".into();
/// let scripts = [Script { name: "by_id".into(), weight: 1, text, ..Script::default() }];
/// let options = Options {
///     seed: 1,
///     allow_shell: false,
///     dialect: Dialect::Postgresql,
///     has_copy: true,
///     print: |line| eprintln!("{line}"),
/// };
/// let compilation = compile(&scripts, &BTreeMap::new(), QueryMode::Prepared, options);
/// assert!(compilation.problems.is_empty());
/// let program = Arc::new(compilation.program.unwrap());
/// assert_eq!(program.statements()[0].sql, "select * from t where id = $1");
///
/// let mut client = program.execution(0);
/// client.begin(0, Stream::keyed(1, Purpose::Script, 0, 0));
/// println!("{:?}", client.resume(Resume::Continue));
/// ```
pub fn compile(
    scripts: &[Script],
    variables: &BTreeMap<String, Scalar>,
    mode: QueryMode,
    options: Options,
) -> Compilation {
    let mut names = Names::default();
    let start = start_values(variables, options.seed);
    for name in start.keys() {
        names.settable_slot(name);
    }
    let client_id = names.settable_slot("client_id");
    let readings = scripts.iter().map(|script| {
        read::read(Source::new(&script.name, &script.text), options.dialect, &mut names)
    });
    let readings = readings.collect();
    let mut problems = check_plan(scripts, variables);
    let mut statements = Vec::new();
    let mut context =
        lower::Context { mode, options: &options, names: &mut names, statements: &mut statements };
    let code = lower_all(readings, scripts, &mut context, &mut problems);
    let is_sound = problems.iter().all(|problem| problem.severity != Severity::Error);
    let program = is_sound.then(|| Program {
        scripts: code,
        statements,
        client_id: (!start.contains_key("client_id")).then_some(client_id),
        start: names.place(start),
        columns: names.columns(),
        names: names.into_names(),
        is_on_standby: scripts.iter().map(|script| script.is_on_standby).collect(),
        print: options.print,
    });
    Compilation { program, problems }
}

/// The instructions of all scripts. A script's problems are sorted by their position.
fn lower_all(
    readings: Vec<Reading<'_>>,
    scripts: &[Script],
    context: &mut lower::Context<'_>,
    problems: &mut Vec<Problem>,
) -> Vec<Vec<Instruction>> {
    let lower = |(index, reading): (usize, Reading<'_>)| {
        let mut found = reading.problems(context.names);
        let (code, more) =
            lower::lower(index as u32, &scripts[index], &reading.source, reading.commands, context);
        found.extend(more);
        found.sort_by_key(|problem| (problem.line, problem.column));
        problems.extend(found);
        code
    };
    readings.into_iter().enumerate().map(lower).collect()
}

/// The problems of the plan as a whole.
fn check_plan(scripts: &[Script], variables: &BTreeMap<String, Scalar>) -> Vec<Problem> {
    let weight: u64 = scripts.iter().map(|script| u64::from(script.weight)).sum();
    let weightless = (weight == 0)
        .then(|| Problem::outside("", "the weights of the scripts must not all be zero"));
    let misnamed = variables.keys().filter(|name| !is_valid_name(name));
    let misnamed = misnamed.map(|name| Problem::outside(name, "a variable cannot have this name"));
    weightless.into_iter().chain(misnamed).collect()
}

/// Every client's initial variables: the automatic ones, overridden by the plan's.
fn start_values(variables: &BTreeMap<String, Scalar>, seed: u64) -> BTreeMap<String, Value> {
    // A stream that no client and no transaction has.
    let default_seed = Stream::keyed(seed, Purpose::Script, u64::MAX, u64::MAX).next_u64();
    let automatic =
        [("scale", 1), ("random_seed", seed as i64), ("default_seed", default_seed as i64)]
            .map(|(name, number)| (name.to_owned(), Value::Int(number)));
    let given = variables.iter().map(|(name, scalar)| {
        let value = match scalar {
            Scalar::Text(text) => value_from_text(text),
            other => other.clone().into(),
        };
        (name.clone(), value)
    });
    automatic.into_iter().chain(given).collect()
}
