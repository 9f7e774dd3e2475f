//! One client running a script: handles what its coroutine yields, and resumes it with the results.
//!
//! The script handles its own errors: it may catch them, and decides whether its event restarts. An
//! endless loop without a request never returns, and no hook of the interpreter runs once the loop
//! is compiled: a watchdog outside ends such a run.

use super::answer::Ignorable;
use super::ask::Ask;
use super::coroutine::{Coroutine, Entry, Place};
use super::counters::Counter;
use super::exchange::{Exchange, Need, Preparation};
use super::fault::{fault, message_of};
use super::host::Running;
use super::lane::Lane;
use super::program::RUN;
use crate::dist::Unique;
use crate::{Fault, Resume, Session, Step};
use dbdyno_model::{Nanos, Purpose, Stream};
use std::sync::Arc;

/// A client's session of a Lua script.
pub(super) struct LuaSession {
    lane: Arc<Lane>,
    coroutine: Coroutine,
    exchange: Exchange,
}

/// What the session cannot do itself.
enum Wanted {
    /// An exchange with the server.
    Exchange(Need),
    /// Anything else.
    Other(Step<'static>),
}

/// How to proceed when a coroutine has yielded.
enum Turn {
    /// Return to the caller.
    Others(Wanted),
    /// Resume the coroutine, with this answer.
    Script(Option<u32>),
}

impl From<Need> for Turn {
    fn from(need: Need) -> Self {
        Self::Others(Wanted::Exchange(need))
    }
}

impl From<Step<'static>> for Turn {
    fn from(step: Step<'static>) -> Self {
        Self::Others(Wanted::Other(step))
    }
}

impl From<Preparation> for Turn {
    fn from(preparation: Preparation) -> Self {
        match preparation {
            Preparation::Here(number) => Self::Script(Some(number)),
            Preparation::Asked(need) => need.into(),
        }
    }
}

impl LuaSession {
    pub(super) fn new(lane: Arc<Lane>, number: u32, entry: Entry) -> Self {
        let settings = &lane.source.settings;
        let unique = Unique::new(number, settings.clients, settings.seed);
        let chance = Stream::keyed(0, Purpose::Script, 0, 0);
        let coroutine = Coroutine::new(number, Running { chance, unique }, entry);
        let ignorable = settings.argument("mysql_ignore_errors");
        let exchange = Exchange::new(Ignorable::new(settings.driver, ignorable));
        Self { lane, coroutine, exchange }
    }

    /// Continues until the caller has to do something.
    fn advance(&mut self, input: &Resume<'_>) -> Result<Wanted, String> {
        let mut ask = self.go_on(input)?;
        loop {
            match self.turn(ask)? {
                Turn::Others(wanted) => return Ok(wanted),
                Turn::Script(number) => ask = self.coroutine.wake(number)?,
            }
        }
    }

    /// Resumes the coroutine with what it waits for, or starts one.
    fn go_on(&mut self, input: &Resume<'_>) -> Result<Ask, String> {
        let lane = &self.lane;
        match (self.coroutine.place(), input) {
            (Place::Outside(entry), _) => self.coroutine.start(lane, entry),
            (Place::Between, _) => self.coroutine.wake_for_event(),
            (_, Resume::Reply(reply)) => {
                let values = self.exchange.answer(lane, reply);
                self.coroutine.wake(values.map_err(|error| message_of(&error))?)
            }
            _ => self.coroutine.wake(()),
        }
    }

    fn turn(&mut self, ask: Ask) -> Result<Turn, String> {
        let (lane, exchange) = (&self.lane, &mut self.exchange);
        Ok(match ask {
            Ask::Next if self.coroutine.comes_to_event() => Turn::Script(None),
            Ask::Next | Ask::End => Step::Done.into(),
            Ask::Query(sql) => exchange.query(lane, &sql)?.into(),
            Ask::Prepare(sql) => exchange.prepare(lane, &sql)?.into(),
            Ask::Execute(number, values) => exchange.execute(lane, number, values)?.into(),
            Ask::Bind(number, kinds) => {
                exchange.bind(number, &kinds);
                Turn::Script(None)
            }
            Ask::Close(number) => {
                exchange.close(number);
                Turn::Script(None)
            }
            Ask::Sleep(seconds) => Step::Sleep(Nanos((seconds * 1e9) as u64)).into(),
            Ask::Restart => Step::Restart.into(),
            Ask::Reconnect => {
                lane.counters.add(Counter::Reconnect);
                Step::Reconnect.into()
            }
            Ask::Over => {
                self.coroutine.pass_event();
                Turn::Script(None)
            }
            Ask::Stop => Step::Stop { is_over: self.coroutine.place() == Place::Past }.into(),
            Ask::Fault(message) => return Err(message),
        })
    }

    /// A command is a transaction without setup or teardown.
    fn is_of_a_command(&self) -> bool {
        self.lane.source.settings.command != RUN
    }
}

impl Session for LuaSession {
    /// Only together with its whole Lua state.
    fn can_move(&self) -> bool {
        Arc::strong_count(&self.lane) == 1
    }

    fn begin(&mut self, _script: usize, chance: Stream) {
        self.coroutine.begin_event(chance);
    }

    fn restart(&mut self) {}

    fn handles_own_errors(&self) -> bool {
        true
    }

    fn set_up(&mut self, chance: Stream) -> bool {
        let enters = !self.is_of_a_command();
        if enters {
            self.coroutine.begin_at(Entry::Enter, chance);
        }
        enters
    }

    fn tear_down(&mut self, chance: Stream) -> bool {
        let leaves = !self.is_of_a_command() && self.coroutine.has_lived();
        if leaves {
            self.coroutine.begin_at(Entry::Leave, chance);
        }
        leaves
    }

    fn resume(&mut self, input: Resume<'_>) -> Result<Step<'_>, Fault> {
        match self.advance(&input) {
            Ok(Wanted::Exchange(need)) => Ok(self.exchange.step(need)),
            Ok(Wanted::Other(step)) => Ok(step),
            Err(message) => {
                self.coroutine.abandon();
                Err(fault(&message, &self.lane.source.name))
            }
        }
    }
}
