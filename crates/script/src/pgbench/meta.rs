//! Meta-commands: a backslash, a word, and its arguments, up to the end of the line.
//!
//! Only the syntax of single commands is checked here. Whether a command is allowed at its
//! position, and whether its variables can have values, is checked later with all scripts at hand.

use super::chars::is_valid_name;
use super::datum::Datum;
use super::expression::Expression;
use super::functions::Function;
use super::line::words;
use super::names::{Names, Prefix, Slot};
use super::parser::{self, Mention};
use super::source::Flaw;
use std::ops::Range;

/// A meta-command.
#[derive(Debug, PartialEq)]
pub(super) enum Meta {
    Set(Slot, Expression),
    /// Text from a pattern.
    SetText(Slot, String),
    If(Expression),
    Elif(Expression),
    Else,
    Endif,
    Sleep(Sleep),
    /// A shell command, and the variable that its output is assigned to.
    Shell(Vec<ShellWord>, Option<Slot>),
    StartPipeline,
    SyncPipeline,
    EndPipeline,
    /// Stores the result of the SQL command before it.
    Store(Store),
}

/// A pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sleep {
    pub(super) amount: Amount,
    pub(super) unit_ns: u64,
}

/// The duration, in units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Amount {
    Fixed(u64),
    Variable(Slot),
}

/// A word of a shell command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ShellWord {
    Literal(String),
    Variable(Slot),
}

/// How an answer's rows are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Store {
    /// The prefix of the variables' names before the column's name.
    pub(super) prefix: Prefix,
    pub(super) rows: StoreRows,
}

/// Which rows are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StoreRows {
    /// `\gset`: the only row of the last answer.
    Only,
    /// `\aset`: the last row of each answer that has one.
    LastOfEach,
}

/// Why a word is none of a script's meta-commands.
fn not_a_command(word: &str) -> &'static str {
    match word {
        "copy" => {
            "\\copy is psql's own: write copy … from stdin; with the rows and \\. after it, or copy … to stdout;"
        }
        "." => "this ends the rows of a COPY, but no copy … from stdin; precedes it",
        _ => "there is no such meta-command",
    }
}

/// Reads meta-commands.
pub(super) struct Reader<'a> {
    pub(super) text: &'a str,
    pub(super) names: &'a mut Names,
    pub(super) mentions: &'a mut Vec<Mention>,
    pub(super) flaws: &'a mut Vec<Flaw>,
}

