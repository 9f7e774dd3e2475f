//! A statement with drawn numbers: its text for the server, and its message with their places.

use crate::Failure;
use std::ops::RangeInclusive;

/// What a parameter is.
#[derive(Clone)]
pub(crate) enum Draw {
    New(RangeInclusive<u32>),
    /// The number drawn last, also by an earlier statement.
    Last,
}

/// A statement as it was given.
pub(crate) struct Given {
    /// The parts of the text around its parameters: one more than there are parameters.
    pub(crate) parts: Vec<String>,
    pub(crate) draws: Vec<Draw>,
}

impl Given {
    /// Reads a statement, for the client of this number.
    pub(crate) fn read(text: &str, client: usize) -> Result<Self, Failure> {
        let (mut parts, mut draws) = (vec![String::new()], Vec::new());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            let (inside, after) = after.split_once('}').ok_or("a { without its }")?;
            let part = parts.last_mut().expect("there is always one");
            part.push_str(before);
            if let Some(count) = inside.strip_prefix('%') {
                part.push_str(&(client % count.parse::<usize>()? + 1).to_string());
            } else {
                draws.push(draw(inside)?);
                parts.push(String::new());
            }
            rest = after;
        }
        parts.last_mut().expect("there is always one").push_str(rest);
        Ok(Self { parts, draws })
    }
}

fn draw(inside: &str) -> Result<Draw, Failure> {
    if inside.is_empty() {
        return Ok(Draw::Last);
    }
    let (low, high) = inside.split_once("..").ok_or("a range is LOW..HIGH")?;
    Ok(Draw::New(low.parse()?..=high.parse()?))
}

/// A prepared statement's message, and the positions of its numbers in it.
pub(crate) struct Template {
    pub(crate) bytes: Vec<u8>,
    pub(crate) draws: Vec<(usize, Draw)>,
}

/// A client's source of numbers.
pub(crate) struct Chance {
    state: u64,
    last: u32,
}

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: seed, last: 0 }
    }

    /// The next number.
    pub(crate) fn draw(&mut self, draw: &Draw) -> u32 {
        if let Draw::New(range) = draw {
            self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let span = u64::from(range.end() - range.start()) + 1;
            self.last = range.start() + ((self.state >> 33) % span) as u32;
        }
        self.last
    }
}
