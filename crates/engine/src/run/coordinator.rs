//! Coordinates the lanes of a run, and writes what they report as frames in order of time.
//!
//! It waits until all clients are connected and its caller lets the load begin, and from then on
//! handles reports.
//! `aggregator` adds them up; nothing about the load is decided here.

use super::aggregator::{Aggregator, fault_message};
use super::colocation::{Colocation, Move, TaskOf};
use super::hooks::{Hooks, counted};
use super::hopeless::hopeless_message;
use super::lanes::LaneHandle;
use super::pauses;
use super::{Engine, emit};
use crate::lane::{ConnectedLane, LaneEnd, Message, Report};
use crate::{EngineError, Sink, clock};
use dbdyno_hist::frame::{
    Connected, Frame, Note, Outage, OutageBegun, PartBegun, PartConnected, Started, Statement,
};
use dbdyno_hist::{Activity, Latencies};
use dbdyno_load::{HopelessScript, OutageEvent, Timeline};
use dbdyno_model::{Nanos, Protocol};
use dbdyno_script::Fault;
use std::collections::BTreeSet;
use std::time::Duration;

/// Time between the decision to start or stop and its effect: enough for every lane to receive the
/// message.
const LEAD_TIME: Nanos = Nanos::from_millis(50);

/// SQLSTATE of a table that does not exist, on MySQL servers and PostgreSQL.
const MISSING_TABLE: [&str; 2] = ["42S02", "42P01"];

/// Coordinates the lanes of a run.
pub(super) struct Coordinator<'a> {
    engine: &'a Engine,
    lanes: &'a [LaneHandle],
    aggregator: Aggregator,
    hooks: Option<Hooks<'a>>,
    /// Of the lanes that are connected.
    connected_lanes: Vec<ConnectedLane>,
    /// The timeline of the load, once it has started.
    timeline: Option<Timeline>,
    /// When each lane let its first clients go.
    begun: Vec<Nanos>,
    colocation: Option<Colocation>,
    /// Which task serves each session, until the load begins.
    task_of: Option<TaskOf>,
    /// How many of the statements discovered during the run have been reported.
    statements_emitted: usize,
    /// The lanes that have reported since the last `Connecting` frame.
    connecting: BTreeSet<u32>,
    /// Why nobody wants the run any more.
    abandoned: Option<String>,
}

impl<'a> Coordinator<'a> {
    pub(super) fn new(engine: &'a Engine, lanes: &'a [LaneHandle]) -> Result<Self, EngineError> {
        let hooks = Hooks::of(&engine.program, &engine.plan);
        let sessions_are_tasks = engine.plan.endpoint.protocol == Protocol::Postgresql;
        Ok(Self {
            engine,
            lanes,
            aggregator: Aggregator::new(engine.shape(), &engine.plan),
            hooks: hooks.map_err(|problem| EngineError::bad_script(&[problem]))?,
            connected_lanes: Vec::new(),
            timeline: None,
            begun: Vec::new(),
            colocation: None,
            task_of: sessions_are_tasks.then(|| Box::new(Some) as TaskOf),
            statements_emitted: 0,
            connecting: BTreeSet::new(),
            abandoned: None,
        })
    }

    /// Runs to the end, and writes all frames to `sink`.
    pub(super) fn run(mut self, sink: &mut Sink<'_>) -> Result<(), EngineError> {
        while !self.aggregator.all_over() {
            let Some(report) = self.next_report() else {
                self.move_clients();
                continue;
            };
            self.emit_new_statements(sink)?;
            self.handle(report, sink)?;
        }
        self.finish(sink)
    }

