//! One client running a script: handles what its coroutine yields, and resumes it with the results.
//!
//! The script handles its own errors: it may catch them, and decides whether its event restarts. An
//! endless loop without a request never returns, and no hook of the interpreter runs once the loop
//! is compiled: a watchdog outside ends such a run.

use super::answer::Ignorable;
use super::coroutine::{Coroutine, CoroutineState, Entry};
use super::counters::Counter;
use super::exchange::{Exchange, Outgoing, Preparation};
use super::fault::{Failure, fault, message_of};
use super::host::ClientContext;
use super::source::RUN;
use super::state::State;
use super::statements::Way;
use super::yielded::Yielded;
use crate::dist::Unique;
use crate::{Execution, Fault, Resume, Step};
use dbdyno_model::{ConnectionId, Nanos, Purpose, Stream, server_of};
use std::sync::Arc;

/// A client's execution of a Lua script.
pub(super) struct LuaExecution {
    state: Arc<State>,
    coroutine: Coroutine,
    exchange: Exchange,
    /// The client's number.
    number: u32,
    /// How often the client has connected since its setup, its first connection included.
    connects: u64,
    /// The server of each connection that was ever open.
    servers: Vec<u32>,
}

/// What the execution cannot do itself.
enum Wanted {
    /// An exchange with the server.
    Exchange(Outgoing),
    /// Anything else.
    Other(Step<'static>),
}

/// How to proceed when a coroutine has yielded.
enum Next {
    /// Return to the caller.
    Return(Wanted),
    /// Resume the coroutine, with this answer.
    Resume(Option<u32>),
}

impl From<Outgoing> for Next {
    fn from(outgoing: Outgoing) -> Self {
        Self::Return(Wanted::Exchange(outgoing))
    }
}

impl From<Step<'static>> for Next {
    fn from(step: Step<'static>) -> Self {
        Self::Return(Wanted::Other(step))
    }
}

impl From<Preparation> for Next {
    fn from(preparation: Preparation) -> Self {
        match preparation {
            Preparation::Known(number) => Self::Resume(Some(number)),
            Preparation::Send(outgoing) => outgoing.into(),
        }
    }
}

impl LuaExecution {
    pub(super) fn new(state: Arc<State>, number: u32, entry: Entry) -> Self {
        let settings = &state.source.settings;
        let unique = Unique::new(number, settings.clients, settings.seed);
        let chance = Stream::keyed(0, Purpose::Script, 0, 0);
        let coroutine =
            Coroutine::new(number, ClientContext { chance, unique, seeded: None }, entry);
        let ignorable = settings.argument("mysql_ignore_errors");
        let exchange = Exchange::new(Ignorable::new(settings.driver, ignorable));
        let mut execution =
            Self { state, coroutine, exchange, number, connects: 0, servers: Vec::new() };
        execution.begin_with_first_connection();
        execution
    }

    /// The client has the connection that the engine makes, and no other.
    fn begin_with_first_connection(&mut self) {
        self.connects = 0;
        self.exchange.forget_prepared();
        self.connect(ConnectionId::FIRST);
    }

