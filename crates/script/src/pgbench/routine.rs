//! Routines with a SQL body, whose semicolons do not end the command.
//!
//! Looks at words only, as psql does. That is enough to find the end of `BEGIN ATOMIC … END`; the
//! SQL itself is not checked.

/// How much of a routine has been read.
#[derive(Default)]
pub(super) struct Routine {
    stage: Stage,
    depth: u32,
}

/// How far the words match `CREATE [OR REPLACE] {FUNCTION | PROCEDURE}`.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Start,
    Create,
    Or,
    Replace,
    Routine,
    Other,
}

impl Routine {
    /// Whether a body is open.
    pub(super) fn is_open(&self) -> bool {
        self.depth > 0
    }

    /// Handles the command's next word outside brackets.
    pub(super) fn word(&mut self, word: &str) {
        let word = word.to_ascii_lowercase();
        match (self.stage, word.as_str()) {
            (Stage::Routine, _) => self.body(&word),
            (Stage::Start, "create") => self.stage = Stage::Create,
            (Stage::Create, "or") => self.stage = Stage::Or,
            (Stage::Or, "replace") => self.stage = Stage::Replace,
            (Stage::Create | Stage::Replace, "function" | "procedure") => {
                self.stage = Stage::Routine;
            }
            _ => self.stage = Stage::Other,
        }
    }

    /// `CASE` ends with `END` too.
    fn body(&mut self, word: &str) {
        match word {
            "begin" => self.depth += 1,
            "case" if self.depth > 0 => self.depth += 1,
            "end" => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }
}
