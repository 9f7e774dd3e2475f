//! One token after the other, without a copy.

/// Whose grammar decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// PostgreSQL (`scan.l`), with `standard_conforming_strings`; psql and pgbench read alike.
    Postgresql,
    /// MySQL and MariaDB (`sql_lex.cc`), in their default SQL mode.
    Mysql,
    /// Any other server, or one that is not known: the SQL standard, and what servers have added
    /// that means nothing else there (`E'…'`, `$$…$$`, backticks, `@name`).
    Standard,
}

impl Dialect {
    /// The dialect of this name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "postgresql" => Some(Self::Postgresql),
            "mysql" => Some(Self::Mysql),
            "standard" => Some(Self::Standard),
            _ => None,
        }
    }
}

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// White space.
    Space,
    /// A comment. What MySQL executes (`/*! … */`) is none there.
    Comment,
    /// A string with its prefix: `'…'`, `E'…'`, `$$…$$`, and MySQL's `"…"`.
    String,
    /// A quoted name: `"…"`, or in backticks.
    QuotedName,
    /// A keyword or a name; with `@`, a variable of MySQL.
    Word,
    /// A number without its sign.
    Number,
    /// A parameter by number: `$1`.
    Parameter,
    /// A question mark, which stands for a parameter, or is an operator of PostgreSQL.
    Placeholder,
    /// A variable of a script: `:name`.
    Variable,
    /// Two colons or more: a cast.
    Cast,
    /// Any other character.
    Symbol,
}

impl Kind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Space => "space",
            Self::Comment => "comment",
            Self::String => "string",
            Self::QuotedName => "quoted_name",
            Self::Word => "word",
            Self::Number => "number",
            Self::Parameter => "parameter",
            Self::Placeholder => "placeholder",
            Self::Variable => "variable",
            Self::Cast => "cast",
            Self::Symbol => "symbol",
        }
    }
}

/// A token: a part of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'a> {
    /// What it is.
    pub kind: Kind,
    /// Its text.
    pub text: &'a str,
    /// Whether it ends: false for a string, quoted name or comment that the text ends within.
    pub is_closed: bool,
}

/// The tokens of a text, in order: together they are the text.
#[derive(Clone, Debug)]
pub struct Tokens<'a> {
    rest: &'a str,
    dialect: Dialect,
}

/// The tokens of a text.
pub fn tokens(text: &str, dialect: Dialect) -> Tokens<'_> {
    Tokens { rest: text, dialect }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        let token = token(self.rest, self.dialect)?;
        self.rest = &self.rest[token.text.len()..];
        Some(token)
    }
}

/// The token that a text begins with; none if the text is empty.
pub fn token(text: &str, dialect: Dialect) -> Option<Token<'_>> {
    let found = scan(text.as_bytes(), dialect)?;
    Some(Token { kind: found.kind, text: &text[..found.bytes], is_closed: found.is_closed })
}

/// What a text begins with. It ends at the border of a character: all bytes that are compared with
/// are ASCII, and bytes of other characters are parts of words.
struct Scan {
    kind: Kind,
    bytes: usize,
    is_closed: bool,
}

impl Scan {
    fn of(kind: Kind, bytes: usize) -> Self {
        Self { kind, bytes, is_closed: true }
    }

    /// A token that ends there, or is not closed and takes the whole text.
    fn up_to(kind: Kind, end: Option<usize>, text: &[u8]) -> Self {
        Self { kind, bytes: end.unwrap_or(text.len()), is_closed: end.is_some() }
    }
}

