//! Normalizes statements: those that differ only in their values get one text, under which
//! statistics are kept.
//!
//! Numbers and strings become `?`, lists of them `?, …`, digits at the end of a name `#`
//! (`sbtest7`, `s_dist_03`), and runs of white space one blank. The text is for people and for
//! distinguishing statements; it is never sent.

use super::settings::Driver;
use dbdyno_sql::{Kind, tokens};

/// Of a long text (thousands of rows) only the beginning is used.
const BYTES_MAX: usize = 2048;

/// Writes the normalized statement to `out`, which is emptied first.
pub(super) fn normalize(sql: &str, driver: Driver, out: &mut String) {
    out.clear();
    let mut tokens = tokens(beginning(sql.trim()), driver.dialect()).peekable();
    while let Some(token) = tokens.next() {
        match token.kind {
            Kind::String | Kind::Placeholder | Kind::Parameter | Kind::Number => value(out),
            Kind::Word => name(token.text, out),
            Kind::Space => blank(out),
            Kind::Symbol if token.text == ")" => close(out),
            Kind::Symbol if token.text == "-" && begins_value(out) => {
                // The sign of a number belongs to it.
                if tokens.peek().is_none_or(|next| next.kind != Kind::Number) {
                    out.push('-');
                }
            }
            _ => out.push_str(token.text),
        }
    }
    out.truncate(out.trim_end().len());
    if sql.len() > BYTES_MAX {
        drop_cut_row(out);
    }
}

/// Where a text was cut depends on its values: the incomplete row is removed, earlier ones do not
/// depend on it.
fn drop_cut_row(out: &mut String) {
    const MORE_ROWS: &str = "), …";
    if let Some(end) = out.rfind(MORE_ROWS) {
        out.truncate(end + MORE_ROWS.len());
    }
}

/// The part of a text that is used.
pub(super) fn beginning(sql: &str) -> &str {
    let mut end = sql.len().min(BYTES_MAX);
    while !sql.is_char_boundary(end) {
        end -= 1;
    }
    &sql[..end]
}

fn blank(out: &mut String) {
    if !out.ends_with(' ') {
        out.push(' ');
    }
}

/// Whether a sign here belongs to a number: after a bracket, a comma or an operator.
fn begins_value(out: &str) -> bool {
    out.trim_end().ends_with(['(', ',', '=', '<', '>', '+', '*', '/'])
}

/// A value: further values of a list become dots.
fn value(out: &mut String) {
    let before = out.trim_end();
    if let Some(list) = before.strip_suffix(',') {
        let list = list.trim_end();
        if list.ends_with('…') {
            out.truncate(list.len());
            return;
        }
        if list.ends_with('?') {
            out.truncate(list.len());
            out.push_str(", …");
            return;
        }
    }
    out.push('?');
}

/// A closing bracket: further rows of values become dots.
fn close(out: &mut String) {
    out.push(')');
    let Some(open) = out.rfind('(') else { return };
    let row = &out[open..];
    let before = out[..open].trim_end();
    let Some(list) = before.strip_suffix(',').map(str::trim_end) else { return };
    let first = list.strip_suffix(", …").unwrap_or(list);
    if first.ends_with(row) {
        out.truncate(first.len());
        out.push_str(", …");
    }
}

fn name(name: &str, out: &mut String) {
    let stem = name.trim_end_matches(|symbol: char| symbol.is_ascii_digit());
    out.push_str(stem);
    if stem.len() < name.len() {
        out.push('#');
    }
}

#[cfg(test)]
mod tests {
    use super::{Driver, normalize};

    fn normal(sql: &str) -> String {
        normal_for(sql, Driver::Mysql)
    }

    fn normal_for(sql: &str, driver: Driver) -> String {
        let mut out = String::new();
        normalize(sql, driver, &mut out);
        out
    }

    #[test]
    fn a_quote_behind_a_backslash_ends_no_value_of_mysql() {
        assert_eq!(normal("set a = 'it\\'s', b = 'c'"), "set a = ?, b = ?");
        assert_eq!(normal_for("set a = 'c:\\', b = 'c'", Driver::Pgsql), "set a = ?, b = ?");
    }

    #[test]
    fn double_quotes_enclose_a_name_of_postgresql() {
        let sql = "select \"b 2\" from t where c = 'd'";
        assert_eq!(normal_for(sql, Driver::Pgsql), "select \"b 2\" from t where c = ?");
    }

    #[test]
    fn strings_of_postgresql_are_values_in_each_of_their_forms() {
        let sql = "select e'it\\'s', $$it's$$, x'1f' where a$1 = 1";
        assert_eq!(normal_for(sql, Driver::Pgsql), "select ?, … where a$# = ?");
    }

    #[test]
    fn statements_that_differ_in_values_only_have_one_normal_form() {
        for (sql, expected) in [
            ("SELECT c FROM sbtest7 WHERE id=501", "SELECT c FROM sbtest# WHERE id=?"),
            ("SELECT c FROM sbtest7 WHERE id=?", "SELECT c FROM sbtest# WHERE id=?"),
            ("SELECT c FROM sbtest7 WHERE id=$1", "SELECT c FROM sbtest# WHERE id=?"),
            (" select\n\t1.5e3 ,\n'it''s' ", "select ?, …"),
            ("set a = -3, b = a - 3", "set a = ?, b = a - ?"),
            ("where k in (1, 2,3)", "where k in (?, …)"),
            ("where k between 1 and 2", "where k between ? and ?"),
            ("select `a 1` /* 3 */", "select `a 1` /* 3 */"),
            ("where c = \"it's \"\"5\"\"\"", "where c = ?"),
            ("insert into t2 values(1,'a'),(2,'b'),(3,'c')", "insert into t# values(?, …), …"),
            ("insert into t values (1), (2)", "insert into t values (?), …"),
            ("select f(1), g(2), f(1)", "select f(?), g(?), f(?)"),
            ("commit", "commit"),
            ("", ""),
            ("'unfinished", "?"),
            ("größe5 = 'ü", "größe# = ?"),
            ("select 1e-5, -.5, 0x1F", "select ?, …"),
            ("select @a1, 2c, 1e3", "select @a#, 2c, ?"),
        ] {
            assert_eq!(normal(sql), expected);
        }
    }

    #[test]
    fn a_text_of_many_rows_has_the_form_of_its_beginning() {
        let rows = |count: u32| {
            let rows: Vec<String> = (0..count).map(|row| format!("({row}, 'text')")).collect();
            format!("insert into t values {}", rows.join(","))
        };
        assert_eq!(normal(&rows(2)), "insert into t values (?, …), …");
        assert_eq!(normal(&rows(5)), normal(&rows(2)));
        assert_eq!(normal(&rows(90_000)), normal(&rows(2)));
    }
}