    fn handle(&mut self, report: Report, sink: &mut Sink<'_>) -> Result<(), EngineError> {
        match report {
            Report::Connecting(thread) => self.connecting(thread, sink),
            // The last lane may have connected just when the run was stopped.
            Report::Connected(_) if self.aggregator.interrupted => Ok(()),
            Report::Connected(lane) => self.lane_connected(lane, sink),
            Report::Begin(at) => self.begin(at, sink),
            Report::Begun(at) => self.lane_begun(at, sink),
            Report::SessionTasks(tasks) => {
                self.start_colocation(Box::new(move |session| tasks.get(&session).copied()));
                Ok(())
            }
            Report::ClientDeparted { to, moving } => {
                self.aggregator.clients_moved += 1;
                if let Some(colocation) = &mut self.colocation {
                    colocation.moved(moving.client.number(), to as usize);
                }
                self.lanes[to as usize].send(Message::ClientArrived(moving));
                Ok(())
            }
            Report::IntervalClosed(thread, closed) => {
                self.aggregator.closed(thread, closed);
                self.emit_intervals(sink)
            }
            Report::Activities(thread, activities) => self.activities(thread, activities, sink),
            Report::Notice(at, text) => {
                emit(sink, &Frame::Note(Note { at_ns: at.0, source: "server", text }))
            }
            Report::Outage(event) => emit(sink, &outage_frame(event)),
            Report::Hopeless(hopeless) => {
                self.aggregator.hopeless.get_or_insert(self.hopeless_message(&hopeless));
                self.end_at(soon());
                Ok(())
            }
            Report::Over(thread, end) => self.lane_over(thread, *end, sink),
            Report::CancelFailed(thread, why) => {
                self.aggregator.cancel_failed(thread, why);
                Ok(())
            }
            Report::Stop(at) => {
                self.aggregator.interrupted = true;
                self.end_at(at.unwrap_or_else(soon));
                Ok(())
            }
            Report::Abandon(why) => {
                self.abandoned.get_or_insert(why);
                self.send_to_lanes(|| Message::Abandon);
                Ok(())
            }
        }
    }

    /// All clients of a lane are connected; after the last lane the load may begin.
    fn lane_connected(
        &mut self,
        lane: ConnectedLane,
        sink: &mut Sink<'_>,
    ) -> Result<(), EngineError> {
        self.connected_lanes.push(lane);
        self.connecting.clear();
        if self.connected_lanes.len() == self.lanes.len() {
            emit(sink, &self.connected())?;
        }
        Ok(())
    }

    /// A lane has begun; after the last one, it is known how late this part of a load was.
    fn lane_begun(&mut self, at: Nanos, sink: &mut Sink<'_>) -> Result<(), EngineError> {
        self.begun.push(at);
        let Some(timeline) = &self.timeline else { return Ok(()) };
        let is_last = self.begun.len() == self.lanes.len();
        let Some(&latest) = self.begun.iter().max().filter(|_| is_last) else { return Ok(()) };
        if !self.engine.plan.is_shared() {
            return Ok(());
        }
        emit(sink, &Frame::PartBegun(PartBegun { late_ns: (latest - timeline.start()).0 }))
    }

    /// It is known which task serves each session: clients may move to that task's processor.
    fn start_colocation(&mut self, task_of: TaskOf) {
        let Some(timeline) = &self.timeline else {
            self.task_of = Some(task_of);
            return;
        };
        let (plan, start) = (&self.engine.plan, timeline.start());
        self.colocation = Colocation::new(plan, &self.connected_lanes, task_of, start);
    }

    fn lane_over(
        &mut self,
        thread: u32,
        end: LaneEnd,
        sink: &mut Sink<'_>,
    ) -> Result<(), EngineError> {
        self.fail_early(&end)?;
        if end.broken.is_some() {
            self.end_at(soon());
        }
        self.aggregator.over(thread, end);
        self.emit_intervals(sink)
    }

    fn finish(mut self, sink: &mut Sink<'_>) -> Result<(), EngineError> {
        if let Some(why) = self.abandoned.take() {
            return Err(EngineError::new("abandoned", why, ""));
        }
        if let Some(window) = self.aggregator.last_window() {
            emit(sink, &window)?;
        }
        let engine = self.engine;
        let counters = engine.program.counters();
        let done = self.aggregator.done(&engine.plan, counters, self.timeline.as_ref());
        if let Some(note) = self.hooks.take().and_then(|hooks| hooks.end(Nanos(done.measured_ns))) {
            emit(sink, &Frame::Note(note))?;
        }
        emit(sink, &Frame::Done(Box::new(done)))
    }

