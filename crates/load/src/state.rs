//! The states of a client and its legal moves, which are one table: [`State::after`].
//!
//! A state owns what only it has: a transaction exists only in states that are part of one. Nothing
//! here acts. What a move means for connections, counters and alarms is decided by a turn of the
//! worker; that it is legal, here. A pair of state and input that the table does not contain is a
//! defect, and named.

use dbdyno_model::Nanos;

/// The state of a client.
#[derive(Clone, Copy, Debug)]
pub(crate) enum State {
    /// Not connected and not connecting: waits for its turn to connect, or for the alarm that ends
    /// its pause after a failed attempt.
    Unconnected(Errand),
    /// Connecting since this instant.
    Connecting { since: Nanos, errand: Errand },
    /// Without a transaction, and about to decide what comes next. No client is in this state
    /// between two events.
    Ready {
        /// Whether its think time is over.
        has_thought: bool,
    },
    /// Waits for a transaction to become due, since this instant.
    Idle { since: Nanos },
    /// Think time between two transactions, until its alarm.
    Thinking,
    /// After a transaction without requests, until the clock has advanced.
    Yielding,
    /// Moves to another thread as soon as its connection can.
    Moving,
    /// Its script runs. No client is in this state between two events.
    Running(Work),
    /// Waits for a reply.
    AwaitingReply(Work),
    /// The script sleeps, until its alarm.
    Sleeping(Work),
    /// A shell command of the script is running.
    InShell(Work),
    /// The try failed and left its block open; waits for the reply to ROLLBACK.
    RollingBack {
        work: Work,
        /// Whether the transaction is retried.
        retry: bool,
    },
    /// The run is over and the server was asked to cancel; waits for its last reply.
    Cancelling,
    /// Done: there is no further state.
    Finished,
}

/// What a client's script is doing.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Work {
    /// What it does once on a new connection, before any transaction.
    Setup,
    Transaction(Transaction),
    /// What it does after its last transaction; the client is finished then.
    Teardown,
}

/// What a client needs its connection for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Errand {
    /// The script's setup: it has not run, or the connection it ran on was lost.
    SetUp,
    /// The next transaction.
    Next,
    /// The script, which waits for the connection.
    GoOn(Work),
}

/// The transaction a client is in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transaction {
    pub(crate) script: usize,
    /// Index among the client's transactions (closed loop), or number of the arrival (open loop).
    pub(crate) number: u64,
    pub(crate) due: Nanos,
    /// When its first request was sent.
    pub(crate) sent: Option<Nanos>,
    pub(crate) tries: u32,
    /// When its latest try began.
    pub(crate) try_began: Nanos,
    /// Whether it was due in the measured part of the run.
    pub(crate) measured: bool,
}

/// What happens to a client, or what it does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Input {
    /// It begins to connect, at this instant.
    Connects(Nanos),
    /// The connection is made.
    Connected,
    /// The connection could not be made.
    ConnectFailed,
    /// A connection was lost.
    Lost,
    /// After a loss: its script's setup has to run again.
    StartsAnew,
    /// The script's setup begins.
    SetsUp,
    /// A transaction begins.
    Begins(Transaction),
    /// A request was sent whose reply the script waits for.
    Asks,
    /// The reply has come.
    Replied,
    /// The server wants rows of a COPY.
    RowsWanted,
    /// The script pauses.
    Sleeps,
    /// The script calls a shell command.
    CallsShell,
    /// The shell command has ended.
    ShellEnded,
    /// The try has failed, and its block is rolled back.
    RollsBack { retry: bool },
    /// The script has ended: its setup, or the transaction.
    Ends,
    /// The transaction has failed for good.
    Fails,
    /// Nothing is due, since this instant.
    Waits(Nanos),
    /// The think time begins.
    Thinks,
    /// Its transaction is put into a queue, for an executor.
    Defers,
    /// The clock has to advance.
    Yields,
    /// Its connection is released, for another thread.
    Moves,
    /// It has arrived in its thread, or cannot leave it.
    Arrives,
    /// A stage of the run begins.
    StageBegins,
    /// The alarm of its state.
    PauseOver,
    /// The script's teardown begins.
    TearsDown,
    /// The server is asked to cancel what it executes.
    Cancels,
    /// It runs nothing any more.
    Finishes,
}

