//! Whether a script uses the results of its statements.
//!
//! Most load scripts only send. Rows that are never used need not be kept, which would be most of a
//! client's CPU time. The script's text is read conservatively: rows are dropped only when each
//! mention of the function is a call whose value is dropped, and nothing is mentioned that would
//! access them in another way.

use dbdyno_model::Keep;

/// Methods that access rows without the value of the call that requested them.
const LATER: [&str; 2] = ["next_result", "more_results"];

/// What to keep of the answers to texts.
pub(super) fn keep_of_queries(texts: &[&str]) -> Keep {
    let is_sent_only = are_dropped(&["query", "db_query"], texts);
    keep(is_sent_only && !are_mentioned(&["query_row"], texts), texts)
}

/// What to keep of the answers to prepared statements.
pub(super) fn keep_of_executions(texts: &[&str]) -> Keep {
    keep(are_dropped(&["execute", "db_execute"], texts), texts)
}

fn keep(is_dropped: bool, texts: &[&str]) -> Keep {
    if is_dropped && !are_mentioned(&LATER, texts) { Keep::None } else { Keep::AllRows }
}

/// Whether all mentions of these names are calls that are statements of their own.
fn are_dropped(names: &[&str], texts: &[&str]) -> bool {
    names.iter().all(|name| every_mention(name, texts, stands_alone))
}

/// Whether any of these names is mentioned at all.
fn are_mentioned(names: &[&str], texts: &[&str]) -> bool {
    names.iter().any(|name| !every_mention(name, texts, |_, _| false))
}

