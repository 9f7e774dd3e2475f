//! Fills tables: generates the rows and sends them by the protocol's bulk-load method, on several
//! connections at once.

mod arrays;
mod connection;
mod connector;
mod copy;
mod infile;
mod literals;
mod method;
mod rows;
mod separated;
mod timestamp;
mod values;

use crate::{EngineError, Sink};
use connection::{LoadConnection, RowSource};
use connector::Connector;
use dbdyno_hist::frame::{Frame, Loaded, Progress};
use dbdyno_model::{FailureClass, LoadPlan, LoadTable, ServerError};
use rows::RowMaker;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// Minimum size of a piece, as each is a transaction of its own.
const PIECE_ROWS_MIN: u64 = 50_000;
/// Pieces per job, so that jobs end at about the same time.
const PIECES_PER_JOB: u64 = 4;
/// Interval of progress reports.
const PROGRESS_EVERY: Duration = Duration::from_millis(250);

/// Rows of one table that one connection sends in one transaction.
#[derive(Debug)]
struct Piece {
    table: usize,
    /// The numbers of the rows, or of their ancestors.
    numbers: Range<u64>,
}

/// State shared by the jobs.
struct Shared<'a> {
    plan: &'a LoadPlan,
    pieces: Mutex<VecDeque<Piece>>,
    /// Rows sent, by table.
    sent: Vec<AtomicU64>,
    connector: Connector,
}

/// Fills the tables of a plan and reports progress to `sink`.
pub fn load(plan: &LoadPlan, sink: &mut Sink<'_>) -> Result<(), EngineError> {
    let begin = Instant::now();
    let (jobs, pieces) = own_part(plan);
    let shared = Shared {
        plan,
        pieces: Mutex::new(pieces),
        sent: plan.tables.iter().map(|_| AtomicU64::new(0)).collect(),
        connector: Connector::new(&plan.endpoint)?,
    };
    std::thread::scope(|scope| {
        let (sender, ended) = channel();
        for _ in 0..jobs {
            let (sender, shared) = (sender.clone(), &shared);
            scope.spawn(move || job(shared, &sender));
        }
        drop(sender);
        watch(&shared, &ended, sink)
    })?;
    let rows = shared.sent.iter().map(|sent| sent.load(Ordering::Relaxed)).sum();
    let elapsed_ns = begin.elapsed().as_nanos() as u64;
    Ok(sink(&Frame::Loaded(Loaded { rows, elapsed_ns }).encode())?)
}

/// How many jobs this engine has, and their pieces. All engines that share a load divide its rows
/// into the same pieces, which are dealt to their jobs: an interrupted load can be continued by any.
fn own_part(plan: &LoadPlan) -> (usize, VecDeque<Piece>) {
    let jobs = plan.jobs.max(1);
    let pieces = pieces(plan, jobs);
    if !plan.is_shared() {
        return (jobs as usize, pieces);
    }
    let dealt = (0..jobs).cycle().zip(pieces);
    let own = dealt.filter(|(job, _)| plan.own_jobs.contains(job)).map(|(_, piece)| piece);
    (plan.own_jobs.len(), own.collect())
}

fn pieces(plan: &LoadPlan, jobs: u32) -> VecDeque<Piece> {
    let of_table = |table: usize| {
        let spec = &plan.tables[table];
        let wanted = (spec.rows_total / PIECE_ROWS_MIN).clamp(1, u64::from(jobs) * PIECES_PER_JOB);
        let count = wanted.min(u64::from(spec.pieces_max.max(1)));
        let border = move |piece: u64| spec.rows * piece / count;
        (0..count)
            .flat_map(move |piece| missing(border(piece)..border(piece + 1), &spec.loaded))
            .map(move |numbers| Piece { table, numbers })
    };
    let mut pieces: Vec<Piece> = (0..plan.tables.len()).flat_map(of_table).collect();
    // The largest first, so that the jobs end at about the same time.
    let rows = |piece: &Piece| {
        let spec = &plan.tables[piece.table];
        spec.rows_total / spec.rows.max(1) * (piece.numbers.end - piece.numbers.start)
    };
    pieces.sort_by_key(|piece| std::cmp::Reverse(rows(piece)));
    pieces.into()
}

/// What a piece lacks of its numbers: all but those that are loaded.
fn missing(numbers: Range<u64>, loaded: &[(u64, u64)]) -> Vec<Range<u64>> {
    let mut first = numbers.start;
    let mut ranges = Vec::new();
    for &(from, end) in loaded.iter().filter(|(_, end)| *end > numbers.start) {
        ranges.push(first..from.clamp(first, numbers.end));
        first = first.max(end.min(numbers.end));
    }
    ranges.push(first..numbers.end);
    ranges.retain(|range| !range.is_empty());
    ranges
}

/// Reports progress until all jobs have ended; returns the first error, if there was one.
fn watch(
    shared: &Shared<'_>,
    ended: &Receiver<Result<(), EngineError>>,
    sink: &mut Sink<'_>,
) -> Result<(), EngineError> {
    let mut result = Ok(());
    loop {
        match ended.recv_timeout(PROGRESS_EVERY) {
            Ok(outcome) => result = result.and(outcome),
            Err(RecvTimeoutError::Timeout) => report_progress(shared, sink)?,
            Err(RecvTimeoutError::Disconnected) => {
                report_progress(shared, sink)?;
                return result;
            }
        }
    }
}