impl State {
    /// The state after an input: the table of legal moves. None if the input is impossible there.
    #[inline(always)] // the input is known: of the table, one arm remains
    #[expect(clippy::match_same_arms, reason = "one move a line")]
    #[rustfmt::skip] // one move a line
    pub(crate) fn after(self, input: Input) -> Option<Self> {
        use Errand::{GoOn, Next, SetUp};
        use Input::{
            Arrives, Asks, Begins, CallsShell, Cancels, ConnectFailed, Connected, Connects, Defers,
            Ends, Fails, Finishes, Lost, Moves, PauseOver, Replied, RollsBack, RowsWanted, SetsUp,
            ShellEnded, Sleeps, StageBegins, StartsAnew, TearsDown, Thinks, Waits, Yields,
        };
        use State::{
            AwaitingReply, Cancelling, Connecting, Finished, Idle, InShell, Moving, Ready,
            RollingBack, Running, Sleeping, Thinking, Unconnected, Yielding,
        };
        use Work::{Setup, Teardown, Transaction};
        let between = Ready { has_thought: false };
        Some(match (self, input) {
            // Its connection.
            (Unconnected(errand), Connects(since)) => Connecting { since, errand },
            (Running(work), Connects(since)) => Connecting { since, errand: GoOn(work) },
            (Connecting { errand: SetUp | Next, .. }, Connected) => between,
            (Connecting { errand: GoOn(work), .. }, Connected) => Running(work),
            (Connecting { errand, .. }, ConnectFailed | Lost) => Unconnected(errand),
            (Unconnected(errand), Lost) => Unconnected(errand),
            (Idle { .. } | Thinking | Yielding | Moving, Lost) => Unconnected(Next),
            (AwaitingReply(work) | Sleeping(work) | InShell(work), Lost) => Unconnected(GoOn(work)),
            (RollingBack { work, .. }, Lost) => Unconnected(GoOn(work)),
            (Unconnected(GoOn(Transaction(_))), Fails) => Unconnected(Next),
            (Unconnected(SetUp | Next | GoOn(Setup)), StartsAnew) => Unconnected(SetUp),

            // Between two transactions.
            (Ready { .. }, SetsUp) => Running(Setup),
            (Ready { .. } | Idle { .. }, Begins(transaction)) => Running(Transaction(transaction)),
            (Ready { .. }, Waits(since)) => Idle { since },
            (Ready { has_thought: false }, Thinks) => Thinking,
            (Ready { .. }, Defers) => between,
            (Ready { .. }, Yields) => Yielding,
            (Ready { .. }, Moves) => Moving,
            (Idle { .. }, StageBegins) => between,
            (Thinking, PauseOver) => Ready { has_thought: true },
            (Yielding, PauseOver) => between,
            (Moving, Arrives) => between,

            // In its script.
            (Running(work), Asks) => AwaitingReply(work),
            (Running(work), Sleeps) => Sleeping(work),
            (Running(work), CallsShell) => InShell(work),
            (Running(work), RollsBack { retry }) => RollingBack { work, retry },
            (AwaitingReply(work), Replied | RowsWanted) => Running(work),
            (Sleeping(work), PauseOver) => Running(work),
            (InShell(work), ShellEnded) => Running(work),
            (RollingBack { work, .. }, Replied) => Running(work),
            (Running(Setup | Transaction(_)), Ends) => between,
            (Running(Transaction(_)), Fails) => between,

            // Its end.
            (Ready { .. } | Idle { .. } | Thinking | Yielding | Moving, TearsDown) => Running(Teardown),
            (Unconnected(Next), TearsDown) => Running(Teardown),
            (AwaitingReply(_) | RollingBack { .. }, Cancels) => Cancelling,
            (Unconnected(_) | Connecting { .. } | Ready { .. } | Idle { .. }, Finishes) => Finished,
            (Thinking | Yielding | Moving | Running(_) | AwaitingReply(_), Finishes) => Finished,
            (Sleeping(_) | InShell(_) | RollingBack { .. } | Cancelling, Finishes) => Finished,
            _ => return None,
        })
    }