impl Reader<'_> {
    /// The command in `span`, which begins after its backslash; none when it has no word.
    ///
    /// A command with an error yields nothing, except those of blocks and pipelines, with which
    /// others are matched.
    pub(super) fn read(&mut self, span: Range<usize>) -> Option<Meta> {
        let words = words(self.text, span.clone());
        let (first, arguments) = words.split_first()?;
        let result = match self.text[first.clone()].to_ascii_lowercase().as_str() {
            "set" => self.set(arguments, span.end),
            "settext" => self.set_text(first, arguments),
            "setrandom" => self.set_random(first, arguments),
            "if" => Ok(Meta::If(self.condition(first.end..span.end))),
            "elif" => Ok(Meta::Elif(self.condition(first.end..span.end))),
            "else" => Ok(self.bare(Meta::Else, arguments)),
            "endif" => Ok(self.bare(Meta::Endif, arguments)),
            "sleep" => self.sleep(first, arguments),
            "shell" => self.shell(first, arguments, None),
            "setshell" => self.set_shell(first, arguments),
            "startpipeline" => Ok(self.bare(Meta::StartPipeline, arguments)),
            "syncpipeline" => Ok(self.bare(Meta::SyncPipeline, arguments)),
            "endpipeline" => Ok(self.bare(Meta::EndPipeline, arguments)),
            "gset" => self.store(arguments, StoreRows::Only),
            "aset" => self.store(arguments, StoreRows::LastOfEach),
            other => Err(Flaw::new(first.start - 1..first.end, not_a_command(other))),
        };
        result.map_err(|flaw| self.flaws.push(flaw)).ok()
    }

    fn word(&self, span: &Range<usize>) -> &str {
        &self.text[span.clone()]
    }

    /// The slot of the variable that a command sets.
    fn target(&mut self, span: &Range<usize>) -> Result<Slot, Flaw> {
        let name = &self.text[span.clone()];
        if !is_valid_name(name) {
            return Err(Flaw::new(span.clone(), "a variable cannot have this name"));
        }
        Ok(self.names.settable_slot(name))
    }

    fn expression(&mut self, span: Range<usize>) -> Result<Expression, Flaw> {
        parser::parse(self.text, span, self.names, self.mentions)
    }

    fn condition(&mut self, span: Range<usize>) -> Expression {
        self.expression(span).unwrap_or_else(|flaw| {
            self.flaws.push(flaw);
            Expression::Constant(Datum::Null)
        })
    }

    /// A command that takes no arguments.
    fn bare(&mut self, meta: Meta, arguments: &[Range<usize>]) -> Meta {
        if let Some(extra) = arguments.first() {
            self.flaws.push(Flaw::new(extra.clone(), "nothing more is expected here"));
        }
        meta
    }

    fn set(&mut self, arguments: &[Range<usize>], end: usize) -> Result<Meta, Flaw> {
        let Some(name) = arguments.first() else {
            return Err(Flaw::new(end..end, "the variable's name is expected here"));
        };
        let slot = self.target(name)?;
        Ok(Meta::Set(slot, self.expression(name.end..end)?))
    }

    /// `\settext name pattern`, which pgbench does not have: `#` is a digit, `@` a letter.
    fn set_text(&mut self, first: &Range<usize>, arguments: &[Range<usize>]) -> Result<Meta, Flaw> {
        let [name, pattern, rest @ ..] = arguments else {
            return missing(first, arguments, "a name and a pattern are expected");
        };
        if let Some(extra) = rest.first() {
            return Err(Flaw::new(extra.clone(), "nothing more is expected here"));
        }
        if self.word(pattern).contains(['\'', '\\']) {
            let message = "a pattern cannot contain quotes or backslashes";
            return Err(Flaw::new(pattern.clone(), message));
        }
        self.target(name)?;
        let slot = self.names.text_slot(&self.text[name.clone()]);
        Ok(Meta::SetText(slot, self.word(pattern).into()))
    }

    /// `\setrandom name low high [uniform | gaussian parameter | exponential parameter]`.
    fn set_random(
        &mut self,
        first: &Range<usize>,
        arguments: &[Range<usize>],
    ) -> Result<Meta, Flaw> {
        let [name, low, high, law @ ..] = arguments else {
            return missing(first, arguments, "a name and two bounds are expected");
        };
        let slot = self.target(name)?;
        let (function, parameter) = self.law(law)?;
        let bounds = [low, high].into_iter().chain(parameter);
        let arguments: Result<Vec<_>, _> =
            bounds.map(|span| self.expression(span.clone())).collect();
        Ok(Meta::Set(slot, Expression::Call(function, arguments?)))
    }

    fn law<'w>(
        &self,
        words: &'w [Range<usize>],
    ) -> Result<(Function, Option<&'w Range<usize>>), Flaw> {
        let law = words.first().map_or("uniform", |word| self.word(word));
        match (law.to_ascii_lowercase().as_str(), words) {
            ("uniform", [] | [_]) => Ok((Function::Random, None)),
            ("gaussian", [_, parameter]) => Ok((Function::RandomGaussian, Some(parameter))),
            ("exponential", [_, parameter]) => Ok((Function::RandomExponential, Some(parameter))),
            ("gaussian" | "exponential", [word]) => {
                Err(Flaw::new(word.clone(), "a parameter is expected after this"))
            }
            ("uniform", [_, extra, ..]) | ("gaussian" | "exponential", [_, _, extra, ..]) => {
                Err(Flaw::new(extra.clone(), "nothing more is expected here"))
            }
            _ => Err(Flaw::new(words[0].clone(), "uniform, gaussian or exponential is expected")),
        }
    }

    fn sleep(&mut self, first: &Range<usize>, arguments: &[Range<usize>]) -> Result<Meta, Flaw> {
        let (number, unit) = match arguments {
            [] => return missing(first, arguments, "a number is expected"),
            [number] => self.split_unit(number),
            [number, unit] => (number.clone(), unit.clone()),
            [_, _, extra, ..] => {
                return Err(Flaw::new(extra.clone(), "nothing more is expected here"));
            }
        };
        let unit_ns = match self.word(&unit).to_ascii_lowercase().as_str() {
            "" | "s" => 1_000_000_000,
            "ms" => 1_000_000,
            "us" => 1_000,
            _ => return Err(Flaw::new(unit, "a unit of time is expected: us, ms or s")),
        };
        Ok(Meta::Sleep(Sleep { amount: self.amount(number)?, unit_ns }))
    }

    /// Splits `10ms`: digits with their sign, and the rest. A variable's name contains no unit.
    fn split_unit(&self, word: &Range<usize>) -> (Range<usize>, Range<usize>) {
        let text = self.word(word);
        let sign = usize::from(text.starts_with(['+', '-']));
        let digits = text[sign..].bytes().take_while(u8::is_ascii_digit).count();
        let split = if digits == 0 { word.end } else { word.start + sign + digits };
        (word.start..split, split..word.end)
    }

    fn amount(&mut self, span: Range<usize>) -> Result<Amount, Flaw> {
        if let Some(slot) = self.mention(&span) {
            return Ok(Amount::Variable(slot));
        }
        match self.word(&span).parse::<i64>() {
            // A negative pause is none.
            Ok(number) => Ok(Amount::Fixed(u64::try_from(number).unwrap_or(0))),
            Err(_) => Err(Flaw::new(span, "a whole number or a variable is expected")),
        }
    }

    /// The slot of the variable, if the word is one.
    fn mention(&mut self, span: &Range<usize>) -> Option<Slot> {
        let name = self.text[span.clone()].strip_prefix(':').filter(|name| is_valid_name(name))?;
        let slot = self.names.slot(name);
        self.mentions.push(Mention { slot, span: span.clone() });
        Some(slot)
    }

    fn set_shell(
        &mut self,
        first: &Range<usize>,
        arguments: &[Range<usize>],
    ) -> Result<Meta, Flaw> {
        let [name, command @ ..] = arguments else {
            return missing(first, arguments, "a variable's name is expected");
        };
        let slot = self.target(name)?;
        self.shell(name, command, Some(slot))
    }

    fn shell(
        &mut self,
        before: &Range<usize>,
        words: &[Range<usize>],
        target: Option<Slot>,
    ) -> Result<Meta, Flaw> {
        if words.is_empty() {
            return missing(before, words, "a command is expected");
        }
        Ok(Meta::Shell(words.iter().map(|word| self.shell_word(word)).collect(), target))
    }

    /// `:name` is the variable's value, `::name` the text `:name`.
    fn shell_word(&mut self, span: &Range<usize>) -> ShellWord {
        if let Some(slot) = self.mention(span) {
            return ShellWord::Variable(slot);
        }
        let word = self.word(span);
        let literal = if word.starts_with("::") { &word[1..] } else { word };
        ShellWord::Literal(literal.into())
    }

    fn store(&mut self, arguments: &[Range<usize>], rows: StoreRows) -> Result<Meta, Flaw> {
        let prefix = match arguments {
            [] => "",
            [prefix] => &self.text[prefix.clone()],
            [_, extra, ..] => {
                return Err(Flaw::new(extra.clone(), "nothing more is expected here"));
            }
        };
        if !prefix.is_empty() && !is_valid_name(prefix) {
            return Err(Flaw::new(arguments[0].clone(), "a variable cannot have this name"));
        }
        Ok(Meta::Store(Store { prefix: self.names.set_by_rows(prefix), rows }))
    }
}

/// The error that something is missing after the last word.
fn missing<T>(first: &Range<usize>, arguments: &[Range<usize>], message: &str) -> Result<T, Flaw> {
    let end = arguments.last().unwrap_or(first).end;
    Err(Flaw::new(end..end, format!("{message} here")))
}
