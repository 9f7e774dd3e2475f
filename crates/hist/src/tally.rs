//! What one worker counted in one interval.

use crate::{Copied, Counters, Latencies, Rows, Samples};
use dbdyno_model::{FailureClass, Nanos, ServerError, StatementId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::AddAssign;

/// How many of an interval's slowest transactions are kept, besides the slowest of each script: the
/// order of a script's statements may be known from these alone.
const SLOWEST_KEPT: usize = 3;

/// A failure's class and the server's own code.
pub type FailureKey = (FailureClass, String);

/// Failures of one class and code: of transactions, or of tries that were retried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureTally {
    /// How many.
    pub count: u64,
    /// The total time of the tries that failed in this way.
    pub took: Nanos,
    /// The first one's message.
    pub message: String,
    /// The statement that this message answered; `UNCOUNTED` if there was none.
    pub statement: StatementId,
    /// How many of each script: those after the last one that failed are left out.
    pub scripts: Vec<u64>,
    /// How many of each statement, where one failed.
    pub statements: BTreeMap<StatementId, u64>,
    /// Those of which nobody knows whether they were committed.
    pub unknown: u64,
}

/// Failures by class and code.
pub type Failures = BTreeMap<FailureKey, FailureTally>;

/// A try that failed.
#[derive(Clone, Copy, Debug)]
pub struct FailedTry<'a> {
    /// The error.
    pub error: &'a ServerError,
    /// The statement that the error answered; `UNCOUNTED` if there was none.
    pub statement: StatementId,
    /// The duration of the try.
    pub took: Nanos,
    /// The number of its script.
    pub script: usize,
    /// Whether it may have been committed all the same: its commit was not answered.
    pub is_unknown: bool,
}

/// The number of counters and histograms to keep: the same for all workers of a run.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Scripts of the plan.
    pub scripts: usize,
    /// Statements of all scripts that are known before the run.
    pub statements: usize,
    /// Whether service times differ from response times.
    pub service_differs: bool,
}

/// One script's part of a tally.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ScriptTally<L = Latencies> {
    /// Transactions that succeeded.
    pub ok: u64,
    /// Those of them that were committed.
    pub committed: u64,
    /// Transactions that failed.
    pub failed: u64,
    /// Transactions that were skipped, counted under the script they would have run.
    pub skipped: u64,
    /// Transactions that took more than one try, however they ended.
    pub retried: u64,
    /// done − due.
    pub response: L,
    /// done − sent; empty when it does not differ.
    pub service: L,
}

/// One statement's part of a tally.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct StatementTally<L = Latencies> {
    /// Its executions that succeeded.
    pub latencies: L,
    /// The rows that they touched.
    pub rows: Rows,
}

/// What happened in an interval at one of several servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerTally {
    /// Transactions that were committed there.
    pub completed_committed: u64,
    /// Transactions that failed there.
    pub completed_failed: u64,
    /// Connections made.
    pub connects: u64,
    /// Attempts to connect that failed.
    pub connects_failed: u64,
    /// Connections that broke.
    pub connections_lost: u64,
}

impl AddAssign for ServerTally {
    fn add_assign(&mut self, other: Self) {
        self.completed_committed += other.completed_committed;
        self.completed_failed += other.completed_failed;
        self.connects += other.connects;
        self.connects_failed += other.connects_failed;
        self.connections_lost += other.connections_lost;
    }
}

/// One slow transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slow {
    /// Its script.
    pub script: usize,
    /// The client, by its number over all threads.
    pub client: u64,
    /// Its index, from 0: among the client's transactions, or in an open loop among the run's.
    pub number: u64,
    /// When it was due.
    pub due: Nanos,
    /// When its first request was sent.
    pub sent: Nanos,
    /// When it ended.
    pub done: Nanos,
    /// How often it was tried.
    pub tries: u32,
    /// Its statements and their latencies, in the last try.
    pub statements: Vec<(StatementId, Nanos)>,
}

/// How a transaction ended, for a reader who wants to know it of each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It ran to the end of its script.
    Ok,
    /// It was not started, because it would have been too late.
    Skipped,
    /// It failed in this way.
    Failed(FailureClass),
}

