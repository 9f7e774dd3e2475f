//! The buffers that an execution's steps borrow from: parameters, texts, shell commands.
//!
//! They are reused from step to step, so that ordinary transactions allocate nothing.

use super::copy::RowPart;
use super::datum::{Datum, write_value};
use super::meta::{Amount, ShellWord, Sleep};
use super::names::Slot;
use super::program::{Body, Chunk, CopyBody, Query};
use super::variables::Variables;
use dbdyno_model::{Flow, Keep, Nanos, Request, StatementId, Value, prefetch};

/// Values and text of the current step.
#[derive(Debug, Default)]
pub(super) struct StepBuffers {
    parameters: Vec<Value>,
    text: String,
    rows: Rows,
}

/// The rows of the current COPY: a block of them, and where the next one begins.
#[derive(Debug, Default)]
struct Rows {
    block: Vec<u8>,
    part: usize,
    /// Within a literal part.
    offset: usize,
}

/// Rows are sent in blocks of about this size, the next one when the server has taken the last: a
/// client's memory does not grow with them.
const BLOCK_BYTES: usize = 32 << 10;

impl StepBuffers {
    /// Prefetches what the next step writes to.
    pub(super) fn prefetch(&self) {
        prefetch(&self.parameters[..]);
    }

    /// The request of a query.
    pub(super) fn request<'a>(
        &'a mut self,
        query: &'a Query,
        variables: &Variables,
        names: &[String],
    ) -> Request<'a> {
        let statement = query.statement;
        let keep = if query.store.is_some() { Keep::LastRow } else { Keep::None };
        match &query.body {
            Body::Text(chunks, flow) => {
                let sql = self.text(chunks, variables, names);
                match *flow {
                    Flow::Wait => Request::Text { statement, sql, keep },
                    flow @ Flow::Queue => Request::TextInPipeline { statement, sql, keep, flow },
                }
            }
            Body::Parameters(slots, flow) => {
                let parameters = self.parameters(slots, variables);
                Request::Parameterized { statement, parameters, keep, flow: *flow }
            }
            Body::Copy(copy) => {
                (self.rows.part, self.rows.offset) = (0, 0);
                let sql = self.text(&copy.sql, variables, names);
                Request::Copy { statement, sql, direction: copy.direction }
            }
        }
    }

    /// The next block of the rows of a COPY.
    pub(super) fn next_rows(
        &mut self,
        statement: StatementId,
        copy: &CopyBody,
        variables: &Variables,
    ) -> Request<'_> {
        let Rows { block, part, offset } = &mut self.rows;
        block.clear();
        while let Some(next) = copy.rows.get(*part)
            && block.len() < BLOCK_BYTES
        {
            match next {
                RowPart::Variable(slot, in_quotes) => {
                    let value = variables.get(*slot).unwrap_or(&Value::Null);
                    copy.format.write(block, value, *in_quotes);
                }
                RowPart::Literal(text) => {
                    let left = &text.as_bytes()[*offset..];
                    let count = left.len().min(BLOCK_BYTES - block.len());
                    block.extend_from_slice(&left[..count]);
                    *offset += count;
                    if count < left.len() {
                        break;
                    }
                }
            }
            (*part, *offset) = (*part + 1, 0);
        }
        let is_last = *part == copy.rows.len();
        Request::CopyRows { statement, rows: block, is_last }
    }

    /// The values; NULL for a variable that is not set, as in pgbench.
    fn parameters(&mut self, slots: &[Slot], variables: &Variables) -> &[Value] {
        self.parameters.clear();
        let values = slots.iter().map(|slot| variables.get(*slot).cloned());
        self.parameters.extend(values.map(Option::unwrap_or_default));
        &self.parameters
    }

    /// The text with the values inserted.
    fn text<'a>(
        &'a mut self,
        chunks: &'a [Chunk],
        variables: &Variables,
        names: &[String],
    ) -> &'a str {
        if let [Chunk::Literal(text)] = chunks {
            return text;
        }
        self.text.clear();
        for chunk in chunks {
            match chunk {
                Chunk::Literal(text) => self.text.push_str(text),
                Chunk::Variable(slot) => self.write_variable(*slot, variables, names),
                Chunk::Quoted(slot) => {
                    self.text.push('\'');
                    self.write_variable(*slot, variables, names);
                    self.text.push('\'');
                }
            }
        }
        &self.text
    }

    /// A variable that is not set is left as it is written.
    fn write_variable(&mut self, slot: Slot, variables: &Variables, names: &[String]) {
        if let Some(value) = variables.get(slot) {
            write_value(&mut self.text, value);
        } else {
            self.text.push(':');
            self.text.push_str(&names[slot.0 as usize]);
        }
    }

    /// The words of a shell command, separated by blanks.
    pub(super) fn command(
        &mut self,
        words: &[ShellWord],
        variables: &Variables,
    ) -> Result<&str, String> {
        self.text.clear();
        for word in words {
            if !self.text.is_empty() {
                self.text.push(' ');
            }
            match word {
                ShellWord::Literal(text) => self.text.push_str(text),
                ShellWord::Variable(slot) => write_value(&mut self.text, given(*slot, variables)?),
            }
        }
        Ok(&self.text)
    }
}

/// The duration of a pause: whole units, as in pgbench, and zero when they are negative.
pub(super) fn pause(sleep: &Sleep, variables: &Variables) -> Result<Nanos, String> {
    let units = match sleep.amount {
        Amount::Fixed(units) => units,
        Amount::Variable(slot) => {
            Datum::from_value(given(slot, variables)?)?.double()?.trunc() as u64
        }
    };
    Ok(Nanos(sleep.unit_ns) * units)
}

fn given(slot: Slot, variables: &Variables) -> Result<&Value, String> {
    variables.get(slot).ok_or_else(|| "a variable has no value yet".into())
}
