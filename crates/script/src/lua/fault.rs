//! Errors of a script in few lines: the message, and the script's own lines of the traceback.

use crate::Fault;

/// The name of the library's chunks in tracebacks, whose lines are not shown.
pub(super) const LIBRARY_NAME: &str = "dbdyno";

/// Maximum number of traceback lines shown.
const TRACE_LINES_MAX: usize = 8;

/// Why a script cannot continue.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(super) message: String,
    /// Of the server's error, if that is why.
    pub(super) sqlstate: Option<String>,
}

impl From<String> for Failure {
    fn from(message: String) -> Self {
        Self { message, sqlstate: None }
    }
}

/// The message of an error raised through Lua's C interface.
pub(crate) fn message_of(error: &mlua::Error) -> String {
    match error {
        mlua::Error::CallbackError { cause, .. } => message_of(cause),
        mlua::Error::RuntimeError(message) | mlua::Error::SyntaxError { message, .. } => {
            message.clone()
        }
        other => other.to_string(),
    }
}

/// A message without the library's own lines.
pub(super) fn trimmed(message: &str) -> String {
    let mut lines = message.lines();
    let first = without_place(lines.next().unwrap_or_default());
    let trace = lines.filter(|line| line.starts_with('\t') && !is_internal(line));
    let trace: Vec<&str> = trace.take(TRACE_LINES_MAX).collect();
    std::iter::once(first).chain(trace).collect::<Vec<_>>().join("\n")
}

/// A script's failure as its fault.
pub(crate) fn fault(failure: Failure, script: &str) -> Fault {
    let message = trimmed(&failure.message);
    let line = line_in(&message, script);
    Fault { script: 0, command: 0, line, message, sqlstate: failure.sqlstate }
}

/// The first line of this script that a message names; 0 when it names none.
pub(super) fn line_in(message: &str, script: &str) -> u32 {
    let place = format!("{script}:");
    let after = message.find(&place).map_or("", |found| &message[found + place.len()..]);
    let digits = after.find(|symbol: char| !symbol.is_ascii_digit()).unwrap_or(after.len());
    after[..digits].parse().unwrap_or(0)
}

/// An error raised by the library begins with a position in the library, which is of no use to the
/// user.
fn without_place(line: &str) -> &str {
    let Some(rest) = line.strip_prefix(LIBRARY_NAME).and_then(|rest| rest.strip_prefix(':')) else {
        return line;
    };
    rest.split_once(": ").map_or(line, |(_, message)| message)
}

fn is_internal(line: &str) -> bool {
    let line = line.trim_start();
    let is_built_in = line.starts_with("[C]:") || line.starts_with("[builtin#");
    is_built_in || line.starts_with(&format!("{LIBRARY_NAME}:"))
}

#[cfg(test)]
mod tests {
    use super::{line_in, trimmed};

    const MESSAGE: &str = "dbdyno:12: SQL error\nstack traceback:\n\tdbdyno:12: in function 'query'\n\
                           \toltp.lua:7: in function <oltp.lua:5>\n\t[C]: in function 'xpcall'";

    #[test]
    fn only_the_scripts_own_lines_are_shown() {
        assert_eq!(trimmed(MESSAGE), "SQL error\n\toltp.lua:7: in function <oltp.lua:5>");
        assert_eq!(trimmed("a.lua:1: dbdyno: odd"), "a.lua:1: dbdyno: odd");
    }

    #[test]
    fn the_line_is_the_first_that_the_script_has_in_it() {
        assert_eq!(line_in(MESSAGE, "oltp.lua"), 7);
        assert_eq!(line_in(MESSAGE, "other.lua"), 0);
        assert_eq!(line_in("oltp.lua:x", "oltp.lua"), 0);
    }
}
