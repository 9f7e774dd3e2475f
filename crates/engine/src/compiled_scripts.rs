//! The compiled scripts of a plan, in either language.

use dbdyno_model::{Endpoint, Language, Plan, Protocol, QueryMode, Statement, StatementId};
use dbdyno_script::{Execution, Problem, lua, pgbench, workload};
use dbdyno_sql::Dialect;
use std::sync::Arc;

/// The compiled scripts of a plan.
pub(crate) enum CompiledScripts {
    /// With the endpoint, which has the standbys.
    Pgbench(Arc<pgbench::Program>, Box<Endpoint>),
    Lua(Box<lua::Program>),
    Workload(Arc<workload::Program>),
}

impl CompiledScripts {
    /// Compiles the scripts of a plan: the program, unless there are errors, and all errors and
    /// warnings.
    pub(crate) fn of(plan: &Plan) -> (Option<Self>, Vec<Problem>) {
        if plan.lua.is_some() {
            return match lua_program(plan, print) {
                Ok(program) => (Some(Self::Lua(Box::new(program))), Vec::new()),
                Err(problems) => (None, problems),
            };
        }
        if plan.scripts.iter().any(|script| script.language == Language::Lua) {
            return match workload_program(plan) {
                Ok(program) => (Some(Self::Workload(Arc::new(program))), Vec::new()),
                Err(problems) => (None, problems),
            };
        }
        let options = pgbench::Options {
            seed: plan.seed,
            allow_shell: plan.allow_shell,
            dialect: dialect_of(plan.endpoint.protocol),
            has_copy: plan.endpoint.protocol == Protocol::Postgresql,
            print,
        };
        let compilation =
            pgbench::compile(&plan.scripts, &plan.variables, plan.query_mode, options);
        let with_endpoint =
            |program| Self::Pgbench(Arc::new(program), Box::new(plan.endpoint.clone()));
        let program = compilation.program.map(with_endpoint);
        (program, compilation.problems)
    }

    /// The statements that are known before the run, which connections may prepare.
    pub(crate) fn statements(&self) -> &[Statement] {
        match self {
            Self::Pgbench(program, _) => program.statements(),
            Self::Workload(program) => program.statements(),
            Self::Lua(_) => &[],
        }
    }

    /// The statements discovered during the run, from this number on.
    pub(crate) fn new_statements(&self, from: usize) -> Vec<Statement> {
        match self {
            Self::Pgbench(..) | Self::Workload(_) => Vec::new(),
            Self::Lua(program) => program.statements().since(from),
        }
    }

    /// A statement, known before the run or discovered during it.
    pub(crate) fn statement(&self, id: StatementId) -> Option<Statement> {
        match self {
            Self::Pgbench(..) | Self::Workload(_) => self.statements().get(id.0 as usize).cloned(),
            Self::Lua(program) => program.statements().since(id.0 as usize).into_iter().next(),
        }
    }

    /// The names of what the scripts count, by the numbers of their counters.
    pub(crate) fn counters(&self) -> &[String] {
        match self {
            Self::Pgbench(..) | Self::Lua(_) => &[],
            Self::Workload(program) => program.counters(),
        }
    }

    /// What runs the script's own report hooks; none when it has no hooks.
    pub(crate) fn reporter(&self) -> Result<Option<lua::Reporter>, Problem> {
        match self {
            Self::Pgbench(..) | Self::Workload(_) => Ok(None),
            Self::Lua(program) => program.reporter(),
        }
    }

    /// What sysbench has counted of the script's statements so far.
    pub(crate) fn count(&self, counter: lua::Counter) -> u64 {
        match self {
            Self::Pgbench(..) | Self::Workload(_) => 0,
            Self::Lua(program) => program.count(counter),
        }
    }

    /// Sessions for the clients of one thread; `apart`: each one self-contained, so that it can
    /// move to another thread.
    pub(crate) fn executions(
        &self,
        clients: impl Iterator<Item = u32>,
        apart: bool,
    ) -> Result<Vec<Box<dyn Execution>>, Problem> {
        match self {
            Self::Pgbench(program, endpoint) => {
                let execution = |client| {
                    let standby = endpoint.standby_of(client);
                    Box::new(program.execution(client).with_standby(standby)) as Box<dyn Execution>
                };
                Ok(clients.map(execution).collect())
            }
            Self::Workload(program) => clients.map(|client| program.execution(client)).collect(),
            Self::Lua(program) if apart => {
                let each: Result<Vec<_>, _> =
                    clients.map(|client| program.executions(std::iter::once(client))).collect();
                Ok(each?.into_iter().flatten().collect())
            }
            Self::Lua(program) => program.executions(clients),
        }
    }
}

fn dialect_of(protocol: Protocol) -> Dialect {
    match protocol {
        Protocol::Postgresql => Dialect::Postgresql,
        Protocol::Mysql => Dialect::Mysql,
        Protocol::Odbc => Dialect::Standard,
    }
}

/// Standard error is the log; frames have a descriptor of their own.
fn print(line: &str) {
    eprintln!("{line}");
}

/// Loads the Lua scripts of a plan's workload.
fn workload_program(plan: &Plan) -> Result<workload::Program, Vec<Problem>> {
    if plan.scripts.iter().any(|script| script.language != Language::Lua) {
        let message = "the Lua scripts of a workload cannot share a run with other scripts";
        return Err(vec![Problem::outside("", message)]);
    }
    let protocol = plan.endpoint.protocol;
    let settings = workload::Settings {
        seed: plan.seed,
        mode: plan.query_mode,
        has_pipelines: protocol == Protocol::Postgresql,
        dialect: dialect_of(protocol),
        print,
    };
    workload::compile(&plan.scripts, &plan.variables, settings)
}

/// Loads the Lua script of a plan.
pub(crate) fn lua_program(plan: &Plan, print: fn(&str)) -> Result<lua::Program, Vec<Problem>> {
    let refused = |message: &str| Err(vec![Problem::outside("", message)]);
    let ([script], Some(lua)) = (plan.scripts.as_slice(), &plan.lua) else {
        return refused("a Lua script cannot be combined with other scripts");
    };
    let driver = match plan.endpoint.protocol {
        Protocol::Mysql => lua::Driver::Mysql,
        Protocol::Postgresql => lua::Driver::Pgsql,
        Protocol::Odbc => return refused("sysbench scripts do not support databases behind ODBC"),
    };
    let mut arguments = lua.arguments.clone();
    arguments.extend(lua::options_of(&plan.endpoint));
    let settings = lua::Settings {
        command: lua.command.clone(),
        path: lua.path.clone(),
        arguments,
        modules: lua.modules.clone(),
        driver,
        prepares: plan.query_mode != QueryMode::Simple,
        clients: plan.clients,
        servers: plan.endpoint.servers(),
        seed: plan.seed,
        allow_unsafe: lua.allow_unsafe,
        print,
    };
    lua::compile(script, settings)
}