/// Whether the name is only used in this way, and not in a string.
fn every_mention(name: &str, texts: &[&str], is_so: fn(&[Token<'_>], usize) -> bool) -> bool {
    texts.iter().all(|text| {
        let tokens = tokens(text);
        (0..tokens.len()).all(|place| match tokens[place] {
            Token::Name(found) if found == name => is_so(&tokens, place),
            Token::Text(text) => !mentions(text, name),
            _ => true,
        })
    })
}

/// Whether a string may be a piece of program that uses `name`: it is the name itself, as of a
/// field, or has it as a method or called. In an option's help text the word means nothing.
fn mentions(text: &str, name: &str) -> bool {
    let quotes = |symbol| matches!(symbol, '\'' | '"');
    text.trim_matches(quotes) == name
        || text.match_indices(name).any(|(place, _)| {
            text[..place].trim_end().ends_with(['.', ':'])
                || text[place + name.len()..].trim_start().starts_with('(')
        })
}

/// A word, a symbol or a string of the language; comments and white space are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    Name(&'a str),
    Text(&'a str),
    Symbol(char),
}

/// Words that are followed by an expression, so that a call's value is used.
const BEFORE_VALUES: [&str; 9] =
    ["return", "and", "or", "not", "if", "elseif", "while", "until", "in"];

/// Words after which a statement may begin.
const BEFORE_STATEMENTS: [&str; 5] = ["then", "do", "else", "repeat", "end"];

/// Whether the method at this index is called, and the call is a statement.
fn stands_alone(tokens: &[Token<'_>], place: usize) -> bool {
    let called = tokens.get(place + 1) == Some(&Token::Symbol('('));
    let before = place.checked_sub(1).map(|before| tokens[before]);
    let is_method = matches!(before, Some(Token::Symbol(':' | '.')));
    // Scripts for sysbench 0.5 call global functions.
    let is_global = matches!(tokens[place], Token::Name(name) if name.starts_with("db_"))
        && before != Some(Token::Name("function"));
    called
        && (is_method || is_global)
        && match end_of_brackets(tokens, place + 1) {
            Some(end) => drops_value_after(tokens, end) && drops_value_before(tokens, place),
            None => false,
        }
}

/// The token after the bracket that closes the one at `open`.
fn end_of_brackets(tokens: &[Token<'_>], open: usize) -> Option<usize> {
    let mut depth = 0;
    for (place, token) in tokens.iter().enumerate().skip(open) {
        match token {
            Token::Symbol('(' | '[' | '{') => depth += 1,
            Token::Symbol(')' | ']' | '}') => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(place + 1);
        }
    }
    None
}

/// The call must be followed by the beginning of another statement, or by the end of a block.
fn drops_value_after(tokens: &[Token<'_>], end: usize) -> bool {
    match tokens.get(end) {
        None | Some(Token::Symbol(';')) => true,
        Some(Token::Name(word)) => !matches!(*word, "and" | "or" | "then"),
        Some(_) => false,
    }
}

/// What the method is called on must be the beginning of a statement.
fn drops_value_before(tokens: &[Token<'_>], method: usize) -> bool {
    match begin_of_prefix(tokens, method).checked_sub(1).map(|before| tokens[before]) {
        None | Some(Token::Symbol(';' | ')') | Token::Text(_)) => true,
        Some(Token::Name(word)) => !BEFORE_VALUES.contains(&word),
        Some(Token::Symbol(symbol)) => symbol == ']' || symbol == '}',
    }
}

/// Where `a.b[c]:method` begins: back over names, dots, colons and brackets.
fn begin_of_prefix(tokens: &[Token<'_>], method: usize) -> usize {
    let mut place = method;
    while place >= 2 && matches!(tokens[place - 1], Token::Symbol(':' | '.')) {
        place -= 2;
        while matches!(tokens[place], Token::Symbol(']' | ')')) {
            let Some(open) = begin_of_brackets(tokens, place) else { return place };
            let Some(before) = open.checked_sub(1) else { return open };
            // Of an index or a call, the prefix goes on before it; an expression in parentheses
            // begins it.
            if !ends_prefix(tokens[before]) {
                return open;
            }
            place = before;
        }
    }
    place
}

/// Whether what follows in brackets is an index of this, or a call of it.
fn ends_prefix(token: Token<'_>) -> bool {
    match token {
        Token::Name(word) => !BEFORE_VALUES.contains(&word) && !BEFORE_STATEMENTS.contains(&word),
        Token::Text(_) => true,
        Token::Symbol(symbol) => matches!(symbol, ')' | ']'),
    }
}

/// The bracket that is closed by the one at `close`.
fn begin_of_brackets(tokens: &[Token<'_>], close: usize) -> Option<usize> {
    let mut depth = 0;
    for place in (0..=close).rev() {
        match tokens[place] {
            Token::Symbol(')' | ']' | '}') => depth += 1,
            Token::Symbol('(' | '[' | '{') => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(place);
        }
    }
    None
}

fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(symbol) = rest.chars().next() {
        let (token, length) = next_token(rest, symbol);
        found.extend(token);
        rest = &rest[length..];
    }
    found
}

fn next_token(rest: &str, symbol: char) -> (Option<Token<'_>>, usize) {
    if let Some(comment) = rest.strip_prefix("--") {
        let length = long_bracket(comment)
            .map_or_else(|| comment.find('\n').unwrap_or(comment.len()), |(_, end)| end);
        return (None, 2 + length);
    }
    if let Some((begin, end)) = long_bracket(rest) {
        return (Some(Token::Text(&rest[begin..end])), end);
    }
    match symbol {
        '\'' | '"' => {
            let end = escaped_bytes(rest);
            (Some(Token::Text(&rest[..end])), end)
        }
        _ if symbol.is_ascii_alphanumeric() || symbol == '_' => {
            let is_part = |next: char| next.is_ascii_alphanumeric() || next == '_';
            let end = rest.find(|next| !is_part(next)).unwrap_or(rest.len());
            (Some(Token::Name(&rest[..end])), end)
        }
        _ if symbol.is_whitespace() => (None, symbol.len_utf8()),
        _ => (Some(Token::Symbol(symbol)), symbol.len_utf8()),
    }
}

/// Beginning and end of the contents of `[[…]]` or `[==[…]==]`.
fn long_bracket(rest: &str) -> Option<(usize, usize)> {
    let level = rest.strip_prefix('[')?.find(|symbol| symbol != '=')?;
    let contents = rest[1 + level..].strip_prefix('[')?;
    let closing = format!("]{}]", "=".repeat(level));
    let begin = 2 + level;
    let end = contents.find(&closing).map_or(rest.len(), |end| begin + end + closing.len());
    Some((begin, end))
}

/// Length of Lua's string that begins here, in which a backslash escapes the next character.
fn escaped_bytes(rest: &str) -> usize {
    let mut symbols = rest.char_indices();
    let quote = symbols.next().map(|(_, quote)| quote);
    while let Some((place, symbol)) = symbols.next() {
        if symbol == '\\' {
            symbols.next();
        } else if Some(symbol) == quote {
            return place + symbol.len_utf8();
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::{keep_of_executions, keep_of_queries};
    use dbdyno_model::Keep;

    #[test]
    fn a_call_that_stands_alone_drops_its_value() {
        for text in [
            "",
            "stmt:execute()",
            "stmt[t].begin:execute() stmt[t][key]:execute()",
            "if x then stmt:execute() else stmt:execute() end",
            "for i = 1, 2 do stmt:execute(f(i)) end",
            "x = f(1)\nstmt:execute()\nlocal y = 2",
            "x = t[1] stmt:execute(); y = \"a\" stmt:execute()",
            "function event() stmt:execute() end",
            "-- rs = stmt:execute()\n--[[ return stmt:execute() ]] stmt:execute()",
            "os.execute(\"sleep 1\")",
            "function event()\n for i = 1, 2 do db_execute(s) end\n db_execute(s) end",
            "help = \"execute all queries in one transaction\" stmt:execute()",
        ] {
            assert_eq!(keep_of_executions(&[text]), Keep::None, "{text}");
        }
    }

    #[test]
    fn any_other_mention_may_use_it() {
        for text in [
            "rs = stmt:execute()",
            "rs = db_execute(s)",
            "return db_execute(s)",
            "f = db_execute",
            "function db_execute(s) end",
            "rs = (a or b):execute()",
            "return (a.x or b.x):execute()",
            "local rs = stmt[t].point:execute()",
            "return stmt:execute()",
            "f(stmt:execute())",
            "f(1, stmt:execute())",
            "t = {stmt:execute()}",
            "t[stmt:execute()] = 1",
            "if stmt:execute() then end",
            "x = a and stmt:execute()",
            "x = a and b[1]:execute()",
            "stmt:execute():fetch_row()",
            "x = 1 + stmt:execute()",
            "local run = stmt.execute",
            "stmt[\"execute\"](stmt)",
            "loadstring([[rs = stmt:execute()]])()",
            "loadstring('f = stmt.execute')()",
            "stmt:execute(",
            "while stmt:execute() do end",
            "stmt:execute() .. ''",
        ] {
            assert_eq!(keep_of_executions(&[text]), Keep::AllRows, "{text}");
        }
    }

    #[test]
    fn rows_that_are_reached_another_way_are_kept() {
        for (text, queries, executions) in [
            ("c = con:query_row('x')", Keep::AllRows, Keep::None),
            ("con:query('x') rs = con:next_result()", Keep::AllRows, Keep::AllRows),
            ("stmt:execute() if con:more_results() then end", Keep::AllRows, Keep::AllRows),
            ("con['query_row'](con, 'x')", Keep::AllRows, Keep::None),
            ("-- query_row\nhelp = 'more_results of a query' query_rows()", Keep::None, Keep::None),
        ] {
            let texts = [text, "con:query('y') stmt:execute()"];
            assert_eq!(keep_of_queries(&texts), queries, "{text}");
            assert_eq!(keep_of_executions(&texts), executions, "{text}");
        }
    }
}
