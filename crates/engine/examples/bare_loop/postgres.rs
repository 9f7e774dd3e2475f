//! PostgreSQL: Bind, Execute and Sync with binary numbers.

use crate::Failure;
use crate::exchange::{Account, End, ask, log_in};
use crate::template::{Given, Template};
use dbdyno_model::QueryMode;
use dbdyno_wire::postgres::{Channel, Config, Connection, Event, Opening, Version};
use std::fmt::Write;
use std::fs::File;
use std::sync::Arc;

const INT4: u32 = 23;
/// `ReadyForQuery`: the last message of an answer.
const READY_BYTES: usize = 6;

pub(crate) fn end(received: &[u8]) -> Option<End> {
    let last = received.len().checked_sub(READY_BYTES)?;
    let is_complete = received[last..].starts_with(&[b'Z', 0, 0, 0, 5]);
    let end = if contains_error(received) { End::Failed } else { End::Done };
    is_complete.then_some(end)
}

/// An error comes first, or after `BindComplete`.
fn contains_error(received: &[u8]) -> bool {
    let after_bind = received.strip_prefix(&[b'2', 0, 0, 0, 4]).unwrap_or(received);
    after_bind.first() == Some(&b'E')
}

pub(crate) fn prepare(
    socket: &mut File,
    account: &Account,
    given: &[Given],
) -> Result<Vec<Template>, Failure> {
    let config = Config {
        user: account.user.clone(),
        database: account.database.clone(),
        password: account.password.clone(),
        parameters: Vec::new(),
        query_mode: QueryMode::Prepared,
    };
    let mut wire = Connection::new(Arc::new(config), Arc::new([]));
    let mut out = Vec::new();
    let nonce = *b"not secret at all.";
    wire.start(Opening { version: Version::V3_0, channel: Channel::Plain, nonce }, &mut out);
    log_in(socket, out, |bytes, out| {
        wire.feed(bytes);
        while let Some(event) = wire.poll(out)? {
            match event {
                Event::Ready(_) => return Ok(true),
                Event::Fatal(error) => return Err(error.message.into()),
                _ => {}
            }
        }
        Ok(false)
    })?;
    given.iter().enumerate().map(|(number, given)| statement(socket, number, given)).collect()
}

fn statement(socket: &mut File, number: usize, given: &Given) -> Result<Template, Failure> {
    let mut text = given.parts[0].clone();
    for (index, part) in given.parts.iter().enumerate().skip(1) {
        write!(text, "${index}{part}")?;
    }
    let mut parse = [&name(number)[..], text.as_bytes(), b"\0"].concat();
    parse.extend((given.draws.len() as u16).to_be_bytes());
    parse.extend(given.draws.iter().flat_map(|_| INT4.to_be_bytes()));
    ask(socket, &[message(b'P', &parse), message(b'S', &[])].concat(), end)?;

    let count = (given.draws.len() as u16).to_be_bytes();
    let formats = [&1_u16.to_be_bytes()[..], &1_u16.to_be_bytes()].concat();
    let mut bind = [b"\0", &name(number)[..], &formats, &count].concat();
    let first_draw = 1 + 4 + bind.len() + 4;
    for _ in &given.draws {
        bind.extend(4_u32.to_be_bytes());
        bind.extend([0; 4]);
    }
    bind.extend(0_u16.to_be_bytes());
    let draws = given.draws.iter().enumerate();
    Ok(Template {
        bytes: [message(b'B', &bind), message(b'E', &[0; 5]), message(b'S', &[])].concat(),
        draws: draws.map(|(index, draw)| (first_draw + 8 * index, draw.clone())).collect(),
    })
}

fn name(number: usize) -> Vec<u8> {
    format!("s{number}\0").into_bytes()
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[kind][..], &(body.len() as u32 + 4).to_be_bytes(), body].concat()
}