fn report_progress(shared: &Shared<'_>, sink: &mut Sink<'_>) -> Result<(), EngineError> {
    for (table, sent) in shared.plan.tables.iter().zip(&shared.sent) {
        let rows = sent.load(Ordering::Relaxed);
        let progress = Progress { table: table.name.clone(), rows, rows_total: table.rows_total };
        sink(&Frame::Progress(progress).encode())?;
    }
    Ok(())
}

/// One connection's job: loads pieces until none are left or one fails.
fn job(shared: &Shared<'_>, ended: &Sender<Result<(), EngineError>>) {
    let outcome = work(shared);
    if outcome.is_err() {
        take_all(shared);
    }
    // The receiver lives as long as the jobs.
    let _ = ended.send(outcome);
}

fn take_piece(shared: &Shared<'_>) -> Option<Piece> {
    shared.pieces.lock().ok()?.pop_front()
}

/// Removes all remaining pieces, so that the other jobs end.
fn take_all(shared: &Shared<'_>) {
    while take_piece(shared).is_some() {}
}

fn work(shared: &Shared<'_>) -> Result<(), EngineError> {
    let Some(mut piece) = take_piece(shared) else { return Ok(()) };
    let endpoint = &shared.plan.endpoint;
    let mut connection = shared
        .connector
        .open()
        .map_err(|error| EngineError::cannot_connect(endpoint.protocol, &error))?;
    loop {
        let table = &shared.plan.tables[piece.table];
        send_piece(shared, &mut *connection, &piece).map_err(|error| not_loaded(table, &error))?;
        match take_piece(shared) {
            Some(next) => piece = next,
            None => return Ok(()),
        }
    }
}

fn not_loaded(table: &LoadTable, error: &ServerError) -> EngineError {
    let is_disk_full = matches!(error.code.as_str(), "53100" | "1021" | "1114");
    let hint = match error.code.as_str() {
        _ if is_disk_full => "free disk space on the server, or load at a smaller scale (-s)",
        "42501" | "1142" => "log in as a role that may write to this table",
        "23505" | "1062" | "1205" => {
            "another load of these tables is in progress: wait for its end"
        }
        "1153" => "set global max_allowed_packet = 16777216 on the server, or more",
        "1148" | "3948" | "4166" => "set global local_infile = 1 on the server",
        _ => "",
    };
    let message = format!("loading {} failed: {} ({})", table.name, error.message, error.code);
    let code = if is_disk_full { "disk_full" } else { "load_failed" };
    EngineError::new(code, message, hint)
}

/// Begins the transaction of a piece, and notes its numbers.
///
/// Until the server has rolled back what a killed load left open, InnoDB may see deadlocks between
/// notes: their transactions have no rows yet, and are begun again.
fn begin(
    connection: &mut dyn LoadConnection,
    table: &LoadTable,
    numbers: &Range<u64>,
) -> Result<(), ServerError> {
    loop {
        connection.run("BEGIN")?;
        for statement in &table.before {
            connection.run(statement)?;
        }
        if table.note.is_empty() {
            return Ok(());
        }
        let note = table.note.replace("{first}", &numbers.start.to_string());
        match connection.run(&note.replace("{end}", &numbers.end.to_string())) {
            Err(error) if error.class == FailureClass::Deadlock => connection.run("ROLLBACK")?,
            outcome => return outcome,
        }
    }
}

fn send_piece(
    shared: &Shared<'_>,
    connection: &mut dyn LoadConnection,
    piece: &Piece,
) -> Result<(), ServerError> {
    let table = &shared.plan.tables[piece.table];
    begin(connection, table, &piece.numbers)?;
    connection.send_rows(&RowSource {
        table,
        maker: RowMaker::new(shared.plan.seed, piece.table as u64, table),
        numbers: piece.numbers.clone(),
        sent: &shared.sent[piece.table],
    })?;
    connection.run("COMMIT")
}

#[cfg(test)]
mod tests {
    use super::missing;

    fn left(first: u64, end: u64, loaded: &[(u64, u64)]) -> Vec<(u64, u64)> {
        missing(first..end, loaded).into_iter().map(|range| (range.start, range.end)).collect()
    }

    #[test]
    fn what_is_loaded_is_left_out() {
        assert_eq!(left(0, 10, &[]), [(0, 10)]);
        assert_eq!(left(0, 10, &[(0, 10)]), []);
        assert_eq!(left(0, 10, &[(0, 3), (5, 6)]), [(3, 5), (6, 10)]);
        assert_eq!(left(10, 20, &[(0, 3), (5, 12), (18, 40)]), [(12, 18)]);
        assert_eq!(left(10, 20, &[(20, 30)]), [(10, 20)]);
        assert_eq!(left(10, 20, &[(0, 30)]), []);
        assert_eq!(left(5, 5, &[]), []);
    }
}
