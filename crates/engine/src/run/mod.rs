//! A run, from its plan to its last frame.
//!
//! The lanes are started and joined here. In between, `coordinator` controls them, `aggregator`
//! reports what they add up to (`parts`), `hooks` calls the scripts' own report functions, `colocation` decides
//! which clients change lanes, and `pauses` notices when the process itself stands still.

pub(crate) mod activity;
pub(crate) mod aggregator;
mod colocation;
mod coordinator;
mod hooks;
mod hopeless;
mod lanes;
pub(crate) mod parts;
mod pauses;

use crate::compiled_scripts::CompiledScripts;
use crate::lane::{Message, Report};
use crate::{EngineError, Sink, limits, selfcheck};
use coordinator::Coordinator;
use dbdyno_hist::Shape;
use dbdyno_hist::frame::{Frame, Hello, StatementInfo};
use dbdyno_load::{RunShared, Settings};
use dbdyno_model::{BlockWords, Nanos, Plan, Protocol, Statement};
use dbdyno_script::Problem;
use dbdyno_sql::{Dialect, positional};
use lanes::{LaneHandle, Transport};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

/// A plan that is ready to run.
pub struct Engine {
    plan: Arc<Plan>,
    program: CompiledScripts,
    warnings: Vec<Problem>,
    reports: (Sender<Report>, Receiver<Report>),
    shared: Arc<RunShared>,
}

/// Sends messages to a run from outside; a run that is over ignores them.
#[derive(Clone, Debug)]
pub struct RunHandle(Sender<Report>);

impl RunHandle {
    /// Begins the load, once all clients are connected: at an instant of the machine's monotonic
    /// clock, or else as soon as all threads know. Ignored before that and after.
    pub fn begin(&self, at: Option<Nanos>) {
        let _ = self.0.send(Report::Begin(at));
    }

    /// Ends the run at once, as a failure: transactions in flight are cancelled. For a load of which
    /// nobody wants to know any more; the reason is for one that still listens.
    pub fn abandon(&self, why: &str) {
        let _ = self.0.send(Report::Abandon(why.into()));
    }

    /// Ends the run, at an instant of the machine's monotonic clock, or else as soon as all threads
    /// know: nothing new is started then, and transactions in flight get a grace period.
    pub fn stop(&self, at: Option<Nanos>) {
        let _ = self.0.send(Report::Stop(at));
    }

    /// Sets which task of this machine serves each of the server's sessions, by their numbers. Not
    /// needed for a server whose sessions are processes.
    pub fn set_session_tasks(&self, tasks: HashMap<u32, u32>) {
        let _ = self.0.send(Report::SessionTasks(tasks));
    }
}

impl Engine {
    /// Compiles the scripts of a plan; returns all problems when one of them is an error.
    pub fn new(plan: Plan) -> Result<Self, Vec<Problem>> {
        let (program, problems) = CompiledScripts::of(&plan);
        let Some(program) = program else { return Err(problems) };
        Ok(Self {
            shared: Arc::new(RunShared::new(&plan)),
            plan: Arc::new(plan),
            program,
            warnings: problems,
            reports: channel(),
        })
    }

    /// A handle for sending messages to the run.
    pub fn handle(&self) -> RunHandle {
        RunHandle(self.reports.0.clone())
    }

    /// Runs the plan and writes all frames to `sink`. Once all clients are connected, as the frame
    /// `Connected` reports, the load waits for [`RunHandle::begin`]. An error means that the load
    /// never started.
    pub fn run(self, sink: &mut Sink<'_>) -> Result<(), EngineError> {
        let plan = &self.plan;
        if plan.threads == 0 || plan.threads > plan.clients {
            let message = format!("{} threads cannot share {} clients", plan.threads, plan.clients);
            return Err(EngineError::new("bad_plan", message, "use at most one thread a client"));
        }
        if !can_defer(plan) {
            let message =
                "a deferred script needs pauses of its own, and an executor in each thread";
            return Err(EngineError::new("bad_plan", message, ""));
        }
        let threads = plan.threads_here();
        let wanted = (plan.clients_here(), limits::connections_max(plan), threads.len() as u32);
        limits::raise_file_limit(wanted.0, wanted.1, wanted.2)?;
        let transport = Transport::new(plan, self.program.statements().into())?;
        emit(sink, &Frame::Hello(self.hello(&transport)))?;
        let mut lanes = Vec::new();
        let result = self
            .spawn_lanes(&transport, &mut lanes)
            .and_then(|()| Coordinator::new(&self, &lanes)?.run(sink));
        // Those that are not over yet: there was an error, or nobody reads the frames any more.
        for lane in &lanes {
            lane.send(Message::Abandon);
        }
        for lane in lanes {
            let _ = lane.thread.join();
        }
        result
    }

