//! Problems of a script, found before anything runs.
//!
//! A problem is a position in a named script, the text there, and a message. Checking continues
//! after each problem, because people want to see all of them at once.

use serde::Serialize;
use std::fmt;

/// Whether a run may start nevertheless.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// It may not start.
    Error,
    /// It may start, but probably does not do what was meant.
    Warning,
}

/// One problem.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// How bad it is.
    pub severity: Severity,
    /// Name of the script; empty when the problem lies outside all scripts.
    pub script: String,
    /// Line, from 1; 0 outside all scripts.
    pub line: u32,
    /// Column in characters, from 1; 0 outside all scripts.
    pub column: u32,
    /// The offending text.
    pub text: String,
    /// What is wrong with it.
    pub message: String,
}

impl Problem {
    /// A problem with something other than the scripts.
    pub fn outside(text: &str, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            script: String::new(),
            line: 0,
            column: 0,
            text: text.into(),
            message: message.into(),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(out, "{}:{}:{}: ", self.script, self.line, self.column)?;
        }
        out.write_str(match self.severity {
            Severity::Error => "error: ",
            Severity::Warning => "warning: ",
        })?;
        out.write_str(&self.message)?;
        if self.text.is_empty() { Ok(()) } else { write!(out, ": {}", self.text) }
    }
}