impl Fate {
    fn code(self) -> u16 {
        match self {
            Self::Ok => 0,
            Self::Skipped => 1,
            Self::Failed(FailureClass::Serialization) => 2,
            Self::Failed(FailureClass::Deadlock) => 3,
            Self::Failed(_) => 4,
        }
    }
}

/// A transaction that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The client, by its number over all threads; none if it was skipped.
    pub client: Option<u64>,
    /// Its script.
    pub script: usize,
    /// How it ended.
    pub fate: Fate,
    /// How often it was tried.
    pub tries: u32,
    /// When it was due.
    pub due: Nanos,
    /// When its first request was sent.
    pub sent: Nanos,
    /// When it ended.
    pub done: Nanos,
}

impl Ended {
    /// Appends it as a row of little-endian numbers, of which the frame consists.
    fn write(&self, rows: &mut Vec<u8>) {
        let client = self.client.map_or(u32::MAX, |client| client as u32);
        rows.extend_from_slice(&client.to_le_bytes());
        rows.extend_from_slice(&(self.script as u16).to_le_bytes());
        rows.extend_from_slice(&self.fate.code().to_le_bytes());
        rows.extend_from_slice(&self.tries.to_le_bytes());
        for instant in [self.due, self.sent, self.done] {
            rows.extend_from_slice(&instant.0.to_le_bytes());
        }
    }
}

/// Adds all of `added`; for a kind that is already present, its first message is kept.
pub(crate) fn merge_failures(own: &mut Failures, added: &Failures) {
    for (key, more) in added {
        own.entry(key.clone())
            .and_modify(|known| {
                known.count += more.count;
                known.took += more.took;
                add_counts(&mut known.scripts, &more.scripts);
                for (&statement, count) in &more.statements {
                    *known.statements.entry(statement).or_default() += count;
                }
                known.unknown += more.unknown;
            })
            .or_insert_with(|| more.clone());
    }
}

/// Records a failure.
pub fn add_failure(failures: &mut Failures, failed: FailedTry<'_>) {
    let FailedTry { error, statement, took, script, is_unknown } = failed;
    let message = || error.message.clone();
    let first = || FailureTally {
        count: 0,
        took: Nanos(0),
        message: message(),
        statement,
        scripts: Vec::new(),
        statements: BTreeMap::new(),
        unknown: 0,
    };
    let known = failures.entry((error.class, error.code.clone())).or_insert_with(first);
    known.count += 1;
    known.took += took;
    make_room(&mut known.scripts, script + 1);
    known.scripts[script] += 1;
    if statement != StatementId::UNCOUNTED {
        *known.statements.entry(statement).or_default() += 1;
    }
    known.unknown += u64::from(is_unknown);
}

/// Makes room for this many: further statements come up while scripts run.
pub(crate) fn make_room<T: Default>(counted: &mut Vec<T>, count: usize) {
    if counted.len() < count {
        counted.resize_with(count, T::default);
    }
}

/// Adds counts, each to that of the same number.
pub(crate) fn add_counts(own: &mut Vec<u64>, added: &[u64]) {
    make_room(own, added.len());
    for (own, added) in own.iter_mut().zip(added) {
        *own += added;
    }
}

