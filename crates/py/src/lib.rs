//! The interface between the two languages: JSON in, bytes out, no callbacks. No logic.

// PyO3 passes arguments as owned values, whatever is done with them.
#![allow(clippy::needless_pass_by_value)]

mod agent;
mod fleet;
mod outlet;
mod profile;

use dbdyno_model::Plan;
use dbdyno_sql::Dialect;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::fmt::Display;

/// The Rust side of dbdyno. Imported by `dbdyno.engine` only.
#[pymodule(gil_used = false)]
mod _engine {
    #[pymodule_export]
    use super::fleet::Fleet;
    #[pymodule_export]
    use super::profile::Profile;
    #[pymodule_export]
    use super::{
        agent_main, check_plan, files_beside_clients, histogram_bars, histogram_merge,
        histogram_quantiles, make_room, sql_tokens, statements_with_variables,
    };
}

fn value_error(message: impl Display) -> PyErr {
    PyValueError::new_err(format!("{message}"))
}

/// The problems of a plan's scripts; the plan and the result are JSON.
#[pyfunction]
fn check_plan(plan: &[u8]) -> PyResult<String> {
    let plan: Plan = serde_json::from_slice(plan).map_err(value_error)?;
    serde_json::to_string(&dbdyno_engine::problems(&plan)).map_err(value_error)
}

/// The statements of a plan's scripts that have variables in them; the plan and the result are
/// JSON.
#[pyfunction]
fn statements_with_variables(plan: &[u8]) -> PyResult<String> {
    let plan: Plan = serde_json::from_slice(plan).map_err(value_error)?;
    serde_json::to_string(&dbdyno_engine::statements_with_variables(&plan)).map_err(value_error)
}

/// The tokens of SQL as this dialect reads it: for each its kind and its text.
#[pyfunction]
fn sql_tokens(sql: &str, dialect: &str) -> PyResult<Vec<(&'static str, String)>> {
    let dialect = Dialect::named(dialect).ok_or_else(|| value_error(dialect))?;
    let tokens = dbdyno_sql::tokens(sql, dialect);
    Ok(tokens.map(|token| (token.kind.name(), token.text.to_owned())).collect())
}

/// Raises this process's limit on open files for this many clients; returns code, message and hint
/// if it cannot.
#[pyfunction]
fn make_room(clients: u32, threads: u32) -> Option<(String, String, String)> {
    let refusal = dbdyno_engine::raise_file_limit(clients, 1, threads).err()?;
    Some((refusal.code, refusal.message, refusal.hint))
}

/// Open files of a run with this many threads, other than the clients' connections.
#[pyfunction]
fn files_beside_clients(threads: u32) -> u64 {
    dbdyno_engine::files_beside_clients(threads)
}

/// Runs the agent: reads a job from standard input, writes frames to the given descriptor, returns
/// the exit code. Further lines on standard input, or its end, stop a run. With `build`, which names
/// this build of the module, it first says who it is.
#[pyfunction]
#[pyo3(signature = (frames_fd, build=None))]
fn agent_main(py: Python<'_>, frames_fd: i32, build: Option<String>) -> i32 {
    py.detach(|| agent::main(frames_fd, build))
}

/// The values in ns that the given shares of all values do not exceed, of a serialized histogram.
#[pyfunction]
fn histogram_quantiles(histogram: &[u8], quantiles: Vec<f64>) -> PyResult<Vec<u64>> {
    dbdyno_hist::quantiles(histogram, &quantiles).map_err(value_error)
}

/// The sum of serialized histograms.
#[pyfunction]
fn histogram_merge<'py>(
    py: Python<'py>,
    histograms: Vec<Bound<'py, PyBytes>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let parts = histograms.iter().map(PyBytesMethods::as_bytes);
    let merged = dbdyno_hist::merge(parts).map_err(value_error)?;
    Ok(PyBytes::new(py, &merged))
}

/// The bars of a serialized histogram: little-endian u64 triples (lowest value, highest value,
/// count).
#[pyfunction]
fn histogram_bars<'py>(py: Python<'py>, histogram: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    let bars = dbdyno_hist::bars(histogram).map_err(value_error)?;
    let bytes: Vec<u8> = bars
        .iter()
        .flat_map(|&(lowest, highest, count)| [lowest, highest, count])
        .flat_map(u64::to_le_bytes)
        .collect();
    Ok(PyBytes::new(py, &bytes))
}
