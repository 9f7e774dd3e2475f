//! The other side of the protocols, for the simulator, the benches and the tests.
//!
//! No database: answers are made beforehand and their bytes are copied. It keeps to the
//! protocol as a real server does, so that a client cannot tell it from one; it is as quick as
//! copying, so that a bench measures the client.

pub mod mysql;
pub mod postgres;

/// Whether a statement is of one of these kinds.
fn begins_with_one_of(sql: &str, words: &[&str]) -> bool {
    let sql = sql.as_bytes().trim_ascii_start();
    let begins = |word: &str| {
        sql.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word.as_bytes()))
    };
    words.iter().any(|word| begins(word))
}
