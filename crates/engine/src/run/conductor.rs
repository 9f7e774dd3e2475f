//! Coordinates the lanes of a run, and writes what they report as frames in order of time.
//!
//! It waits until all clients are connected, starts the load, and from then on handles reports.
//! `aggregator` adds them up; nothing about the load is decided here.

use super::gather::{Gather, fault_told};
use super::hooks::Hooks;
use super::hopeless::hopeless_told;
use super::lanes::LaneHandle;
use super::neighbours::{Move, Neighbours, TaskOf};
use super::{Engine, tell};
use crate::lane::{Ending, Greeting, Message, Report};
use crate::{EngineError, Sink, clock};
use dbdyno_hist::frame::{Connected, Frame, Note, Outage, OutageBegun, Started, Statement};
use dbdyno_hist::{Activity, Latencies};
use dbdyno_load::{Hopeless, OutageNews, Timeline};
use dbdyno_model::{Nanos, Protocol};
use std::collections::BTreeSet;
use std::time::Duration;

/// Time between the decision to start or stop and its effect: enough for every lane to receive the
/// message.
const NOTICE: Nanos = Nanos::from_millis(50);

/// Coordinates the lanes of a run.
pub(super) struct Conductor<'a> {
    engine: &'a Engine,
    lanes: &'a [LaneHandle],
    gather: Gather,
    hooks: Option<Hooks<'a>>,
    /// Of the lanes that are connected.
    greetings: Vec<Greeting>,
    /// The timeline of the load, once it has started.
    timeline: Option<Timeline>,
    neighbours: Option<Neighbours>,
    /// How many of the statements discovered during the run have been reported.
    statements_told: usize,
    /// The lanes that have reported since the last `Connecting` frame.
    connecting: BTreeSet<u32>,
}

impl<'a> Conductor<'a> {
    pub(super) fn new(engine: &'a Engine, lanes: &'a [LaneHandle]) -> Result<Self, EngineError> {
        let hooks = Hooks::of(&engine.program, &engine.plan);
        Ok(Self {
            engine,
            lanes,
            gather: Gather::new(engine.shape(), &engine.plan),
            hooks: hooks.map_err(|problem| EngineError::bad_script(&[problem]))?,
            greetings: Vec::new(),
            timeline: None,
            neighbours: None,
            statements_told: 0,
            connecting: BTreeSet::new(),
        })
    }

    /// Runs to the end, and writes all frames to `sink`.
    pub(super) fn conduct(mut self, sink: &mut Sink<'_>) -> Result<(), EngineError> {
        while !self.gather.all_over() {
            let Some(report) = self.next_report() else {
                self.send_neighbours();
                continue;
            };
            self.tell_new_statements(sink)?;
            self.hear(report, sink)?;
        }
        self.tell_end(sink)
    }

    fn hear(&mut self, report: Report, sink: &mut Sink<'_>) -> Result<(), EngineError> {
        match report {
            Report::Connecting(thread) => self.connecting(thread, sink),
            // The last lane may have connected just when the run was stopped.
            Report::Connected(_) if self.gather.interrupted => Ok(()),
            Report::Connected(greeting) => self.greeted(greeting, sink),
            Report::Served(tasks) => {
                self.follow_tasks(Box::new(move |session| tasks.get(&session).copied()));
                Ok(())
            }
            Report::Departure { to, mover } => {
                self.gather.clients_moved += 1;
                self.lanes[to as usize].tell(Message::Arrival(mover));
                Ok(())
            }
            Report::Closed(thread, closed) => {
                self.gather.closed(thread, closed);
                self.emit(sink)
            }
            Report::Activity(thread, activity) => self.picture(thread, activity, sink),
            Report::Notice(at, text) => {
                tell(sink, &Frame::Note(Note { at_ns: at.0, source: "server", text }))
            }
            Report::Outage(news) => tell(sink, &outage_frame(news)),
            Report::Hopeless(hopeless) => {
                self.gather.hopeless.get_or_insert(self.told(&hopeless));
                self.end_soon();
                Ok(())
            }
            Report::Over(thread, ending) => self.lane_over(thread, *ending, sink),
            Report::Uncancelled(thread, why) => {
                self.gather.uncancelled(thread, why);
                Ok(())
            }
            Report::Stop => {
                self.gather.interrupted = true;
                self.end_soon();
                Ok(())
            }
        }
    }

    /// All clients of a lane are connected; after the last lane the load starts.
    fn greeted(&mut self, greeting: Greeting, sink: &mut Sink<'_>) -> Result<(), EngineError> {
        self.greetings.push(greeting);
        self.connecting.clear();
        if self.greetings.len() == self.lanes.len() {
            tell(sink, &Frame::Connected(self.connected()))?;
            self.timeline = Some(self.begin(sink)?);
            if self.engine.plan.endpoint.protocol == Protocol::Postgresql {
                self.follow_tasks(Box::new(Some));
            }
        }
        Ok(())
    }

    /// It is known which task serves each session: clients may move to that task's processor.
    fn follow_tasks(&mut self, task_of: TaskOf) {
        let Some(timeline) = &self.timeline else { return };
        let (plan, start) = (&self.engine.plan, timeline.start());
        self.neighbours = Neighbours::of(plan, &self.greetings, task_of, start);
    }

