//! Adds up the frames of several engines for Python: frames in, frames out.

use crate::value_error;
use dbdyno_engine::Arrival;
use dbdyno_hist::frame::Frame;
use dbdyno_model::Nanos;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Several engines that share a load, as one; see [`dbdyno_engine::Fleet`].
#[pyclass]
pub(crate) struct Fleet(dbdyno_engine::Fleet);

#[pymethods]
impl Fleet {
    /// The parts have these threads of the plan, which is JSON.
    #[new]
    fn new(plan: &[u8], threads: Vec<Vec<u32>>, statements: usize) -> PyResult<Self> {
        let plan = serde_json::from_slice(plan).map_err(value_error)?;
        Ok(Self(dbdyno_engine::Fleet::new(plan, &threads, statements)))
    }

    fn connected<'py>(
        &mut self,
        py: Python<'py>,
        part: usize,
        frame: &[u8],
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let connected = rmp_serde::from_slice(frame).map_err(value_error)?;
        Ok(encoded(py, self.0.connected(part, connected)))
    }

    fn interval<'py>(
        &mut self,
        py: Python<'py>,
        part: usize,
        arrival: (i64, u64, u64),
        frame: &[u8],
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        // Nothing else takes nearly as long: the threads that hear the other agents go on meanwhile.
        let frames = py.detach(|| {
            let interval = rmp_serde::from_slice(frame).map_err(|error| error.to_string())?;
            self.0.interval(part, arrived(arrival), interval)
        });
        Ok(encoded(py, frames.map_err(value_error)?))
    }

    fn activity<'py>(
        &mut self,
        py: Python<'py>,
        part: usize,
        arrival: (i64, u64, u64),
        frame: &[u8],
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let activity = rmp_serde::from_slice(frame).map_err(value_error)?;
        Ok(encoded(py, self.0.activity(part, arrived(arrival), &activity).map_err(value_error)?))
    }

    fn too_slow(&self) -> Vec<usize> {
        self.0.too_slow()
    }

    fn over<'py>(&mut self, py: Python<'py>, part: usize) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        Ok(encoded(py, self.0.over(part).map_err(value_error)?))
    }

    fn end<'py>(&mut self, py: Python<'py>, counters: Vec<String>) -> Vec<Bound<'py, PyBytes>> {
        encoded(py, self.0.end(&counters))
    }
}

/// The shift of a part's clock, when the load began, and the time now: in nanoseconds.
fn arrived((shift, begin, now): (i64, u64, u64)) -> Arrival {
    Arrival { shift, begin: Nanos(begin), now: Nanos(now) }
}

/// The frames without their lengths.
fn encoded(py: Python<'_>, frames: impl IntoIterator<Item = Frame>) -> Vec<Bound<'_, PyBytes>> {
    frames.into_iter().map(|frame| PyBytes::new(py, &frame.encode()[4..])).collect()
}
