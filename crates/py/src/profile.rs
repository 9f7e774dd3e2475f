//! A profile as Python holds it.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use dbdyno_profile::{Kind, Scope, Source};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::json;

use crate::value_error;

/// A profile of a server that is being taken, for as long as somebody has it.
#[pyclass(frozen)]
pub(crate) struct Profile {
    taken: Mutex<dbdyno_profile::Profile>,
}

#[pymethods]
impl Profile {
    /// Makes ready to sample a process and its descendants so many times a second on each CPU.
    /// Raises OSError if it may not.
    #[new]
    fn of(py: Python<'_>, server: u32, hz: u32, cpus: Vec<usize>) -> PyResult<Self> {
        let ready = py.detach(|| dbdyno_profile::Profile::of(server, hz, &cpus));
        Ok(Self { taken: Mutex::new(ready.map_err(os_error)?) })
    }

    /// What it is of: scope, what takes the samples, and whether the kernel's functions have names.
    fn facts(&self) -> (&'static str, &'static str, bool) {
        let taken = self.lock();
        let scope = match taken.scope() {
            Scope::Machine => "machine",
            Scope::Server => "server",
            Scope::ServerWithoutKernel => "server without kernel",
        };
        let source = match taken.source() {
            Source::Cycles => "cycles",
            Source::CpuClock => "cpu-clock",
        };
        (scope, source, taken.names_kernel())
    }

    /// Begins to sample; seconds are counted from an instant of the monotonic clock.
    fn begin(&self, origin_ns: u64) -> PyResult<()> {
        self.lock().begin(origin_ns).map_err(os_error)
    }

    /// Samples nothing until `resume`.
    fn pause(&self) -> PyResult<()> {
        self.lock().pause().map_err(os_error)
    }

    /// Samples again.
    fn resume(&self) -> PyResult<()> {
        self.lock().resume().map_err(os_error)
    }

    /// Counts what the kernel has sampled by now; returns whether the server has begun processes
    /// or threads meanwhile.
    fn look(&self, py: Python<'_>) -> bool {
        py.detach(|| self.lock().look())
    }

    /// What was counted in seconds that began before an instant of the monotonic clock, as JSON.
    fn take_before<'py>(&self, py: Python<'py>, until_ns: u64) -> PyResult<Bound<'py, PyBytes>> {
        let taken = py.detach(|| self.lock().take_before(until_ns));
        let counts: Vec<_> = taken
            .counts
            .iter()
            .map(|its| (its.second_ns, its.pid, its.tid, its.function, its.samples))
            .collect();
        let functions: Vec<_> = taken
            .functions
            .iter()
            .map(|its| (kind_name(its.kind), &its.name, &its.object))
            .collect();
        let tasks: Vec<_> =
            taken.tasks.iter().map(|its| (its.pid, its.tid, &its.title, &its.thread)).collect();
        let all = json!({
            "counts": counts, "functions": functions, "tasks": tasks, "lost": taken.lost,
        });
        let bytes = serde_json::to_vec(&all).map_err(value_error)?;
        Ok(PyBytes::new(py, &bytes))
    }
}

impl Profile {
    fn lock(&self) -> MutexGuard<'_, dbdyno_profile::Profile> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[allow(clippy::needless_pass_by_value)] // what `map_err` passes
fn os_error(error: io::Error) -> PyErr {
    PyOSError::new_err((error.raw_os_error().unwrap_or_default(), error.to_string()))
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Named => "named",
        Kind::Near => "near",
        Kind::Unnamed => "unnamed",
        Kind::Jit => "jit",
        Kind::Kernel => "kernel",
    }
}
