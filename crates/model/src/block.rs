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
    ///
    /// This is done for each text that a script generates, and most are none of these.
    pub fn of(sql: &str) -> Self {
        let mut found = Self::default();
        sql.split(';').for_each(|statement| found.add(statement));
        found
    }

    /// Adds what one statement asks.
    fn add(&mut self, statement: &str) {
        let statement = without_leading_comments(statement);
        let length = statement.bytes().take_while(u8::is_ascii_alphabetic).count();
        let (first, rest) = statement.split_at(length);
        let Some(verb) = Verb::of(first) else { return };
        let mut words = rest.split_whitespace();
        let second = words.next().unwrap_or_default();
        let is = |word: &str, one: &str| word.eq_ignore_ascii_case(one);
        let is_transaction = is(second, "transaction");
        // What follows COMMIT WORK or ROLLBACK TRANSACTION.
        let third = if is_transaction || is(second, "work") {
            words.next().unwrap_or_default()
        } else {
            second
        };
        match verb {
            Verb::Begin => self.begins = !is(third, "not"),
            Verb::Start => self.begins |= is_transaction,
            Verb::Commit if !is(third, "prepared") => self.ends = Some(BlockEnd::Commit),
            Verb::Prepare if is_transaction => self.ends = Some(BlockEnd::Commit),
            Verb::Rollback if !is(third, "to") && !is(third, "prepared") => {
                self.ends = Some(BlockEnd::Rollback);
            }
            Verb::Commit | Verb::Prepare | Verb::Rollback => {}
        }
    }
}

/// The first word of a statement about transaction blocks.
#[derive(Clone, Copy)]
enum Verb {
    Begin,
    Start,
    Commit,
    Prepare,
    Rollback,
}

impl Verb {
    /// The verb that a statement begins with. Most begin with another: its length and its first
    /// letter mostly say so.
    fn of(first: &str) -> Option<Self> {
        let is = |word: &str| first.eq_ignore_ascii_case(word);
        match (first.len(), first.as_bytes().first()?.to_ascii_lowercase()) {
            (5, b'b') if is("begin") => Some(Self::Begin),
            (5, b's') if is("start") => Some(Self::Start),
            (6, b'c') if is("commit") => Some(Self::Commit),
            (3, b'e') if is("end") => Some(Self::Commit),
            (7, b'p') if is("prepare") => Some(Self::Prepare),
            (8, b'r') if is("rollback") => Some(Self::Rollback),
            (5, b'a') if is("abort") => Some(Self::Rollback),
            _ => None,
        }
    }
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