/// What one worker counted in one interval; `counters` are cumulative over the run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Tally<L = Latencies> {
    /// Transactions that succeeded in the interval, whenever they were due.
    pub completed_ok: u64,
    /// Those of them that were committed.
    pub completed_committed: u64,
    /// What these copied.
    pub copied: Copied,
    /// Transactions that failed in the interval, whenever they were due.
    pub completed_failed: u64,
    /// Cumulative counts of the measured transactions.
    pub counters: Counters,
    /// Measured failures in this interval.
    pub failures: Failures,
    /// Measured tries in this interval that failed and were retried.
    pub tried_again: Failures,
    /// By script.
    pub scripts: Vec<ScriptTally<L>>,
    /// By statement.
    pub statements: Vec<StatementTally<L>>,
    /// By the number of the server, if there are several.
    pub servers: Vec<ServerTally>,
    /// What scripts counted in measured transactions that succeeded, by the numbers of their
    /// counters.
    pub counted: Vec<u64>,
    /// done − due of failed transactions.
    pub failed_response: L,
    /// Durations of connects.
    pub connects: L,
    /// How late transactions were sent because of the engine itself.
    pub lateness: L,
    /// Round trips to the server.
    pub round_trips: u64,
    /// Bytes to the server.
    pub bytes_sent: u64,
    /// Bytes from the server.
    pub bytes_received: u64,
    /// The slowest measured transactions, slowest first.
    pub slowest: Vec<Slow>,
    /// The rows of the transactions that have ended, if each is reported; never of a part.
    #[serde(skip)]
    pub ended: Vec<u8>,
}

impl Tally {
    /// An empty one.
    pub fn new(shape: Shape) -> Self {
        Self {
            completed_ok: 0,
            completed_committed: 0,
            copied: Copied::default(),
            completed_failed: 0,
            counters: Counters::default(),
            failures: Failures::new(),
            tried_again: Failures::new(),
            scripts: vec![ScriptTally::default(); shape.scripts],
            statements: vec![StatementTally::default(); shape.statements],
            servers: Vec::new(),
            counted: Vec::new(),
            failed_response: Latencies::default(),
            connects: Latencies::default(),
            lateness: Latencies::default(),
            round_trips: 0,
            bytes_sent: 0,
            bytes_received: 0,
            slowest: Vec::new(),
            ended: Vec::new(),
        }
    }

    /// Resets all values, keeping the memory.
    pub fn clear(&mut self) {
        self.completed_ok = 0;
        self.completed_committed = 0;
        self.copied = Copied::default();
        self.completed_failed = 0;
        self.counters = Counters::default();
        self.failures.clear();
        self.tried_again.clear();
        for script in &mut self.scripts {
            (script.ok, script.committed) = (0, 0);
            (script.failed, script.skipped, script.retried) = (0, 0, 0);
            script.response.clear();
            script.service.clear();
        }
        for statement in &mut self.statements {
            statement.latencies.clear();
            statement.rows = Rows::default();
        }
        self.servers.clear();
        self.counted.clear();
        self.failed_response.clear();
        self.connects.clear();
        self.lateness.clear();
        (self.round_trips, self.bytes_sent, self.bytes_received) = (0, 0, 0);
        self.slowest.clear();
        self.ended.clear();
    }

    /// The memory of its histograms, in bytes; nothing else of it takes as much.
    pub fn bytes(&self) -> usize {
        let of_scripts = self.scripts.iter().flat_map(|one| [&one.response, &one.service]);
        let of_statements = self.statements.iter().map(|one| &one.latencies);
        let further = [&self.failed_response, &self.connects, &self.lateness];
        of_scripts.chain(of_statements).chain(further).map(Latencies::bytes).sum()
    }

    /// Reports a transaction that has ended.
    pub fn report(&mut self, ended: &Ended) {
        ended.write(&mut self.ended);
    }

    /// Adds what another worker counted in the same interval.
    pub fn merge<L: Samples>(&mut self, other: &Tally<L>) {
        self.completed_ok += other.completed_ok;
        self.completed_committed += other.completed_committed;
        self.copied += other.copied;
        self.completed_failed += other.completed_failed;
        self.counters += other.counters;
        merge_failures(&mut self.failures, &other.failures);
        merge_failures(&mut self.tried_again, &other.tried_again);
        for (own, added) in self.scripts.iter_mut().zip(&other.scripts) {
            own.ok += added.ok;
            own.committed += added.committed;
            own.failed += added.failed;
            own.skipped += added.skipped;
            own.retried += added.retried;
            added.response.add_to(&mut own.response);
            added.service.add_to(&mut own.service);
        }
        make_room(&mut self.statements, other.statements.len());
        for (own, added) in self.statements.iter_mut().zip(&other.statements) {
            added.latencies.add_to(&mut own.latencies);
            own.rows.add(added.rows);
        }
        make_room(&mut self.servers, other.servers.len());
        for (own, added) in self.servers.iter_mut().zip(&other.servers) {
            *own += *added;
        }
        add_counts(&mut self.counted, &other.counted);
        other.failed_response.add_to(&mut self.failed_response);
        other.connects.add_to(&mut self.connects);
        other.lateness.add_to(&mut self.lateness);
        self.round_trips += other.round_trips;
        self.bytes_sent += other.bytes_sent;
        self.bytes_received += other.bytes_received;
        self.ended.extend_from_slice(&other.ended);
        for slow in &other.slowest {
            self.consider_slow(slow.script, slow.done - slow.due, || slow.clone());
        }
    }