    /// None when it may be time to check for clients to move.
    fn next_report(&mut self) -> Option<Report> {
        // The engine holds a sender itself, so the channel never closes before its end.
        let reports = &self.engine.reports.1;
        if self.timeline.is_none() {
            return Some(reports.recv().unwrap_or(Report::Stop(None)));
        }
        let next_check = self.colocation.as_ref().map_or(Nanos::MAX, Colocation::next_check);
        let begin = clock::now();
        let due = pauses::wake_at(begin, next_check);
        let report = reports.recv_timeout(Duration::from_nanos((due - begin).0)).ok();
        self.aggregator.pauses.woke(due, clock::now());
        report
    }

    fn move_clients(&mut self) {
        let now = clock::now();
        let Some(colocation) = self.colocation.as_mut().filter(|it| it.next_check() <= now) else {
            return;
        };
        for Move { client, to } in colocation.check(now) {
            self.send_to_lanes(|| Message::MoveClient { client: client as u64, to: to as u32 });
        }
    }

    /// Reports that all lanes are alive, once every one that is not connected yet has said so.
    fn connecting(&mut self, thread: u32, sink: &mut Sink<'_>) -> Result<(), EngineError> {
        self.connecting.insert(thread);
        if self.connecting.len() + self.connected_lanes.len() < self.lanes.len() {
            return Ok(());
        }
        self.connecting.clear();
        emit(sink, &Frame::Connecting)
    }

    /// Reports newly discovered statements, before any frame that refers to them.
    fn emit_new_statements(&mut self, sink: &mut Sink<'_>) -> Result<(), EngineError> {
        for statement in self.engine.program.new_statements(self.statements_emitted) {
            let number = self.statements_emitted as u32;
            let frame = Statement {
                statement: number,
                script: statement.script,
                connection: statement.connection.0,
                server: statement.server,
                sql: statement.source,
                example: statement.sql,
            };
            emit(sink, &Frame::Statement(frame))?;
            self.statements_emitted += 1;
        }
        Ok(())
    }

    fn hopeless_message(&self, hopeless: &HopelessScript) -> String {
        let script = &self.engine.plan.scripts[hopeless.script].name;
        let statement = self.engine.program.statement(hopeless.statement);
        hopeless_message(script, statement.as_ref(), &hopeless.error)
    }

    /// Ends the run at this instant, unless it ends sooner.
    fn end_at(&mut self, at: Nanos) {
        if let Some(timeline) = &mut self.timeline {
            timeline.stop_at(at);
        }
        self.send_to_lanes(|| Message::Stop(at));
    }

    fn send_to_lanes(&self, message: impl Fn() -> Message) {
        self.lanes.iter().for_each(|lane| lane.send(message()));
    }

    fn connected(&self) -> Frame {
        let mut connects = Latencies::default();
        for lane in &self.connected_lanes {
            connects.merge(&lane.connects);
        }
        // All clients of a lane may begin with further servers, which are not described.
        let first = self.connected_lanes.iter().find(|lane| !lane.server_version.is_empty());
        let backends = self.connected_lanes.iter().flat_map(|lane| lane.backends.iter().copied());
        let part = PartConnected {
            server_version: first.map(|lane| lane.server_version.clone()).unwrap_or_default(),
            tls: first.map(|lane| lane.tls.clone()).unwrap_or_default(),
            connects,
            backends: backends.collect(),
        };
        let plan = &self.engine.plan;
        if plan.is_shared() {
            return Frame::PartConnected(part);
        }
        Frame::Connected(Connected::of(plan.clients, &[part]))
    }