    /// Connects to the server whose turn it is. The connection may have the number of one that was
    /// collected as garbage.
    fn connect(&mut self, connection: ConnectionId) -> Step<'static> {
        self.exchange.disconnect(connection);
        let place = connection.0 as usize;
        let server =
            server_of(self.state.source.settings.servers, self.number.into(), self.connects);
        self.connects += 1;
        self.servers.resize(self.servers.len().max(place + 1), 0);
        self.servers[place] = server;
        Step::Connect { connection, server }
    }

    /// The way of a statement on this connection.
    fn way(&self, connection: ConnectionId) -> Way {
        let server = self.servers.get(connection.0 as usize).copied().unwrap_or_default();
        Way { connection, server }
    }

    /// Continues until the caller has to do something.
    fn advance(&mut self, input: &Resume<'_>) -> Result<Wanted, Failure> {
        let mut yielded = self.resume_coroutine(input)?;
        loop {
            match self.handle(yielded)? {
                Next::Return(wanted) => return Ok(wanted),
                Next::Resume(number) => yielded = self.coroutine.resume(number)?,
            }
        }
    }

    /// Resumes the coroutine with what it waits for, or starts one.
    fn resume_coroutine(&mut self, input: &Resume<'_>) -> Result<Yielded, String> {
        let state = &self.state;
        match (self.coroutine.state(), input) {
            (CoroutineState::NotStarted(entry), _) => self.coroutine.start(state, entry),
            (CoroutineState::BetweenEvents, _) => self.coroutine.resume_into_event(),
            (_, Resume::Reply(reply)) => {
                let values = self.exchange.answer(state, reply);
                self.coroutine.resume(values.map_err(|error| message_of(&error))?)
            }
            _ => self.coroutine.resume(()),
        }
    }

    fn handle(&mut self, yielded: Yielded) -> Result<Next, Failure> {
        let exchange = &mut self.exchange;
        Ok(match yielded {
            Yielded::Next if self.coroutine.accept_event() => Next::Resume(None),
            Yielded::Next | Yielded::End => Step::Done.into(),
            Yielded::Query(connection, sql) => {
                let way = self.way(connection);
                self.exchange.query(&self.state, way, &sql)?.into()
            }
            Yielded::Prepare(connection, sql) => {
                let way = self.way(connection);
                self.exchange.prepare(&self.state, way, &sql)?.into()
            }
            Yielded::Execute(number, values) => {
                exchange.execute(&self.state, number, values)?.into()
            }
            Yielded::Bind(number, kinds) => {
                exchange.bind(number, &kinds);
                Next::Resume(None)
            }
            Yielded::Close(number) => {
                exchange.close(number);
                Next::Resume(None)
            }
            Yielded::Sleep(seconds) => Step::Sleep(Nanos((seconds * 1e9) as u64)).into(),
            Yielded::Restart => Step::Restart.into(),
            Yielded::Connect(connection) => self.connect(connection).into(),
            Yielded::Reconnect(connection) => {
                self.state.counters.add(Counter::Reconnect);
                let Way { connection, server } = self.way(connection);
                Step::Connect { connection, server }.into()
            }
            Yielded::Disconnect(connection) => {
                exchange.disconnect(connection);
                Step::Disconnect(connection).into()
            }
            Yielded::Over => {
                self.coroutine.end_event();
                Next::Resume(None)
            }
            Yielded::Stop => {
                Step::Stop { is_over: self.coroutine.state() == CoroutineState::EventOver }.into()
            }
            Yielded::Fault(failure) => return Err(failure),
        })
    }

    /// A command is a transaction without setup or teardown.
    fn runs_command(&self) -> bool {
        self.state.source.settings.command != RUN
    }
}

impl Execution for LuaExecution {
    /// Only together with its whole Lua state.
    fn can_move(&self) -> bool {
        Arc::strong_count(&self.state) == 1
    }

    fn begin(&mut self, _script: usize, chance: Stream) {
        self.coroutine.begin_event(chance);
    }

    fn restart(&mut self) {}

    fn handles_own_errors(&self) -> bool {
        true
    }

    fn set_up(&mut self, chance: Stream) -> bool {
        let enters = !self.runs_command();
        if enters {
            self.begin_with_first_connection();
            self.coroutine.begin_at(Entry::ThreadInit, chance);
        }
        enters
    }

    fn tear_down(&mut self, chance: Stream) -> bool {
        let leaves = !self.runs_command() && self.coroutine.was_loaded();
        if leaves {
            self.coroutine.begin_at(Entry::ThreadDone, chance);
        }
        leaves
    }

    fn connection_left(&mut self) {
        if !self.runs_command() {
            self.begin_with_first_connection();
            self.coroutine.begin_anew();
        }
    }

    fn resume(&mut self, input: Resume<'_>) -> Result<Step<'_>, Fault> {
        match self.advance(&input) {
            Ok(Wanted::Exchange(outgoing)) => Ok(self.exchange.step(outgoing)),
            Ok(Wanted::Other(step)) => Ok(step),
            Err(failure) => {
                self.coroutine.abandon();
                Err(fault(failure, &self.state.source.name))
            }
        }
    }
}
