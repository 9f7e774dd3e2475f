//! The message about a script that can never work: where it fails, with what error, and what to do.

use dbdyno_load::HOPELESS_AFTER;
use dbdyno_model::{ServerError, Statement};

/// The longest excerpt of a statement in the message.
const SQL_CHARACTERS_MAX: usize = 160;

/// The message; `statement` is none where the script built it while running.
pub(super) fn hopeless_message(
    script: &str,
    statement: Option<&Statement>,
    error: &ServerError,
) -> String {
    let place = statement.map_or(0, |statement| statement.line);
    let place = if place == 0 { String::new() } else { format!(":{place}") };
    let sql = statement.map_or(String::new(), |one| format!(", in: {}", in_one_line(&one.source)));
    format!(
        "{script}{place} can never work: {} {}{sql} (its first {HOPELESS_AFTER} failures are all \
         of kinds that a retry cannot fix; --max-failures 100% ignores them)",
        error.code, error.message
    )
}

fn in_one_line(sql: &str) -> String {
    let line = sql.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SQL_CHARACTERS_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::hopeless_message;
    use dbdyno_model::{ServerError, Statement};

    fn statement(line: u32, source: &str) -> Statement {
        Statement { line, source: source.into(), ..Statement::default() }
    }

    fn message(statement: Option<&Statement>) -> String {
        let error = ServerError::from_sqlstate("42P01", "relation \"nowhere\" does not exist");
        hopeless_message("app.sql", statement, &error)
    }

    #[test]
    fn the_place_is_where_a_person_looks() {
        assert_eq!(
            message(Some(&statement(3, "select *\n  from nowhere;"))),
            "app.sql:3 can never work: 42P01 relation \"nowhere\" does not exist, \
             in: select * from nowhere; (its first 10 failures are all of kinds \
             that a retry cannot fix; --max-failures 100% ignores them)"
        );
    }

    #[test]
    fn without_a_line_the_script_is_named() {
        let start = "app.sql can never work: 42P01 relation \"nowhere\" does not exist";
        assert!(
            message(Some(&statement(0, "select"))).starts_with(&format!("{start}, in: select ("))
        );
        assert!(message(None).starts_with(&format!("{start} (")));
    }

    #[test]
    fn a_long_statement_is_cut_between_characters() {
        let message = message(Some(&statement(1, &"é".repeat(500))));
        assert!(message.contains(&format!("in: {}… (", "é".repeat(160))));
    }
}