    /// What its script is doing, or does once it is connected.
    #[inline]
    fn work(&self) -> Option<&Work> {
        match self {
            Self::Unconnected(Errand::GoOn(work))
            | Self::Connecting { errand: Errand::GoOn(work), .. }
            | Self::Running(work)
            | Self::AwaitingReply(work)
            | Self::Sleeping(work)
            | Self::InShell(work)
            | Self::RollingBack { work, .. } => Some(work),
            Self::Unconnected(Errand::SetUp | Errand::Next)
            | Self::Connecting { errand: Errand::SetUp | Errand::Next, .. }
            | Self::Ready { .. }
            | Self::Idle { .. }
            | Self::Thinking
            | Self::Yielding
            | Self::Moving
            | Self::Cancelling
            | Self::Finished => None,
        }
    }

    #[inline]
    pub(crate) fn transaction(&self) -> Option<&Transaction> {
        match self.work() {
            Some(Work::Transaction(transaction)) => Some(transaction),
            Some(Work::Setup | Work::Teardown) | None => None,
        }
    }

    /// The transaction, while its script runs.
    #[inline]
    pub(crate) fn running_transaction(&mut self) -> Option<&mut Transaction> {
        match self {
            Self::Running(Work::Transaction(transaction)) => Some(transaction),
            _ => None,
        }
    }

    /// Whether its script's setup is done, or the script has none.
    pub(crate) fn is_set_up(&self) -> bool {
        match self {
            Self::Unconnected(Errand::SetUp) | Self::Connecting { errand: Errand::SetUp, .. } => {
                false
            }
            _ => !matches!(self.work(), Some(Work::Setup)),
        }
    }

    pub(crate) fn is_tearing_down(&self) -> bool {
        matches!(self.work(), Some(Work::Teardown))
    }

    /// Whether its script is set up, and no transaction is under way.
    pub(crate) fn is_between_transactions(&self) -> bool {
        matches!(
            self,
            Self::Ready { .. }
                | Self::Idle { .. }
                | Self::Thinking
                | Self::Yielding
                | Self::Moving
                | Self::Unconnected(Errand::Next)
        )
    }

    /// Whether it waits for an answer of the server.
    pub(crate) fn awaits_server(&self) -> bool {
        matches!(self, Self::AwaitingReply(_) | Self::RollingBack { .. } | Self::Cancelling)
    }

    /// Whether it waits for a connection.
    pub(crate) fn awaits_connection(&self) -> bool {
        matches!(self, Self::Unconnected(_) | Self::Connecting { .. })
    }

    pub(crate) fn is_finished(&self) -> bool {
        matches!(self, Self::Finished)
    }

    /// Ignores an event that the client does not wait for. It comes too late if the client has
    /// ended or given its connection up just before, when the worker looked at the time. Anywhere
    /// else whoever sends the event breaks the contract of [`crate::Port`].
    pub(crate) fn ignore(&self, late: Input) {
        let may_be_late = matches!(self, Self::Unconnected(_) | Self::Finished);
        debug_assert!(may_be_late, "{late:?} cannot happen to a client that is {self:?}");
    }
}

/// Whether a client can go on at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Then {
    GoOn,
    /// It waits for an event, or is finished.
    Wait,
}

#[cfg(test)]
mod tests {
    use super::{Errand, Input, State, Transaction, Work};
    use dbdyno_model::Nanos;
    use std::collections::BTreeMap;
    use std::fmt::Write as _;

    const NOW: Nanos = Nanos(7);
    const TRANSACTION: Transaction = Transaction {
        script: 0,
        number: 0,
        due: NOW,
        sent: None,
        tries: 1,
        try_began: NOW,
        measured: true,
    };

