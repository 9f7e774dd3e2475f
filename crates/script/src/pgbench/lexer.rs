//! Tokens of an expression.
//!
//! An expression ends at the end of its line; a backslash at the very end joins the next line to
//! it.

use super::chars::{is_name, is_name_start, skip_while};
use super::line::skip_blanks;
use super::source::Flaw;
use std::ops::Range;

/// A token of an expression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Token<'a> {
    Integer(i64),
    /// 9223372036854775808, which fits in 64 bits only when negated.
    IntegerBound,
    Double(f64),
    /// `:name`
    Variable(&'a str),
    /// A word that is not a keyword: a function's name.
    Word(&'a str),
    /// An operator, a bracket, a comma, or a keyword in lower case.
    Symbol(&'static str),
}

/// Longer symbols come before those they begin with.
const SYMBOLS: [&str; 21] = [
    "<=", ">=", "<>", "!=", "<<", ">>", "<", ">", "=", "+", "-", "*", "/", "%", "|", "&", "#", "~",
    "(", ")", ",",
];

const KEYWORDS: [&str; 14] = [
    "and", "or", "not", "is", "isnull", "notnull", "null", "true", "false", "case", "when", "then",
    "else", "end",
];

/// A token and its position.
pub(super) type Placed<'a> = (Token<'a>, Range<usize>);

/// All tokens of the expression in `span` of the text.
pub(super) fn tokens(text: &str, span: Range<usize>) -> Result<Vec<Placed<'_>>, Flaw> {
    let text = &text[..span.end];
    let mut tokens = Vec::new();
    let mut at = skip_blanks(text, span.start);
    while at < text.len() {
        let (token, end) = token(text, at)?;
        tokens.push((token, at..end));
        at = skip_blanks(text, end);
    }
    Ok(tokens)
}

fn token(text: &str, at: usize) -> Result<(Token<'_>, usize), Flaw> {
    let rest = &text[at..];
    let first = rest.chars().next().unwrap_or('\n');
    let second = rest[first.len_utf8()..].chars().next().unwrap_or('\n');
    if first == ':' && is_name(second) {
        let end = skip_while(text, at + 1, is_name);
        return Ok((Token::Variable(&text[at + 1..end]), end));
    }
    if first.is_ascii_digit() || (first == '.' && second.is_ascii_digit()) {
        return number(text, at);
    }
    if is_name_start(first) {
        let end = skip_while(text, at, is_name);
        return Ok((word(&text[at..end]), end));
    }
    match SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
        Some(symbol) => Ok((Token::Symbol(symbol), at + symbol.len())),
        None => {
            Err(Flaw::new(at..at + first.len_utf8(), "an expression cannot contain this character"))
        }
    }
}

fn word(word: &str) -> Token<'_> {
    match KEYWORDS.iter().find(|keyword| keyword.eq_ignore_ascii_case(word)) {
        Some(keyword) => Token::Symbol(keyword),
        None => Token::Word(word),
    }
}

fn number(text: &str, at: usize) -> Result<(Token<'_>, usize), Flaw> {
    let digits_end = skip_while(text, at, |c| c.is_ascii_digit());
    let end = exponent_end(text, fraction_end(text, digits_end));
    let literal = &text[at..end];
    let token = if end == digits_end { integer(literal) } else { double(literal) };
    match token {
        Some(token) => Ok((token, end)),
        None => Err(Flaw::new(at..end, "this number is too large")),
    }
}

fn integer(digits: &str) -> Option<Token<'_>> {
    const BOUND: u64 = 1 << 63;
    match digits.parse::<u64>() {
        Ok(BOUND) => Some(Token::IntegerBound),
        Ok(number) => i64::try_from(number).ok().map(Token::Integer),
        Err(_) => None,
    }
}

fn double(literal: &str) -> Option<Token<'_>> {
    literal.parse().ok().filter(|number: &f64| number.is_finite()).map(Token::Double)
}

fn fraction_end(text: &str, at: usize) -> usize {
    match text[at..].strip_prefix('.') {
        Some(_) => skip_while(text, at + 1, |c| c.is_ascii_digit()),
        None => at,
    }
}

/// The end of an exponent at this offset; the offset itself when no digits follow the letter.
fn exponent_end(text: &str, at: usize) -> usize {
    let Some(rest) = text[at..].strip_prefix(['e', 'E']) else { return at };
    let sign = usize::from(rest.starts_with(['+', '-']));
    let digits = at + 1 + sign;
    let end = skip_while(text, digits, |c| c.is_ascii_digit());
    if end > digits { end } else { at }
}

#[cfg(test)]
mod tests {
    use super::{Token, tokens};

    fn lex(text: &str) -> Vec<Token<'_>> {
        tokens(text, 0..text.len()).unwrap().into_iter().map(|(token, _)| token).collect()
    }

    #[test]
    fn numbers_end_where_they_stop_making_sense() {
        assert_eq!(
            lex("1. .5 1e2"),
            [Token::Double(1.0), Token::Double(0.5), Token::Double(100.0)]
        );
        assert_eq!(lex("1e"), [Token::Integer(1), Token::Word("e")]);
        assert_eq!(lex("1e+"), [Token::Integer(1), Token::Word("e"), Token::Symbol("+")]);
        assert_eq!(lex("9223372036854775808"), [Token::IntegerBound]);
    }

    #[test]
    fn numbers_out_of_range_are_flaws_with_their_place() {
        for text in ["1 + 9223372036854775809", "1 + 1e400", "1 + 99999999999999999999999999"] {
            assert_eq!(tokens(text, 0..text.len()).unwrap_err().span, 4..text.len());
        }
    }

    #[test]
    fn the_longest_symbol_wins_and_keywords_have_no_case() {
        assert_eq!(
            lex("a<=:b AND:c<>Android"),
            [
                Token::Word("a"),
                Token::Symbol("<="),
                Token::Variable("b"),
                Token::Symbol("and"),
                Token::Variable("c"),
                Token::Symbol("<>"),
                Token::Word("Android"),
            ]
        );
    }

    #[test]
    fn lines_are_joined_by_a_closing_backslash() {
        assert_eq!(lex("1 \\\n 2\\\r\n"), [Token::Integer(1), Token::Integer(2)]);
        assert!(tokens("1 \\ 2", 0..5).is_err());
    }
}