    /// Before the load has started, the failure of one lane fails the run.
    fn fail_early(&self, end: &LaneEnd) -> Result<(), EngineError> {
        if self.timeline.is_some() {
            return Ok(());
        }
        if let Some((client, fault)) = end.worker.faults.first() {
            let message = fault_message(&self.engine.plan, *client, fault);
            return Err(EngineError::new("bad_script", message, self.hint_for(fault)));
        }
        if let Some(error) = &end.worker.fatal {
            return Err(EngineError::cannot_connect(self.engine.plan.endpoint.protocol, error));
        }
        match &end.broken {
            Some(message) => Err(EngineError::new("io", message.clone(), "")),
            None => Ok(()),
        }
    }

    /// Only a missing table is created by `dbdyno load`: the script itself has any other error.
    fn hint_for(&self, fault: &Fault) -> &'static str {
        let runs = self.engine.plan.lua.as_ref().is_some_and(|lua| lua.command == "run");
        let is_missing =
            fault.sqlstate.as_deref().is_some_and(|state| MISSING_TABLE.contains(&state));
        if runs && is_missing { "dbdyno load creates the tables of a sysbench script" } else { "" }
    }

    /// Starts the load, at this instant or a moment from now, unless the run was stopped meanwhile.
    fn begin(&mut self, at: Option<Nanos>, sink: &mut Sink<'_>) -> Result<(), EngineError> {
        let all_connected = self.connected_lanes.len() == self.lanes.len();
        if !all_connected || self.timeline.is_some() || self.aggregator.interrupted {
            return Ok(());
        }
        let start = at.unwrap_or_else(soon);
        let timeline = Timeline::new(&self.engine.plan, start);
        self.send_to_lanes(|| Message::Start(timeline.clone()));
        self.aggregator.load_begins();
        let end = timeline.measure_end();
        let started = Started {
            monotonic_ns: start.0,
            unix_ns: (clock::unix_now() + (start - clock::now())).0,
            measure_begin_ns: timeline.measure_begin().0,
            measure_end_ns: (end != Nanos::MAX).then_some(end.0),
        };
        self.timeline = Some(timeline);
        if let Some(task_of) = self.task_of.take() {
            self.start_colocation(task_of);
        }
        emit(sink, &Frame::Started(started))
    }

    /// Adds what one lane's clients were doing; reports the snapshots that are now complete.
    fn activities(
        &mut self,
        thread: u32,
        activities: Vec<Activity>,
        sink: &mut Sink<'_>,
    ) -> Result<(), EngineError> {
        if let (Some(colocation), Some(last)) = (&mut self.colocation, activities.last()) {
            colocation.update_sessions(last);
        }
        let complete = self.aggregator.activities(thread, activities);
        complete.into_iter().try_for_each(|frame| emit(sink, &Frame::Activity(frame)))
    }

    /// Reports every interval that all lanes have closed.
    fn emit_intervals(&mut self, sink: &mut Sink<'_>) -> Result<(), EngineError> {
        while let Some((mut frames, tallies)) = self.aggregator.next_complete()? {
            for frame in &mut frames {
                if let Frame::Transactions(transactions) = frame {
                    transactions.counted = counted(&self.engine.program).to_vec();
                }
                emit(sink, frame)?;
            }
            let hooks = self.hooks.as_mut();
            if let Some(note) = hooks.and_then(|hooks| hooks.take(&frames, &tallies)) {
                emit(sink, &Frame::Note(note))?;
            }
            for (lane, tally) in tallies {
                self.lanes[lane].send(Message::ReuseTally(tally));
            }
        }
        Ok(())
    }
}

/// An instant that every lane learns of before.
fn soon() -> Nanos {
    clock::now() + LEAD_TIME
}

fn outage_frame(event: OutageEvent) -> Frame {
    match event {
        OutageEvent::Begun { at, message } => {
            Frame::OutageBegun(OutageBegun { at_ns: at.0, message })
        }
        OutageEvent::Closed(outage) => Frame::Outage(Outage {
            begin_ns: outage.begin.0,
            end_ns: outage.end.map(|end| end.0),
            connections_lost: outage.connections_lost,
            message: outage.message,
        }),
    }
}