    fn lane_over(
        &mut self,
        thread: u32,
        ending: Ending,
        sink: &mut Sink<'_>,
    ) -> Result<(), EngineError> {
        self.fail_early(&ending)?;
        if ending.broken.is_some() {
            self.end_soon();
        }
        self.gather.over(thread, ending);
        self.emit(sink)
    }

    fn tell_end(mut self, sink: &mut Sink<'_>) -> Result<(), EngineError> {
        if let Some(window) = self.gather.last_window() {
            tell(sink, &window)?;
        }
        let done = self.gather.done(&self.engine.plan, self.timeline.as_ref());
        if let Some(note) = self.hooks.take().and_then(|hooks| hooks.end(Nanos(done.measured_ns))) {
            tell(sink, &Frame::Note(note))?;
        }
        tell(sink, &Frame::Done(Box::new(done)))
    }

    /// None when it is time to check for clients to move.
    fn next_report(&self) -> Option<Report> {
        // The engine holds a sender itself, so the channel never closes before its end.
        let reports = &self.engine.reports.1;
        let Some(neighbours) = &self.neighbours else {
            return Some(reports.recv().unwrap_or(Report::Stop));
        };
        let patience = neighbours.next_look() - clock::now();
        reports.recv_timeout(Duration::from_nanos(patience.0)).ok()
    }

    fn send_neighbours(&mut self) {
        let Some(neighbours) = &mut self.neighbours else { return };
        for Move { client, to } in neighbours.look(clock::now()) {
            self.tell_lanes(|| Message::Send { client: client as u64, to: to as u32 });
        }
    }

    /// Reports that all lanes are alive, once every one that is not connected yet has said so.
    fn connecting(&mut self, thread: u32, sink: &mut Sink<'_>) -> Result<(), EngineError> {
        self.connecting.insert(thread);
        if self.connecting.len() + self.greetings.len() < self.lanes.len() {
            return Ok(());
        }
        self.connecting.clear();
        tell(sink, &Frame::Connecting)
    }

    /// Reports newly discovered statements, before any frame that refers to them.
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

    fn told(&self, hopeless: &Hopeless) -> String {
        let script = &self.engine.plan.scripts[hopeless.script].name;
        let statement = self.engine.program.statement(hopeless.statement);
        hopeless_told(script, statement.as_ref(), &hopeless.error)
    }

    /// Ends the run as soon as every lane can have received the message, unless it ends sooner.
    fn end_soon(&mut self) {
        let at = clock::now() + NOTICE;
        if let Some(timeline) = &mut self.timeline {
            timeline.stop_at(at);
        }
        self.tell_lanes(|| Message::Stop(at));
    }

    fn tell_lanes(&self, message: impl Fn() -> Message) {
        self.lanes.iter().for_each(|lane| lane.tell(message()));
    }

    fn connected(&self) -> Connected {
        let clients = self.engine.plan.clients;
        let mut backend_pids = vec![0; clients as usize];
        for (client, pid) in self.greetings.iter().flat_map(|greeting| &greeting.backends) {
            backend_pids[*client as usize] = *pid;
        }
        let mut connects = Latencies::default();
        for greeting in &self.greetings {
            connects.merge(&greeting.connects);
        }
        let first = self.greetings.first();
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

    /// Before the load has started, the failure of one lane fails the run.
    fn fail_early(&self, ending: &Ending) -> Result<(), EngineError> {
        if self.timeline.is_some() {
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

    /// Starts the load, a moment from now.
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

    /// Adds what one lane's clients were doing; reports the whole snapshot once it is complete.
    fn picture(
        &mut self,
        thread: u32,
        activity: Activity,
        sink: &mut Sink<'_>,
    ) -> Result<(), EngineError> {
        if let Some(neighbours) = &mut self.neighbours {
            neighbours.follow(&activity);
        }
        match self.gather.activity(thread, activity) {
            Some(complete) => tell(sink, &Frame::Activity(complete)),
            None => Ok(()),
        }
    }

    /// Reports every interval that all lanes have closed.
    fn emit(&mut self, sink: &mut Sink<'_>) -> Result<(), EngineError> {
        while let Some((frames, tallies)) = self.gather.next_complete()? {
            for frame in &frames {
                tell(sink, frame)?;
            }
            let hooks = self.hooks.as_mut();
            if let Some(note) = hooks.and_then(|hooks| hooks.take(&frames, &tallies)) {
                tell(sink, &Frame::Note(note))?;
            }
            for (thread, tally) in tallies {
                self.lanes[thread as usize].tell(Message::GiveBack(tally));
            }
        }
        Ok(())
    }
}

fn outage_frame(news: OutageNews) -> Frame {
    match news {
        OutageNews::Begun { at, message } => {
            Frame::OutageBegun(OutageBegun { at_ns: at.0, message })
        }
        OutageNews::Known(outage) => Frame::Outage(Outage {
            begin_ns: outage.begin.0,
            end_ns: outage.end.map(|end| end.0),
            connections_lost: outage.connections_lost,
            message: outage.message,
        }),
    }
}