    fn spawn_lanes(
        &self,
        transport: &Transport,
        lanes: &mut Vec<LaneHandle>,
    ) -> Result<(), EngineError> {
        for thread in self.plan.threads_here() {
            let (lane, reports) = (lanes.len() as u32, self.reports.0.clone());
            lanes.push(transport.spawn_lane(lane, self.settings(thread)?, reports)?);
        }
        Ok(())
    }

    fn settings(&self, thread: u32) -> Result<Settings, EngineError> {
        let clients = self.plan.clients_of(thread);
        let executions = self.program.executions(clients, colocation::may_move(&self.plan));
        let statements = self.program.statements();
        Ok(Settings {
            plan: Arc::clone(&self.plan),
            thread,
            shape: self.shape(),
            block_words: statements.iter().map(|one| BlockWords::of(&one.sql)).collect(),
            executions: executions.map_err(|problem| EngineError::bad_script(&[problem]))?,
            shared: Arc::clone(&self.shared),
        })
    }

    fn shape(&self) -> Shape {
        shape_of(&self.plan, self.program.statements().len())
    }

    fn hello(&self, transport: &Transport) -> Hello {
        let statements = self.program.statements().iter();
        Hello {
            pid: std::process::id(),
            io: transport.io(),
            io_reason: transport.io_reason().to_owned(),
            threads: self.plan.threads_here().len() as u32,
            processors: selfcheck::processors(&self.plan),
            statements: statements
                .map(|statement| StatementInfo {
                    script: statement.script,
                    index: statement.index,
                    line: statement.line,
                    sql: statement.source.clone(),
                })
                .collect(),
            warnings: self.warnings.iter().map(ToString::to_string).collect(),
            counters: self.program.counters().to_vec(),
        }
    }
}

/// What is counted in a run whose scripts have so many statements that are known before it.
pub(crate) fn shape_of(plan: &Plan, statements: usize) -> Shape {
    Shape { scripts: plan.scripts.len(), statements, service_differs: plan.service_differs() }
}

/// The problems of the scripts of a plan.
pub fn problems(plan: &Plan) -> Vec<Problem> {
    CompiledScripts::of(plan).1
}

/// The statements of a plan's scripts that have variables and are not sent by the simple protocol,
/// their text as it would be prepared; none when the scripts have errors.
pub fn statements_with_variables(plan: &Plan) -> Vec<Statement> {
    let Some(program) = CompiledScripts::of(plan).0 else { return Vec::new() };
    let has_variables = |one: &&Statement| one.parameters > 0 || one.as_text.is_some();
    let mut statements: Vec<_> =
        program.statements().iter().filter(has_variables).cloned().collect();
    if plan.endpoint.protocol == Protocol::Mysql {
        for statement in &mut statements {
            statement.sql = positional(&statement.sql, Dialect::Mysql).sql;
        }
    }
    statements
}

/// Whether what scripts defer is executed, and their clients pause instead of deferring ever more.
fn can_defer(plan: &Plan) -> bool {
    let mut deferred = plan.scripts.iter().filter(|script| script.is_deferred).peekable();
    let has_executors = deferred.peek().is_none() || plan.executors >= plan.threads;
    let has_others = plan.executors == 0 || plan.executors < plan.clients;
    has_executors && has_others && deferred.all(|script| script.pacing.is_some())
}

fn emit(sink: &mut Sink<'_>, frame: &Frame) -> Result<(), EngineError> {
    Ok(sink(&frame.encode())?)
}
