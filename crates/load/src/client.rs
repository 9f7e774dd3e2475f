//! One client: its place in the life of a connection, and its transaction.

use dbdyno_model::{Nanos, Queue, ServerError, StatementId, Stream};
use dbdyno_script::{Fault, Resume, Session, Step};

/// Where a client is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// No connection, none under way. Waits for its turn to connect, or for the alarm that
    /// ends its pause after a failed attempt. Leaves to `Connecting`.
    Unconnected,
    /// The connection is being made, since this instant. Leaves to `Idle`, or into the
    /// transaction that waited for it, or back to `Unconnected`.
    Connecting(Nanos),
    /// Connected, with nothing to do, since this instant. Leaves to `Asking` when a
    /// transaction is due.
    Idle(Nanos),
    /// Between two transactions, until its alarm. Leaves to `Asking`.
    Thinking,
    /// After a transaction that asked for nothing, until the clock has moved. Leaves as `Idle`
    /// does, or to `Thinking`.
    Breathing,
    /// A reply is awaited. Leaves back to itself with the next statement, or to any of the
    /// states below, or to the end of the transaction.
    Asking,
    /// The script pauses, until its alarm.
    Sleeping,
    /// A command of the shell runs.
    Shelling,
    /// The transaction failed and left its block open; the reply to ROLLBACK is awaited.
    /// Leaves to the next try or to the transaction's end.
    RollingBack {
        /// Whether the transaction is tried again.
        retry: bool,
    },
    /// The run is over and the server was asked to cancel; whatever it still says is awaited.
    Cancelling,
    /// It goes to another thread as soon as its connection can. Leaves with it, or as `Idle` does.
    Moving,
    /// Done for good: nothing leaves it.
    Finished,
}

/// How far a client is with what its script does around all its transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Course {
    /// It has not entered, or has lost the connection that it had entered on. Leaves to
    /// `Entering` with the next one, or to `Inside` when its script has nothing to do there.
    Outside,
    /// The script prepares what its transactions need. Leaves to `Inside`, or back to `Outside`
    /// with the connection.
    Entering,
    /// Transactions follow each other. Leaves to `Leaving`, or back to `Outside` with the
    /// connection.
    Inside,
    /// The last one is over, and the script takes leave. The client is finished then.
    Leaving,
}

/// The transaction a client is in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transaction {
    pub(crate) script: usize,
    /// The client's how-manieth (closed loop), or the arrival's number (open loop).
    pub(crate) number: u64,
    pub(crate) due: Nanos,
    /// When its first request was sent.
    pub(crate) sent: Option<Nanos>,
    pub(crate) tries: u32,
    /// When the latest of its tries began.
    pub(crate) try_began: Nanos,
    /// Whether it was due in the measured part of the run.
    pub(crate) measured: bool,
}

/// One client.
pub struct Client {
    /// Its number over the whole run.
    pub(crate) id: u64,
    /// The thread that it is to go to.
    pub(crate) bound_for: Option<u32>,
    pub(crate) session: Box<dyn Session>,
    pub(crate) state: State,
    pub(crate) course: Course,
    /// Whether it has a connection that can be used.
    pub(crate) connected: bool,
    /// The server's process at the other end of its latest connection; 0 where it is not told.
    pub(crate) backend: u32,
    /// Alarms of earlier states carry an older generation.
    pub(crate) generation: u32,
    pub(crate) transaction: Option<Transaction>,
    /// What has been asked and not been answered, oldest first.
    pub(crate) outstanding: Queue<(StatementId, Nanos)>,
    /// Statements of this try and their latencies.
    pub(crate) timings: Vec<(StatementId, Nanos)>,
    /// The error of the try under way.
    pub(crate) error: Option<ServerError>,
    /// The statement that the latest error was the answer to.
    pub(crate) failing: StatementId,
    pub(crate) in_transaction: bool,
    /// Scripts that failed for good here, while nobody had seen them do anything else.
    pub(crate) failed_scripts: Vec<usize>,
    /// Transactions begun, warm-up included: the next one's number in a closed loop.
    pub(crate) begun: u64,
    /// Measured transactions begun.
    pub(crate) measured: u64,
    /// Attempts to connect that failed in a row.
    pub(crate) connect_failures: u32,
    /// When the first of its attempts in vain began, of those since anybody last met the server.
    pub(crate) refused_since: Option<Nanos>,
    /// Whether the connection that it has not is counted as lost.
    pub(crate) misses_connection: bool,
    /// Since when it has been trying to connect to a server that has no room.
    pub(crate) patient_since: Option<Nanos>,
}

impl Client {
    pub(crate) fn new(id: u64, session: Box<dyn Session>) -> Self {
        Self {
            id,
            bound_for: None,
            session,
            state: State::Unconnected,
            course: Course::Outside,
            connected: false,
            backend: 0,
            generation: 0,
            transaction: None,
            outstanding: Queue::default(),
            timings: Vec::new(),
            error: None,
            failing: StatementId::UNCOUNTED,
            in_transaction: false,
            failed_scripts: Vec::new(),
            begun: 0,
            measured: 0,
            connect_failures: 0,
            refused_since: None,
            misses_connection: false,
            patient_since: None,
        }
    }

    /// Keeps the place of a client that has gone, whose alarms are void.
    pub(crate) fn nobody(gone: &Self) -> Self {
        let generation = gone.generation.wrapping_add(1);
        let nobody = Self::new(u64::MAX, Box::new(Nobody));
        Self { state: State::Finished, generation, ..nobody }
    }

    /// Enters a state; alarms set before are void.
    pub(crate) fn enter(&mut self, state: State) {
        self.state = state;
        self.generation = self.generation.wrapping_add(1);
    }

    /// Whether it can have transactions.
    pub(crate) fn is_inside(&self) -> bool {
        self.connected && matches!(self.course, Course::Inside | Course::Leaving)
    }

    /// Whether the server owes it an answer.
    pub(crate) fn awaits_server(&self) -> bool {
        matches!(self.state, State::Asking | State::RollingBack { .. } | State::Cancelling)
    }
}

/// Runs nothing.
struct Nobody;

impl Session for Nobody {
    fn begin(&mut self, _: usize, _: Stream) {}

    fn restart(&mut self) {}

    fn resume(&mut self, _: Resume<'_>) -> Result<Step<'_>, Fault> {
        Ok(Step::Stop { is_over: false })
    }
}
