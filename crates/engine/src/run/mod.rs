//! A run from its plan to its last frame.
//!
//! The calling thread starts the lanes, waits until all clients are connected, lets the load
//! begin, and from then on only gathers what the lanes report and turns it into frames.

mod activity;
mod gather;
mod hooks;
mod lanes;

use crate::lane::{Ending, Greeting, Message, Report};
use crate::program::Program;
use crate::{EngineError, Sink, clock, limits};
use dbdyno_hist::frame::{
    Connected, Frame, Hello, Note, Outage, Started, Statement, StatementInfo,
};
use dbdyno_hist::{Activity, Latencies, Shape, Tally};
use dbdyno_load::{Settings, Timeline};
use dbdyno_model::{Arrivals, Nanos, Plan};
use dbdyno_script::Problem;
use gather::{Gather, fault_told};
use hooks::{Counts, Hooks};
use lanes::{LaneHandle, Way};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{Receiver, Sender, channel};

/// Between the decision to begin or to stop and the instant of it: long enough that every
/// lane has heard.
const NOTICE: Nanos = Nanos::from_millis(50);

/// A plan that can be run.
pub struct Engine {
    plan: Arc<Plan>,
    program: Program,
    warnings: Vec<Problem>,
    reports: (Sender<Report>, Receiver<Report>),
    heard: Arc<AtomicU64>,
}

/// Ends a run from outside.
#[derive(Clone, Debug)]
pub struct StopHandle(Sender<Report>);

impl StopHandle {
    /// The run shall end now: nothing new is started, and what is under way gets its grace.
    pub fn stop(&self) {
        // A run that is over needs no stopping.
        let _ = self.0.send(Report::Stop);
    }
}

impl Engine {
    /// Compiles the scripts of a plan; all problems, when there is an error among them.
    pub fn new(plan: Plan) -> Result<Self, Vec<Problem>> {
        let (program, problems) = Program::of(&plan);
        let Some(program) = program else { return Err(problems) };
        let (plan, warnings) = (Arc::new(plan), problems);
        Ok(Self { plan, program, warnings, reports: channel(), heard: Arc::default() })
    }

    /// A handle that stops the run.
    pub fn stop_handle(&self) -> StopHandle {
        StopHandle(self.reports.0.clone())
    }

    /// Runs the plan, telling everything to `sink`. An error means that the load never began.
    pub fn run(self, sink: &mut Sink<'_>) -> Result<(), EngineError> {
        let plan = &self.plan;
        if plan.threads == 0 || plan.threads > plan.clients {
            let message = format!("{} threads cannot share {} clients", plan.threads, plan.clients);
            return Err(EngineError::new("bad_plan", message, "use at most one thread a client"));
        }
        limits::make_room(plan.clients, plan.threads)?;
        let way = Way::to(plan, self.program.statements().into())?;
        tell(sink, &Frame::Hello(self.hello(&way)))?;
        let lanes = (0..plan.threads)
            .map(|thread| way.spawn_lane(self.settings(thread)?, self.reports.0.clone()))
            .collect::<Result<Vec<_>, _>>()?;
        let result = self.conductor(&lanes).and_then(|conductor| conductor.conduct(sink));
        for lane in &lanes {
            lane.tell(Message::Stop(Nanos::ZERO));
        }
        for lane in lanes {
            let _ = lane.thread.join();
        }
        result
    }

    fn settings(&self, thread: u32) -> Result<Settings, EngineError> {
        let clients = (thread..self.plan.clients).step_by(self.plan.threads as usize);
        let sessions = self.program.sessions(clients);
        Ok(Settings {
            plan: Arc::clone(&self.plan),
            thread,
            shape: self.shape(),
            sessions: sessions.map_err(|problem| EngineError::bad_script(&[problem]))?,
            heard_by_all: Arc::clone(&self.heard),
        })
    }

    fn shape(&self) -> Shape {
        let open = matches!(self.plan.arrivals, Arrivals::Open { .. });
        Shape {
            scripts: self.plan.scripts.len(),
            statements: self.program.statements().len(),
            service_differs: open || self.plan.reconnect_each_transaction,
        }
    }

    fn conductor<'a>(&'a self, lanes: &'a [LaneHandle]) -> Result<Conductor<'a>, EngineError> {
        let reporter = self.program.reporter();
        let reporter = reporter.map_err(|problem| EngineError::bad_script(&[problem]))?;
        Ok(Conductor {
            engine: self,
            lanes,
            gather: Gather::new(self.shape(), &self.plan),
            hooks: reporter.map(|reporter| Hooks::new(reporter, &self.plan)),
            statements_told: 0,
        })
    }

