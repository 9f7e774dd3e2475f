//! Parameters in the text of a statement: `?` in scripts, `$1` for PostgreSQL, or the values
//! themselves where nothing is prepared.

use super::settings::Driver;
use dbdyno_model::{Value, write_double};
use dbdyno_sql::{Kind, tokens};
use std::fmt::Write;

/// The text with each `?` outside quotes and comments replaced.
fn replaced(sql: &str, driver: Driver, mut replace: impl FnMut(usize, &mut String)) -> String {
    let mut out = String::with_capacity(sql.len() + 16);
    let mut count = 0;
    for token in tokens(sql, driver.dialect()) {
        if token.kind == Kind::Placeholder {
            replace(count, &mut out);
            count += 1;
        } else {
            out.push_str(token.text);
        }
    }
    out
}

/// The text with its parameters as PostgreSQL writes them.
pub(super) fn numbered(sql: &str, driver: Driver) -> String {
    replaced(sql, driver, |place, out| {
        let _ = write!(out, "${}", place + 1); // writing to a String does not fail
    })
}

/// The number of parameters, as the server counts them.
pub(super) fn count(sql: &str, driver: Driver) -> usize {
    tokens(sql, driver.dialect()).filter(|token| token.kind == Kind::Placeholder).count()
}

/// The text with its values inserted, formatted as in sysbench.
pub(super) fn filled(sql: &str, values: &[Value], driver: Driver) -> String {
    replaced(sql, driver, |place, out| {
        write_value(values.get(place).unwrap_or(&Value::Null), driver, out);
    })
}

fn write_value(value: &Value, driver: Driver, out: &mut String) {
    match value {
        Value::Null => out.push_str("NULL"),
        Value::Bool(truth) => out.push_str(if *truth { "true" } else { "false" }),
        Value::Int(number) => {
            let _ = write!(out, "{number}");
        }
        Value::Double(number) => write_double(out, *number),
        Value::Text(text) => {
            let text = text.replace('\'', "''");
            let _ = match driver {
                Driver::Mysql => write!(out, "'{}'", text.replace('\\', "\\\\")),
                Driver::Pgsql => write!(out, "'{text}'"),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Driver, count, filled};
    use dbdyno_model::Value;

    const EACH: [Driver; 2] = [Driver::Mysql, Driver::Pgsql];

    #[test]
    fn question_marks_are_numbered_outside_of_quotes_and_comments() {
        let numbered = |sql| {
            let [mysql, pgsql] = EACH.map(|driver| super::numbered(sql, driver));
            assert_eq!(mysql, pgsql);
            pgsql
        };
        assert_eq!(numbered("a = ? and b = ?"), "a = $1 and b = $2");
        assert_eq!(numbered("'?' \"?\" /* ? */ ? -- ?\n?"), "'?' \"?\" /* ? */ $1 -- ?\n$2");
        assert_eq!(super::numbered("`?` ?", Driver::Mysql), "`?` $1");
        assert_eq!(super::numbered("E'\\'?' $$?$$ ?", Driver::Pgsql), "E'\\'?' $$?$$ $1");
        assert_eq!(numbered("'it''s ?' ?"), "'it''s ?' $1");
        assert_eq!(numbered("ü ? '"), "ü $1 '");
    }

    #[test]
    fn parameters_are_counted_as_each_server_reads_its_strings() {
        for driver in EACH {
            assert_eq!(count("select 1", driver), 0);
            assert_eq!(count("a = ? and b = '?' and c = ? -- ?", driver), 2);
        }
        assert_eq!(count("a = 'it\\'s ?' and b = ?", Driver::Mysql), 1);
        assert_eq!(count("a = 'c:\\' and b = ?", Driver::Pgsql), 1);
    }

    #[test]
    fn comments_are_those_of_each_server() {
        for (sql, mysql, pgsql) in [
            ("select 1 # ?\n + ?", 1, 2),
            ("select 5--?", 1, 0),
            ("select 1 /*! + ? */", 1, 0),
            ("select /*/ ? */ ?", 1, 1),
            ("select /* /* */ ? */ ?", 2, 1),
            ("select ? /*", 1, 1),
        ] {
            assert_eq!(EACH.map(|driver| count(sql, driver)), [mysql, pgsql], "{sql}");
        }
    }

    #[test]
    fn values_take_the_place_of_question_marks() {
        let values = [Value::Int(-1), Value::Text("it's".into()), Value::Null, Value::Double(0.5)];
        for driver in EACH {
            assert_eq!(filled("(?, ?, ?, ?)", &values, driver), "(-1, 'it''s', NULL, 0.5)");
            assert_eq!(filled("? ?", &[Value::Int(1)], driver), "1 NULL");
        }
    }

    #[test]
    fn a_backslash_is_itself_in_each_servers_text() {
        let (sql, values) = ("a = 'it\\'s ?' or b = ?", [Value::Text("c:\\".into())]);
        assert_eq!(filled(sql, &values, Driver::Mysql), "a = 'it\\'s ?' or b = 'c:\\\\'");
        assert_eq!(filled("b = ?", &values, Driver::Pgsql), "b = 'c:\\'");
    }
}