fn scan(text: &[u8], dialect: Dialect) -> Option<Scan> {
    let first = *text.first()?;
    let is_mysql = dialect == Dialect::Mysql;
    Some(match first {
        b' ' | b'\t'..=b'\r' => Scan::of(Kind::Space, run(text, 0, is_space)),
        b'\'' => Scan::up_to(Kind::String, quoted(text, 0, is_mysql), text),
        b'"' if is_mysql => Scan::up_to(Kind::String, quoted(text, 0, true), text),
        b'"' => Scan::up_to(Kind::QuotedName, quoted(text, 0, false), text),
        b'`' if dialect != Dialect::Postgresql => {
            Scan::up_to(Kind::QuotedName, quoted(text, 0, false), text)
        }
        b'-' | b'/' | b'#' => comment(text, dialect).unwrap_or(Scan::of(Kind::Symbol, 1)),
        b'$' => dollar(text, dialect),
        b'@' if dialect != Dialect::Postgresql => session_variable(text),
        b':' => colon(text),
        b'?' => Scan::of(Kind::Placeholder, 1),
        b'0'..=b'9' => number(text, dialect),
        b'.' if text.get(1).is_some_and(u8::is_ascii_digit) => number(text, dialect),
        _ if is_name_start(first) => word(text, dialect),
        _ => Scan::of(Kind::Symbol, 1),
    })
}

