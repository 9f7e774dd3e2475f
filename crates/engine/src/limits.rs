//! The limit on open files: one for each connection, and some for the engine itself.

use crate::EngineError;
use dbdyno_model::Plan;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Open files of each thread of the engine beside its connections, and of the process.
const FILES_PER_THREAD: u64 = 4;
const FILES_OF_PROCESS: u64 = 64;

/// How many connections a client of a Lua script may open, its first one included, as an average
/// over the clients of a thread.
const CONNECTIONS_OF_SCRIPT: u32 = 16;

/// How many connections each client of a plan may open, its first one included.
pub(crate) fn connections_max(plan: &Plan) -> u32 {
    match plan.lua {
        Some(_) => CONNECTIONS_OF_SCRIPT,
        None if plan.endpoint.standby_addresses.is_empty() => 1,
        None => 2,
    }
}

/// This many connections, including those being closed while their successors are made.
pub(crate) fn slots(connections: usize) -> usize {
    2 * connections + 16
}

/// The current limit on open files.
pub(crate) fn open_files_max() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Open files of a run with this many threads, other than the clients' connections.
pub fn files_beside_clients(threads: u32) -> u64 {
    u64::from(threads) * FILES_PER_THREAD + FILES_OF_PROCESS
}

/// Raises this process's limit on open files as far as wanted and allowed; an error when that is
/// less than needed. What scripts open besides is only wanted.
pub fn raise_file_limit(
    clients: u32,
    connections_max: u32,
    threads: u32,
) -> Result<(), EngineError> {
    let own = files_beside_clients(threads);
    let needed = u64::from(clients) + own;
    let hard = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
    let wanted = slots((clients * connections_max) as usize) as u64 + own;
    if !raise_to(wanted) {
        raise_to(wanted.min(hard));
    }
    if open_files_max() >= needed {
        return Ok(());
    }
    Err(EngineError::new(
        "too_few_files",
        format!("{clients} clients need {needed} open files, and this process may have {hard}"),
        format!(
            "use fewer clients (-c), or raise the hard limit (ulimit -Hn {needed}, LimitNOFILE= or limits.conf)"
        ),
    ))
}

fn raise_to(files: u64) -> bool {
    let limit = getrlimit(Resource::Nofile);
    let maximum = limit.maximum.map(|maximum| maximum.max(files));
    open_files_max() >= files
        || setrlimit(Resource::Nofile, Rlimit { current: Some(files), maximum }).is_ok()
}