    /// Records the execution of a statement, which may be a new one: its latency and the rows that
    /// it touched. Statements are numbered from 0 without gaps, so there are never many.
    #[inline]
    pub fn record_statement(&mut self, statement: StatementId, latency: Nanos, rows: u64) {
        if statement == StatementId::UNCOUNTED {
            return;
        }
        let place = statement.0 as usize;
        make_room(&mut self.statements, place + 1);
        let own = &mut self.statements[place];
        own.latencies.record(latency);
        own.rows.add(Rows { touched: rows, executions_without: u64::from(rows == 0) });
    }

    /// What is counted of the server with this number.
    pub fn server_mut(&mut self, server: u32) -> &mut ServerTally {
        let place = server as usize;
        make_room(&mut self.servers, place + 1);
        &mut self.servers[place]
    }

    /// Keeps the transaction if it is among the slowest, of all or of its script; `describe` is
    /// called only then.
    #[inline]
    pub fn consider_slow(
        &mut self,
        script: usize,
        response: Nanos,
        describe: impl FnOnce() -> Slow,
    ) {
        let is_slower = |slow: &Slow| slow.done - slow.due >= response;
        let is_full = self.slowest.get(SLOWEST_KEPT - 1).is_some_and(is_slower);
        if is_full && self.slowest.iter().any(|slow| slow.script == script && is_slower(slow)) {
            return;
        }
        let place = self.slowest.partition_point(is_slower);
        self.slowest.insert(place, describe());
        self.drop_faster();
    }

