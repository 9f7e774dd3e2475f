//! Examines a Lua script without a server: whether it can run, and which commands it has.
//!
//! This happens in a process of its own, since a script that never finishes loading can only be
//! ended from outside.

use crate::compiled_scripts::lua_program;
use crate::{EngineError, Sink};
use dbdyno_hist::frame::{Frame, ScriptProblem, Survey};
use dbdyno_model::{Plan, Purpose, Stream};
use dbdyno_script::{Fault, Problem, Resume, Step, lua};

/// The command that needs no server.
const HELP: &str = "help";

/// Reports what the script of a plan provides; if the command is `help`, runs that.
pub fn survey_script(plan: &Plan, sink: &mut Sink<'_>) -> Result<(), EngineError> {
    let frame = match examine(plan) {
        Ok(survey) => survey,
        Err(problem) => Survey { problem: Some(problem), ..Survey::default() },
    };
    Ok(sink(&Frame::Survey(frame).encode())?)
}

fn examine(plan: &Plan) -> Result<Survey, ScriptProblem> {
    let program = lua_program(plan, |line| println!("{line}")).map_err(first_problem)?;
    if plan.lua.as_ref().is_some_and(|lua| lua.command == HELP) {
        help(&program, &plan.scripts[0].name)?;
    }
    Ok(Survey {
        problem: None,
        commands: program.commands().to_vec(),
        is_parallel: program.is_parallel(),
        has_init: program.has_init(),
        has_done: program.has_done(),
    })
}

fn first_problem(mut problems: Vec<Problem>) -> ScriptProblem {
    let Problem { line, message, .. } = problems.swap_remove(0);
    ScriptProblem { line, message }
}

fn help(program: &lua::Program, script: &str) -> Result<(), ScriptProblem> {
    let executions = program.executions(0..1).map_err(|problem| first_problem(vec![problem]))?;
    for mut execution in executions {
        execution.begin(0, Stream::keyed(0, Purpose::Script, 0, 0));
        match execution.resume(Resume::Continue) {
            Ok(Step::Done | Step::Stop { .. }) => {}
            Ok(_) => return Err(uses_server()),
            Err(fault) => return Err(problem_of(&fault, script)),
        }
    }
    Ok(())
}

fn problem_of(fault: &Fault, script: &str) -> ScriptProblem {
    ScriptProblem { line: fault.line, message: fault.message_without_place(script).to_owned() }
}

fn uses_server() -> ScriptProblem {
    ScriptProblem { line: 0, message: "help must not talk to the server".into() }
}