    /// Each state in all of its forms, in the order of the declaration.
    fn states() -> Vec<State> {
        let works = [Work::Setup, Work::Transaction(TRANSACTION), Work::Teardown];
        let errands = || [Errand::SetUp, Errand::Next].into_iter().chain(works.map(Errand::GoOn));
        let connecting = |errand| State::Connecting { since: NOW, errand };
        let rolling_back = |work| State::RollingBack { work, retry: false };
        let ready = [false, true].map(|has_thought| State::Ready { has_thought });
        let mut states: Vec<State> = Vec::new();
        states.extend(errands().map(State::Unconnected));
        states.extend(errands().map(connecting));
        states.extend(ready);
        states.extend([
            State::Idle { since: NOW },
            State::Thinking,
            State::Yielding,
            State::Moving,
        ]);
        states.extend(works.map(State::Running));
        states.extend(works.map(State::AwaitingReply));
        states.extend(works.map(State::Sleeping));
        states.extend(works.map(State::InShell));
        states.extend(works.map(rolling_back));
        states.extend([State::Cancelling, State::Finished]);
        states
    }

    const INPUTS: [Input; 26] = [
        Input::Connects(NOW),
        Input::Connected,
        Input::ConnectFailed,
        Input::Lost,
        Input::StartsAnew,
        Input::SetsUp,
        Input::Begins(TRANSACTION),
        Input::Asks,
        Input::Replied,
        Input::RowsWanted,
        Input::Sleeps,
        Input::CallsShell,
        Input::ShellEnded,
        Input::RollsBack { retry: false },
        Input::Ends,
        Input::Fails,
        Input::Waits(NOW),
        Input::Thinks,
        Input::Defers,
        Input::Yields,
        Input::Moves,
        Input::Arrives,
        Input::StageBegins,
        Input::PauseOver,
        Input::TearsDown,
        Input::Cancels,
    ];

    /// The word that names a state or an input.
    fn word(named: impl std::fmt::Debug) -> String {
        let text = format!("{named:?}");
        text.split(|letter: char| !letter.is_alphanumeric()).next().unwrap_or_default().to_owned()
    }

    /// The diagram of `docs/client.md`: for each state, where it leads, and on what.
    fn diagram() -> String {
        let mut moves: Vec<(String, BTreeMap<String, Vec<String>>)> = Vec::new();
        for state in states() {
            if moves.last().is_none_or(|(last, _)| *last != word(state)) {
                moves.push((word(state), BTreeMap::new()));
            }
            let (_, targets) = moves.last_mut().expect("it was just pushed");
            for input in INPUTS {
                let Some(target) = state.after(input) else { continue };
                let inputs = targets.entry(word(target)).or_default();
                if !inputs.contains(&word(input)) {
                    inputs.push(word(input));
                }
            }
        }
        let mut drawn = String::new();
        for (state, targets) in moves {
            for (place, (target, inputs)) in targets.iter().enumerate() {
                let from = if place == 0 { state.as_str() } else { "" };
                let inputs = inputs.join(", ");
                writeln!(drawn, "{from:<13} ─► {target:<13}  {inputs}").expect("a string");
            }
        }
        drawn
    }

    #[test]
    fn the_manual_draws_this_table() {
        let (manual, drawn) = (include_str!("../../../docs/client.md"), diagram());
        assert!(
            manual.contains(&format!("```text\n{drawn}```\n")),
            "the diagram in docs/client.md is to be replaced by:\n{drawn}"
        );
    }

    #[test]
    fn every_state_can_finish_once() {
        for state in states() {
            let is_finished = matches!(state.after(Input::Finishes), Some(State::Finished));
            assert_eq!(is_finished, !state.is_finished(), "{state:?}");
        }
    }

    #[test]
    fn a_transaction_is_lost_only_where_its_end_is_counted() {
        // It ends, fails, or is cut off before the server is asked to cancel and before the end.
        let ends = ["Ends", "Fails", "Cancels"];
        for (state, input) in states().into_iter().flat_map(|state| INPUTS.map(|one| (state, one)))
        {
            let Some(target) = state.after(input) else { continue };
            if state.transaction().is_some() && !ends.contains(&word(input).as_str()) {
                assert!(target.transaction().is_some(), "{input:?} in {state:?}");
            }
            if state.transaction().is_none() && target.transaction().is_some() {
                assert_eq!(word(input), "Begins", "in {state:?}");
            }
        }
    }

    #[test]
    fn what_is_finished_stays_so() {
        assert!(INPUTS.iter().all(|&input| State::Finished.after(input).is_none()));
    }
}
