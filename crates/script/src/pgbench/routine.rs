//! Routines with a SQL body, whose semicolons do not end the command.
//!
//! Looks at words only, as psql does. That is enough to find the end of `BEGIN ATOMIC … END`, and of
//! MySQL's `BEGIN … END` with its `END IF` and `END LOOP`; the SQL itself is not checked.

/// How much of a routine has been read.
#[derive(Default)]
pub(super) struct Routine {
    stage: Stage,
    depth: u32,
    /// Whether the word before, in the same statement, was `END`.
    follows_end: bool,
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
    /// Handles a semicolon; returns whether it ends the command.
    pub(super) fn semicolon(&mut self) -> bool {
        self.follows_end = false;
        self.depth == 0
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

    /// `CASE` ends with `END` too, or with `END CASE`; what other words end was never begun here.
    fn body(&mut self, word: &str) {
        let follows_end = std::mem::replace(&mut self.follows_end, word == "end");
        match word {
            "case" if follows_end => {}
            "begin" => self.depth += 1,
            "case" if self.depth > 0 => self.depth += 1,
            "end" => self.depth = self.depth.saturating_sub(1),
            "if" | "loop" | "repeat" | "while" if follows_end => self.depth += 1,
            _ => {}
        }
    }
}