    /// Drops those that are now among the slowest neither of all nor of their script.
    fn drop_faster(&mut self) {
        let mut place = SLOWEST_KEPT;
        while let Some(script) = self.slowest.get(place).map(|slow| slow.script) {
            if self.slowest[..place].iter().any(|slow| slow.script == script) {
                self.slowest.remove(place);
            } else {
                place += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Ended, FailedTry, Fate, Rows, Shape, Slow, Tally, add_failure};
    use dbdyno_model::{FailureClass, Nanos, ServerError, StatementId};

    #[test]
    fn a_reported_transaction_is_a_row_of_numbers() {
        let shape = Shape { scripts: 1, statements: 0, service_differs: false };
        let (mut own, mut other) = (Tally::new(shape), Tally::new(shape));
        let [due, sent, done] = [7, 8, 9].map(Nanos);
        let fate = Fate::Failed(FailureClass::Deadlock);
        let ended = Ended { client: Some(258), script: 1, fate, tries: 2, due, sent, done };
        own.report(&ended);
        other.report(&Ended { client: None, fate: Fate::Skipped, ..ended });
        own.merge(&other);
        let [client, none] = [258, u32::MAX].map(u32::to_le_bytes);
        let instants = [7, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0];
        let rows = [&client[..], &[1, 0, 3, 0, 2, 0, 0, 0], &instants];
        let skipped = [&none[..], &[1, 0, 1, 0, 2, 0, 0, 0], &instants];
        assert_eq!(own.ended, [rows.concat(), skipped.concat()].concat());
        own.clear();
        assert!(own.ended.is_empty());
    }

    fn slow(script: usize, response: u64) -> Slow {
        let statements = Vec::new();
        Slow {
            script,
            client: 0,
            number: 0,
            due: Nanos(0),
            sent: Nanos(0),
            done: Nanos(response),
            tries: 1,
            statements,
        }
    }

    const SHAPE: Shape = Shape { scripts: 1, statements: 0, service_differs: false };

    #[test]
    fn a_statement_that_comes_up_while_running_has_its_latencies() {
        let (mut tally, mut other) = (Tally::new(SHAPE), Tally::new(SHAPE));
        tally.record_statement(StatementId::UNCOUNTED, Nanos(1), 1);
        assert!(tally.statements.is_empty());
        other.record_statement(StatementId(1), Nanos(7), 0);
        tally.record_statement(StatementId(0), Nanos(5), 2);
        tally.merge(&other);
        let counts: Vec<u64> =
            tally.statements.iter().map(|statement| statement.latencies.count()).collect();
        assert_eq!(counts, [1, 1]);
    }

    #[test]
    fn rows_are_added_and_executions_without_any_counted() {
        let (mut tally, mut other) = (Tally::new(SHAPE), Tally::new(SHAPE));
        tally.record_statement(StatementId(0), Nanos(1), 3);
        for rows in [0, 4] {
            other.record_statement(StatementId(0), Nanos(1), rows);
        }
        tally.merge(&other);
        assert_eq!(tally.statements[0].rows, Rows { touched: 7, executions_without: 1 });
        tally.clear();
        assert_eq!(tally.statements[0].rows, Rows::default());
    }

    #[test]
    fn what_scripts_count_is_added() {
        let (mut tally, mut other) = (Tally::new(SHAPE), Tally::new(SHAPE));
        other.counted = vec![1, 2];
        tally.merge(&other);
        tally.merge(&Tally::new(SHAPE));
        tally.merge(&other);
        assert_eq!(tally.counted, [2, 4]);
        tally.clear();
        assert!(tally.counted.is_empty());
    }

    #[test]
    fn failures_are_counted_by_script_and_statement() {
        let (mut tally, mut other) = (Tally::new(SHAPE), Tally::new(SHAPE));
        let error = ServerError::from_sqlstate("40001", "could not serialize");
        let failed = |script, statement| FailedTry {
            error: &error,
            statement,
            took: Nanos(2),
            script,
            is_unknown: script == 2,
        };
        let (one, two) = (StatementId(1), StatementId(2));
        add_failure(&mut tally.failures, failed(0, two));
        for (script, statement) in [(2, one), (0, two), (2, StatementId::UNCOUNTED)] {
            add_failure(&mut other.failures, failed(script, statement));
        }
        tally.merge(&other);
        let counted: Vec<_> =
            tally.failures.values().map(|one| (one.count, &one.scripts, one.unknown)).collect();
        assert_eq!(counted, [(4, &vec![2, 0, 2], 2)]);
        let by_statement: Vec<_> =
            tally.failures.values().flat_map(|one| one.statements.clone()).collect();
        assert_eq!(by_statement, [(one, 1), (two, 2)]);
    }

    #[test]
    fn the_slowest_are_kept_in_order() {
        let mut tally = Tally::new(SHAPE);
        for response in [5, 1, 9, 7, 3, 8] {
            tally.consider_slow(0, Nanos(response), || slow(0, response));
        }
        let kept: Vec<u64> = tally.slowest.iter().map(|slow| slow.done.0).collect();
        assert_eq!(kept, [9, 8, 7]);
    }

    #[test]
    fn the_slowest_of_each_script_is_kept_besides() {
        let (mut tally, mut other) = (Tally::new(SHAPE), Tally::new(SHAPE));
        let mut consider = |script, response| {
            tally.consider_slow(script, Nanos(response), || slow(script, response));
        };
        for (script, response) in
            [(1, 2), (0, 5), (0, 6), (0, 7), (2, 1), (1, 3), (0, 8), (3, 4), (3, 9)]
        {
            consider(script, response);
        }
        other.consider_slow(2, Nanos(4), || slow(2, 4));
        tally.merge(&other);
        let kept: Vec<_> = tally.slowest.iter().map(|slow| (slow.script, slow.done.0)).collect();
        assert_eq!(kept, [(3, 9), (0, 8), (0, 7), (2, 4), (1, 3)]);
    }
}
