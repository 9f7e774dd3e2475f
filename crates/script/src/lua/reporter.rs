//! The hooks with which a script reports a run itself.

use super::fault::{Failure, fault};
use super::host::ClientContext;
use super::state::{State, resume};
use super::yielded::Yielded;
use crate::Fault;
use dbdyno_model::Nanos;
use mlua::{IntoLuaMulti, Table};
use std::sync::Arc;

/// The kind of report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    /// About the time since the last one.
    Intermediate,
    /// About the whole run.
    Cumulative,
}

impl Report {
    fn hook(self) -> &'static str {
        match self {
            Self::Intermediate => "report_intermediate",
            Self::Cumulative => "report_cumulative",
        }
    }
}

/// Runs a script's report hooks.
pub struct Reporter {
    state: Arc<State>,
    client: Table,
    context: ClientContext,
    interval: Option<Nanos>,
    percentile: f64,
}

impl Reporter {
    /// None when the script has no such hook.
    pub(super) fn of(
        state: Arc<State>,
        client: Table,
        context: ClientContext,
    ) -> mlua::Result<Option<Self>> {
        let sysbench: Table = client.get("sysbench")?;
        let hooks: Table = sysbench.get("hooks")?;
        if !hooks.contains_key(Report::Intermediate.hook())?
            && !hooks.contains_key(Report::Cumulative.hook())?
        {
            return Ok(None);
        }
        let options: Table = sysbench.get("opt")?;
        let seconds: u64 = options.get("report_interval")?;
        let interval = (seconds > 0).then(|| Nanos::from_secs(seconds));
        let percentile = options.get("percentile")?;
        Ok(Some(Self { state, client, context, interval, percentile }))
    }

    /// The interval of intermediate reports, from `--report-interval`; none without it.
    pub fn interval(&self) -> Option<Nanos> {
        self.interval
    }

    /// The percentile of latencies in reports, from `--percentile`; 0 for none.
    pub fn percentile(&self) -> f64 {
        self.percentile
    }

    /// Calls the script's hook for this report with the statistics, by sysbench's names for them.
    pub fn report(&mut self, report: Report, statistics: &[(&str, f64)]) -> Result<(), Fault> {
        let table = self.state.lua.create_table_from(statistics.iter().copied());
        let table = table.map_err(|error| self.fault(error.to_string()))?;
        self.run("report", (report.hook(), table))
    }

    /// There are no more reports: completes the output of a built-in hook.
    pub fn end(mut self) -> Result<(), Fault> {
        self.run("end_reports", ())
    }

    fn run(&mut self, entry: &str, values: impl IntoLuaMulti) -> Result<(), Fault> {
        match self.resume(entry, values) {
            Ok(Yielded::End) => Ok(()),
            Ok(Yielded::Fault(failure)) => Err(self.fault(failure)),
            Err(message) => Err(self.fault(message)),
            Ok(_) => {
                Err(self.fault("a report hook may neither send requests nor sleep".to_owned()))
            }
        }
    }

    fn resume(&mut self, entry: &str, values: impl IntoLuaMulti) -> Result<Yielded, String> {
        let message_of = |error: mlua::Error| error.to_string();
        let thread = self.state.thread(&self.client).map_err(message_of)?;
        resume(&thread, (&self.client, entry, values), &mut self.context)
    }

    fn fault(&self, failure: impl Into<Failure>) -> Fault {
        fault(failure.into(), &self.state.source.name)
    }
}
