//! The server side of the protocols, for the simulator, the benches and the tests.
//!
//! There is no database: answers are built in advance and their bytes are copied. It follows the
//! protocol like a real server, so that a client cannot tell the difference, and costs little more
//! than the copying, so that a bench measures the client.

pub mod mysql;
pub mod postgres;

/// Whether a statement begins with one of these words.
fn begins_with_one_of(sql: &str, words: &[&str]) -> bool {
    let sql = sql.as_bytes().trim_ascii_start();
    let begins = |word: &str| {
        sql.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word.as_bytes()))
    };
    words.iter().any(|word| begins(word))
}