/// The first place from `at` on whose byte does not belong.
fn run(text: &[u8], at: usize, belongs: impl Fn(u8) -> bool) -> usize {
    text[at..].iter().position(|byte| !belongs(*byte)).map_or(text.len(), |length| at + length)
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

fn is_name_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

fn is_name(byte: u8) -> bool {
    is_name_start(byte) || byte.is_ascii_digit()
}

fn is_name_or_dollar(byte: u8) -> bool {
    is_name(byte) || byte == b'$'
}

/// The end of a quoted text whose opening quote is at this place. A doubled quote is a part of it.
fn quoted(text: &[u8], open: usize, has_escapes: bool) -> Option<usize> {
    let quote = text[open];
    let mut at = open + 1;
    loop {
        match *text.get(at)? {
            b'\\' if has_escapes => at += 2,
            byte if byte != quote => at += 1,
            _ if text.get(at + 1) == Some(&quote) => at += 2,
            _ => return Some(at + 1),
        }
    }
}

/// The place after this text, searched for from `from` on.
fn after(text: &[u8], from: usize, closing: &[u8]) -> Option<usize> {
    let found = text.get(from..)?.windows(closing.len()).position(|window| window == closing);
    found.map(|at| from + at + closing.len())
}

/// The comment that begins here, if one does.
fn comment(text: &[u8], dialect: Dialect) -> Option<Scan> {
    let is_mysql = dialect == Dialect::Mysql;
    match text {
        // To MySQL `5--3` is a difference: its comment has a blank, or nothing, after two dashes.
        // What follows `/*!` is executed.
        [b'-', b'-', b'!'..=b'~' | 0x80.., ..]
        | [b'/', b'*', b'!', ..]
        | [b'/', b'*', b'M', b'!', ..]
            if is_mysql =>
        {
            None
        }
        [b'-', b'-', ..] => Some(Scan::of(Kind::Comment, line(text, dialect))),
        [b'#', ..] if is_mysql => Some(Scan::of(Kind::Comment, line(text, dialect))),
        [b'/', b'*', ..] if dialect == Dialect::Postgresql => {
            Some(Scan::up_to(Kind::Comment, nested(text), text))
        }
        [b'/', b'*', ..] => Some(Scan::up_to(Kind::Comment, after(text, 2, b"*/"), text)),
        _ => None,
    }
}

/// The length of the line. PostgreSQL's also ends with a carriage return.
fn line(text: &[u8], dialect: Dialect) -> usize {
    let is_postgresql = dialect == Dialect::Postgresql;
    run(text, 0, |byte| byte != b'\n' && !(byte == b'\r' && is_postgresql))
}

/// The end of a comment in which others may be.
fn nested(text: &[u8]) -> Option<usize> {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        match &text[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// `$1`, `$tag$ … $tag$`, or a name of MySQL.
fn dollar(text: &[u8], dialect: Dialect) -> Scan {
    let digits = run(text, 1, |byte| byte.is_ascii_digit());
    if digits > 1 {
        return Scan::of(Kind::Parameter, digits);
    }
    if dialect == Dialect::Mysql {
        let end = run(text, 1, is_name_or_dollar);
        return Scan::of(if end > 1 { Kind::Word } else { Kind::Symbol }, end);
    }
    let end = run(text, 1, is_name);
    match text.get(end) {
        Some(b'$') => {
            let tag = &text[..=end];
            Scan::up_to(Kind::String, after(text, tag.len(), tag), text)
        }
        _ => Scan::of(Kind::Symbol, 1),
    }
}

/// `@name` or `@@name`.
fn session_variable(text: &[u8]) -> Scan {
    let at = run(text, 0, |byte| byte == b'@');
    let end = run(text, at, is_name_or_dollar);
    if at <= 2 && end > at { Scan::of(Kind::Word, end) } else { Scan::of(Kind::Symbol, 1) }
}

fn colon(text: &[u8]) -> Scan {
    let colons = run(text, 0, |byte| byte == b':');
    match text.get(colons) {
        Some(&next) if colons == 1 && is_name_start(next) => {
            Scan::of(Kind::Variable, run(text, 1, is_name))
        }
        _ if colons == 1 => Scan::of(Kind::Symbol, 1),
        _ => Scan::of(Kind::Cast, colons),
    }
}

fn number(text: &[u8], dialect: Dialect) -> Scan {
    let is_mysql = dialect == Dialect::Mysql;
    let end = end_of_number(text, !is_mysql);
    // To MySQL a name may begin with a digit.
    if is_mysql && !text[..end].contains(&b'.') {
        let name = run(text, 0, is_name_or_dollar);
        if name > end {
            return Scan::of(Kind::Word, name);
        }
    }
    Scan::of(Kind::Number, end)
}

/// The end of a number, whose digits may be grouped: `1_000`.
fn end_of_number(text: &[u8], may_group: bool) -> usize {
    let is_of = |digit: fn(u8) -> bool| move |byte| digit(byte) || may_group && byte == b'_';
    let based = match text {
        [b'0', b'x' | b'X', ..] => run(text, 2, is_of(|byte| byte.is_ascii_hexdigit())),
        [b'0', b'b' | b'B', ..] => run(text, 2, is_of(|byte| matches!(byte, b'0' | b'1'))),
        [b'0', b'o' | b'O', ..] => run(text, 2, is_of(|byte| matches!(byte, b'0'..=b'7'))),
        _ => 0,
    };
    if based > 2 {
        return based;
    }
    let digits = |from| run(text, from, is_of(|byte| byte.is_ascii_digit()));
    let mut end = digits(0);
    // In `1..10` the dots are not of a number.
    if text.get(end) == Some(&b'.') && text.get(end + 1) != Some(&b'.') {
        end = digits(end + 1);
    }
    let exponent = match &text[end..] {
        [b'e' | b'E', b'0'..=b'9', ..] => 1,
        [b'e' | b'E', b'+' | b'-', b'0'..=b'9', ..] => 2,
        _ => return end,
    };
    run(text, end + exponent, |byte| byte.is_ascii_digit())
}

/// A word, or a string with its prefix: `E'…'` has escapes by backslash, `B'…'`, `N'…'`, `X'…'` and
/// `U&'…'` have them where other strings do.
fn word(text: &[u8], dialect: Dialect) -> Scan {
    let is_mysql = dialect == Dialect::Mysql;
    match text {
        [b'e' | b'E', b'\'', ..] if !is_mysql => {
            Scan::up_to(Kind::String, quoted(text, 1, true), text)
        }
        [b'b' | b'B' | b'n' | b'N' | b'x' | b'X', b'\'', ..] => {
            Scan::up_to(Kind::String, quoted(text, 1, is_mysql), text)
        }
        [b'u' | b'U', b'&', b'\'', ..] if !is_mysql => {
            Scan::up_to(Kind::String, quoted(text, 2, false), text)
        }
        [b'u' | b'U', b'&', b'"', ..] if !is_mysql => {
            Scan::up_to(Kind::QuotedName, quoted(text, 2, false), text)
        }
        _ => Scan::of(Kind::Word, run(text, 0, is_name_or_dollar)),
    }
}
