//! Transaction control statements, recognized by their text.
//!
//! ODBC does not report whether a transaction is open, so this is tracked from the statements.

use super::vendor::Transactions;

/// What a statement does to the transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Control {
    Begin,
    Commit,
    Rollback,
}

impl Control {
    /// What the text does to the transaction, if it does nothing else.
    pub(super) fn of(sql: &str, transactions: Transactions) -> Option<Self> {
        let statement = sql.trim().trim_end_matches(';').to_lowercase();
        let words: Vec<&str> = statement.split_whitespace().collect();
        match words[..] {
            ["begin"] | ["begin" | "start", "transaction" | "work" | "tran"] => Some(Self::Begin),
            // Statements with more in them, such as an isolation level, have no equivalent ODBC
            // call.
            ["begin", ..] | ["start", "transaction", ..] => {
                let is_one = transactions == Transactions::Statements && !statement.contains(';');
                is_one.then_some(Self::Begin)
            }
            ["commit" | "end"] | ["commit" | "end", "transaction" | "work" | "tran"] => {
                Some(Self::Commit)
            }
            ["rollback" | "abort"] | ["rollback" | "abort", "transaction" | "work" | "tran"] => {
                Some(Self::Rollback)
            }
            _ => None,
        }
    }

    /// The statement to execute: to end a transaction, words that every database with such
    /// statements knows; to begin one, the text as written.
    pub(super) fn sql(self, written: &str) -> &str {
        match self {
            Self::Begin => written,
            Self::Commit => "COMMIT",
            Self::Rollback => "ROLLBACK",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Control, Transactions};

    #[test]
    fn bare_statements_are_known_and_others_left_to_the_database() {
        for (sql, control) in [
            ("begin", Some(Control::Begin)),
            (" START  transaction ; ", Some(Control::Begin)),
            ("end;", Some(Control::Commit)),
            ("Commit Work", Some(Control::Commit)),
            ("begin tran", Some(Control::Begin)),
            ("commit tran", Some(Control::Commit)),
            ("ROLLBACK", Some(Control::Rollback)),
            ("abort", Some(Control::Rollback)),
            ("begin pay(:amount); end;", None),
            ("rollback to savepoint s", None),
            ("select 1", None),
            ("", None),
        ] {
            for transactions in [Transactions::Statements, Transactions::Calls] {
                assert_eq!(Control::of(sql, transactions), control, "{sql}");
            }
        }
    }

    #[test]
    fn statements_may_begin_a_transaction_of_a_kind() {
        for (sql, control) in [
            ("begin isolation level repeatable read", Some(Control::Begin)),
            ("START TRANSACTION\n WITH CONSISTENT SNAPSHOT;", Some(Control::Begin)),
            ("begin not atomic update t set n = 1; end", None),
            ("start replica", None),
        ] {
            assert_eq!(Control::of(sql, Transactions::Statements), control, "{sql}");
            assert_eq!(Control::of(sql, Transactions::Calls), None, "{sql}");
        }
    }
}