    fn hello(&self, way: &Way) -> Hello {
        let statements = self.program.statements().iter();
        Hello {
            pid: std::process::id(),
            io: way.io(),
            io_reason: way.io_reason().to_owned(),
            threads: self.plan.threads,
            statements: statements
                .map(|statement| StatementInfo {
                    script: statement.script,
                    index: statement.index,
                    line: statement.line,
                    sql: statement.source.clone(),
                })
                .collect(),
            warnings: self.warnings.iter().map(ToString::to_string).collect(),
        }
    }
}

/// What is wrong with the scripts of a plan.
pub fn problems(plan: &Plan) -> Vec<Problem> {
    Program::of(plan).1
}

fn tell(sink: &mut Sink<'_>, frame: &Frame) -> Result<(), EngineError> {
    Ok(sink(&frame.encode())?)
}

/// Leads the lanes through a run.
struct Conductor<'a> {
    engine: &'a Engine,
    lanes: &'a [LaneHandle],
    gather: Gather,
    hooks: Option<Hooks>,
    /// Of the statements that came up while running.
    statements_told: usize,
}

impl Conductor<'_> {
    fn conduct(mut self, sink: &mut Sink<'_>) -> Result<(), EngineError> {
        let mut greetings = Vec::new();
        let mut timeline: Option<Timeline> = None;
        while !self.gather.all_over() {
            let report = self.next_report();
            self.tell_new_statements(sink)?;
            match report {
                // The last lane may have connected just when the run was told to end.
                Report::Connected(_) if self.gather.interrupted => {}
                Report::Connected(greeting) => {
                    greetings.push(greeting);
                    if greetings.len() == self.lanes.len() {
                        tell(sink, &Frame::Connected(self.connected(&greetings)))?;
                        timeline = Some(self.begin(sink)?);
                    }
                }
                Report::Closed(thread, closed) => {
                    self.gather.closed(thread, closed);
                    self.emit(sink)?;
                }
                Report::Activity(thread, activity) => self.picture(thread, activity, sink)?,
                Report::Notice(at, text) => {
                    tell(sink, &Frame::Note(Note { at_ns: at.0, source: "server", text }))?;
                }
                Report::Outage(outage) => tell(sink, &Frame::Outage(outage_frame(outage)))?,
                Report::Over(thread, ending) => {
                    self.fail_early(timeline.is_some(), &ending)?;
                    if ending.broken.is_some() {
                        self.end_at(clock::now() + NOTICE, timeline.as_mut());
                    }
                    self.gather.over(thread, *ending);
                    self.emit(sink)?;
                }
                Report::Uncancelled(why) => self.gather.uncancelled = Some(why),
                Report::Stop => {
                    self.gather.interrupted = true;
                    self.end_at(clock::now() + NOTICE, timeline.as_mut());
                }
            }
        }
        let done = self.gather.done(&self.engine.plan, timeline.as_ref());
        if let Some(hooks) = self.hooks.take() {
            tell_of_hook(hooks.end(Nanos(done.measured_ns), &self.counts()), sink)?;
        }
        tell(sink, &Frame::Done(Box::new(done)))
    }

    fn next_report(&self) -> Report {
        // The engine holds a sender itself, so the channel never closes before its end.
        self.engine.reports.1.recv().unwrap_or(Report::Stop)
    }

    /// Tells the statements that have come up, before anything is told of them.
    fn tell_new_statements(&mut self, sink: &mut Sink<'_>) -> Result<(), EngineError> {
        for statement in self.engine.program.new_statements(self.statements_told) {
            let number = self.statements_told as u32;
            let frame = Statement {
                statement: number,
                script: statement.script,
                sql: statement.source,
                example: statement.sql,
            };
            tell(sink, &Frame::Statement(frame))?;
            self.statements_told += 1;
        }
        Ok(())
    }

    /// Ends the run at `at`, if it would last longer.
    fn end_at(&self, at: Nanos, timeline: Option<&mut Timeline>) {
        if let Some(timeline) = timeline {
            timeline.stop_at(at);
        }
        self.tell_lanes(|| Message::Stop(at));
    }

    fn tell_lanes(&self, message: impl Fn() -> Message) {
        self.lanes.iter().for_each(|lane| lane.tell(message()));
    }

    fn connected(&self, greetings: &[Greeting]) -> Connected {
        let clients = self.engine.plan.clients;
        let mut backend_pids = vec![0; clients as usize];
        for (client, pid) in greetings.iter().flat_map(|greeting| &greeting.backends) {
            backend_pids[*client as usize] = *pid;
        }
        let mut connects = Latencies::default();
        for greeting in greetings {
            connects.merge(&greeting.connects);
        }
        let first = greetings.first();
        Connected {
            clients,
            connect: connects.distribution(),
            server_version: first
                .map(|greeting| greeting.server_version.clone())
                .unwrap_or_default(),
            tls: first.map(|greeting| greeting.tls.clone()).unwrap_or_default(),
            backend_pids,
        }
    }

    /// Before the load has begun, one lane's failure is everybody's.
    fn fail_early(&self, begun: bool, ending: &Ending) -> Result<(), EngineError> {
        if begun {
            return Ok(());
        }
        if let Some((client, fault)) = ending.faults.first() {
            let told = fault_told(&self.engine.plan, *client, fault);
            return Err(EngineError::new("bad_script", told, self.hint_for_scripts()));
        }
        if let Some(error) = &ending.fatal {
            return Err(EngineError::cannot_connect(self.engine.plan.endpoint.protocol, error));
        }
        match &ending.broken {
            Some(message) => Err(EngineError::new("io", message.clone(), "")),
            None => Ok(()),
        }
    }

    fn hint_for_scripts(&self) -> &'static str {
        let runs = self.engine.plan.lua.as_ref().is_some_and(|lua| lua.command == "run");
        if runs { "dbdyno load makes the tables of a script for sysbench" } else { "" }
    }

    /// Lets the load begin, a moment from now.
    fn begin(&mut self, sink: &mut Sink<'_>) -> Result<Timeline, EngineError> {
        let start = clock::now() + NOTICE;
        let timeline = Timeline::new(&self.engine.plan, start);
        self.tell_lanes(|| Message::Start(timeline.clone()));
        self.gather.load_begins();
        let end = timeline.measure_end();
        let started = Started {
            monotonic_ns: start.0,
            unix_ns: (clock::unix_now() + (start - clock::now())).0,
            measure_begin_ns: timeline.measure_begin().0,
            measure_end_ns: (end != Nanos::MAX).then_some(end.0),
        };
        tell(sink, &Frame::Started(started))?;
        Ok(timeline)
    }

    /// Takes what one lane's clients were doing; tells what all were, once that is known.
    fn picture(
        &mut self,
        thread: u32,
        activity: Activity,
        sink: &mut Sink<'_>,
    ) -> Result<(), EngineError> {
        match self.gather.activity(thread, activity) {
            Some(complete) => tell(sink, &Frame::Activity(complete)),
            None => Ok(()),
        }
    }

    /// Lets the script report an interval, if it does so; gives what is to be said of that.
    fn report(&mut self, frames: &[Frame], tallies: &[(u32, Box<Tally>)]) -> Option<String> {
        let counts = self.counts();
        let Some(Frame::Interval(interval)) = frames.first() else { return None };
        let tallies = tallies.iter().map(|(_, tally)| &**tally);
        self.hooks.as_mut()?.take(interval, tallies, counts)
    }

    fn counts(&self) -> Counts {
        hooks::counts(|counter| self.engine.program.count(counter))
    }

    /// Tells every interval that all lanes have reported.
    fn emit(&mut self, sink: &mut Sink<'_>) -> Result<(), EngineError> {
        while let Some((frames, tallies)) = self.gather.next_complete()? {
            for frame in &frames {
                tell(sink, frame)?;
            }
            tell_of_hook(self.report(&frames, &tallies), sink)?;
            for (thread, tally) in tallies {
                self.lanes[thread as usize].tell(Message::GiveBack(tally));
            }
        }
        Ok(())
    }
}

/// A script's own report has gone wrong.
fn tell_of_hook(message: Option<String>, sink: &mut Sink<'_>) -> Result<(), EngineError> {
    let Some(text) = message else { return Ok(()) };
    tell(sink, &Frame::Note(Note { at_ns: clock::now().0, source: "script", text }))
}

fn outage_frame(outage: dbdyno_load::Outage) -> Outage {
    Outage {
        begin_ns: outage.begin.0,
        end_ns: outage.end.map(|end| end.0),
        connections_lost: outage.connections_lost,
        message: outage.message,
    }
}
