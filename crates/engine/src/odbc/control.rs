//! Statements that begin and end transactions, known by their text.
//!
//! ODBC does not tell whether a transaction is open, so that is followed from what was asked.

/// What a statement does to the transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Control {
    Begin,
    Commit,
    Rollback,
}

impl Control {
    /// What the text does, if it does nothing else.
    pub(super) fn of(sql: &str) -> Option<Self> {
        let words = sql.trim().trim_end_matches(';').to_lowercase();
        let words: Vec<&str> = words.split_whitespace().collect();
        match words[..] {
            ["begin"] | ["begin" | "start", "transaction" | "work"] => Some(Self::Begin),
            ["commit" | "end"] | ["commit" | "end", "transaction" | "work"] => Some(Self::Commit),
            ["rollback" | "abort"] | ["rollback" | "abort", "transaction" | "work"] => {
                Some(Self::Rollback)
            }
            _ => None,
        }
    }

    /// The statement, in the words that every database with such statements knows.
    pub(super) fn sql(self) -> &'static str {
        match self {
            Self::Begin => "BEGIN",
            Self::Commit => "COMMIT",
            Self::Rollback => "ROLLBACK",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Control;

    #[test]
    fn bare_statements_are_known_and_others_left_to_the_database() {
        for (sql, control) in [
            ("begin", Some(Control::Begin)),
            (" START  transaction ; ", Some(Control::Begin)),
            ("end;", Some(Control::Commit)),
            ("Commit Work", Some(Control::Commit)),
            ("ROLLBACK", Some(Control::Rollback)),
            ("abort", Some(Control::Rollback)),
            ("begin pay(:amount); end;", None),
            ("rollback to savepoint s", None),
            ("select 1", None),
            ("", None),
        ] {
            assert_eq!(Control::of(sql), control, "{sql}");
        }
    }
}
