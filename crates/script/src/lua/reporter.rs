//! The hooks by which a script reports a run in its own words.

use super::ask::Ask;
use super::fault::fault;
use super::host::Running;
use super::lane::Lane;
use crate::Fault;
use mlua::Table;
use std::sync::Arc;

/// Which report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    /// Of the time since the last one.
    Intermediate,
    /// Of the whole run.
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

/// Runs a script's hooks for reports.
pub struct Reporter {
    lane: Arc<Lane>,
    client: Table,
    running: Running,
}

impl Reporter {
    pub(super) fn new(lane: Arc<Lane>, client: Table, running: Running) -> Self {
        Self { lane, client, running }
    }

    /// Hands the statistics to the script, by sysbench's names for them; false when the script
    /// has no hook for this report.
    pub fn report(&mut self, report: Report, statistics: &[(&str, f64)]) -> Result<bool, Fault> {
        match self.run(report, statistics) {
            Ok(Ask::End(has_hook)) => Ok(has_hook),
            Ok(Ask::Fault(message)) | Err(message) => Err(self.fault(&message)),
            Ok(_) => Err(self.fault("a report may not talk to the server")),
        }
    }

    fn run(&mut self, report: Report, statistics: &[(&str, f64)]) -> Result<Ask, String> {
        let told = |error: mlua::Error| error.to_string();
        let table = self.lane.lua.create_table_from(statistics.iter().copied()).map_err(told)?;
        let thread = self.lane.thread(&self.client).map_err(told)?;
        let values = (&self.client, "report", report.hook(), table);
        self.lane.resume(&thread, values, &mut self.running)
    }

    fn fault(&self, message: &str) -> Fault {
        fault(message, &self.lane.source.name)
    }
}
