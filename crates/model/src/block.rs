//! What a text does to the open transaction block, by its words: MySQL's protocol never says
//! whether a block was committed or rolled back, and PostgreSQL's tag does not say who wanted it.

/// How a text asks for the end of a transaction block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockEnd {
    /// COMMIT, END, PREPARE TRANSACTION.
    Commit,
    /// ROLLBACK, ABORT; not a rollback to a savepoint, which leaves the block open.
    Rollback,
}

/// What a text asks of transaction blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockWords {
    /// Whether one of its statements begins a block.
    pub begins: bool,
    /// How its last statement that ends a block ends it.
    pub ends: Option<BlockEnd>,
}

impl BlockWords {
    /// Of a text of one or several statements. A semicolon within a literal counts as the end of a
    /// statement: what follows it matters only if it reads like a COMMIT.
    pub fn of(sql: &str) -> Self {
        let mut found = Self::default();
        for statement in sql.split(';') {
            let statement = without_leading_comments(statement);
            // Most statements are none of these: their first letter says so.
            if !statement
                .starts_with(['a', 'b', 'c', 'e', 'p', 'r', 's', 'A', 'B', 'C', 'E', 'P', 'R', 'S'])
            {
                continue;
            }
            let mut words = statement.split_whitespace().map(str::to_ascii_lowercase);
            let first = words.next().unwrap_or_default();
            let mut rest = words.skip_while(|word| matches!(word.as_str(), "work" | "transaction"));
            match first.as_str() {
                "begin" => found.begins = rest.next().as_deref() != Some("not"),
                "start" => found.begins |= is_transaction(statement),
                "commit" | "end" if rest.next().as_deref() != Some("prepared") => {
                    found.ends = Some(BlockEnd::Commit);
                }
                "prepare" if is_transaction(statement) => found.ends = Some(BlockEnd::Commit),
                "rollback" | "abort"
                    if !matches!(rest.next().as_deref(), Some("to" | "prepared")) =>
                {
                    found.ends = Some(BlockEnd::Rollback);
                }
                _ => {}
            }
        }
        found
    }
}

/// Whether the second word is TRANSACTION.
fn is_transaction(statement: &str) -> bool {
    statement.split_whitespace().nth(1).is_some_and(|word| word.eq_ignore_ascii_case("transaction"))
}

fn without_leading_comments(mut statement: &str) -> &str {
    loop {
        statement = statement.trim_start();
        let end = if statement.starts_with("--") || statement.starts_with('#') {
            statement.find('\n').map(|at| at + 1)
        } else if statement.starts_with("/*") {
            statement.find("*/").map(|at| at + 2)
        } else {
            return statement;
        };
        statement = &statement[end.unwrap_or(statement.len())..];
    }
}

#[cfg(test)]
mod tests {
    use super::{BlockEnd, BlockWords};

    #[test]
    fn the_words_of_a_text_say_what_it_asks() {
        const COMMIT: Option<BlockEnd> = Some(BlockEnd::Commit);
        const ROLLBACK: Option<BlockEnd> = Some(BlockEnd::Rollback);
        for (sql, begins, ends) in [
            ("BEGIN", true, None),
            ("begin isolation level serializable", true, None),
            ("begin not atomic select 1", false, None),
            ("start transaction read only", true, None),
            ("start slave", false, None),
            ("commit", false, COMMIT),
            ("/* a */ END;", false, COMMIT),
            ("-- over\n commit and chain", false, COMMIT),
            ("commit prepared 'x'", false, None),
            ("prepare transaction 'x'", false, COMMIT),
            ("prepare p as select 1", false, None),
            ("rollback", false, ROLLBACK),
            ("ABORT WORK", false, ROLLBACK),
            ("rollback work to savepoint s", false, None),
            ("rollback to s", false, None),
            ("rollback prepared 'x'", false, None),
            ("begin; insert into t values (1); rollback", true, ROLLBACK),
            ("begin; rollback to s; commit; select 1", true, COMMIT),
            ("select 'rollback'", false, None),
            ("/* open", false, None),
            ("", false, None),
        ] {
            assert_eq!(BlockWords::of(sql), BlockWords { begins, ends }, "{sql}");
        }
    }
}
