//! The limit of open files: one for each connection, and some for ourselves.

use crate::EngineError;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files a thread of the engine has open beside its connections, and those of the process.
const FILES_PER_THREAD: u64 = 4;
const FILES_OF_PROCESS: u64 = 64;

/// Raises the limit as far as needed and allowed.
pub(crate) fn make_room(clients: u32, threads: u32) -> Result<(), EngineError> {
    let needed = u64::from(clients) + u64::from(threads) * FILES_PER_THREAD + FILES_OF_PROCESS;
    let limit = getrlimit(Resource::Nofile);
    let current = limit.current.unwrap_or(u64::MAX);
    if current >= needed {
        return Ok(());
    }
    let maximum = limit.maximum.map(|maximum| maximum.max(needed));
    let raised = Rlimit { current: Some(needed), maximum };
    setrlimit(Resource::Nofile, raised).map_err(|_| {
        let allowed = limit.maximum.unwrap_or(u64::MAX);
        EngineError::new(
            "too_few_files",
            format!("{clients} clients need {needed} open files, and this process may have {allowed}"),
            format!("use fewer clients (-c), or raise the hard limit (ulimit -Hn {needed}, LimitNOFILE= or limits.conf)"),
        )
    })
}
