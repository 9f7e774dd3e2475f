//! MySQL and MariaDB: `COM_STMT_EXECUTE` with binary numbers, or text where nothing is to be bound.

use crate::Failure;
use crate::exchange::{Account, End, ask, log_in};
use crate::template::{Given, Template};
use dbdyno_model::QueryMode;
use dbdyno_wire::mysql::{Channel, Config, Connection, Event, Opening};
use std::fs::File;
use std::sync::Arc;

const COM_QUERY: u8 = 0x03;
const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;
const HEADER_BYTES: usize = 4;
const OK: u8 = 0;
const ERROR: u8 = 0xFF;
/// Begins the packet after the last row: an OK, since dbdyno asks servers for no EOF.
const LAST: u8 = 0xFE;
/// Of that packet, unless the session's state is tracked.
const LAST_BYTES: usize = 7;
/// A number, as 8 bytes.
const LONGLONG: [u8; 2] = [8, 0];

pub(crate) fn end(received: &[u8]) -> Option<End> {
    let is_alone = received.len() > HEADER_BYTES && received.len() == packet_bytes(received);
    match received.get(HEADER_BYTES) {
        Some(&ERROR) if is_alone => Some(End::Failed),
        Some(&OK) if is_alone => Some(End::Done),
        _ => is_last(received).then_some(End::Done),
    }
}

fn is_last(received: &[u8]) -> bool {
    let last = received.len().checked_sub(HEADER_BYTES + LAST_BYTES);
    let packet = last.map(|at| &received[at..]).unwrap_or_default();
    packet.starts_with(&[LAST_BYTES as u8, 0, 0]) && packet[HEADER_BYTES] == LAST
}

/// The length of the first packet, with its header.
fn packet_bytes(received: &[u8]) -> usize {
    let length = u32::from_le_bytes([received[0], received[1], received[2], 0]);
    HEADER_BYTES + length as usize
}

pub(crate) fn prepare(
    socket: &mut File,
    account: &Account,
    given: &[Given],
) -> Result<Vec<Template>, Failure> {
    let config = Config {
        user: account.user.clone(),
        database: account.database.clone(),
        password: None,
        query_mode: QueryMode::Prepared,
        attributes: Vec::new(),
        local_infile: false,
        session_commands: Vec::new(),
    };
    let mut wire = Connection::new(Arc::new(config), Arc::new([]));
    wire.start(Opening { channel: Channel::Unix, nonce: [0; 32] }, &mut Vec::new());
    log_in(socket, Vec::new(), |bytes, out| {
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
    given.iter().map(|given| statement(socket, given)).collect()
}

fn statement(socket: &mut File, given: &Given) -> Result<Template, Failure> {
    let text = given.parts.join("?");
    let parameters = given.draws.len();
    if parameters == 0 {
        return Ok(Template { bytes: packet(COM_QUERY, text.as_bytes()), draws: Vec::new() });
    }
    let answer = ask(socket, &packet(COM_STMT_PREPARE, text.as_bytes()), prepared_end)?;
    let number = &answer[HEADER_BYTES + 1..HEADER_BYTES + 5];
    let nulls = vec![0; parameters.div_ceil(8)];
    let cursor_and_repetitions = [0, 1, 0, 0, 0];
    let head = [number, &cursor_and_repetitions, &nulls, &[1], &LONGLONG.repeat(parameters)];
    let mut body = head.concat();
    let first_draw = HEADER_BYTES + 1 + body.len();
    body.extend(vec![0; 8 * parameters]);
    let draws = given.draws.iter().enumerate();
    Ok(Template {
        bytes: packet(COM_STMT_EXECUTE, &body),
        draws: draws.map(|(index, draw)| (first_draw + 8 * index, draw.clone())).collect(),
    })
}

/// The answer to a preparation: an OK, and a packet for each parameter and column.
fn prepared_end(received: &[u8]) -> Option<End> {
    if received.get(HEADER_BYTES) == Some(&ERROR) {
        return Some(End::Failed);
    }
    let counts = received.get(HEADER_BYTES + 5..HEADER_BYTES + 9)?;
    let columns = u16::from_le_bytes([counts[0], counts[1]]);
    let parameters = u16::from_le_bytes([counts[2], counts[3]]);
    let mut rest = received;
    for _ in 0..=usize::from(columns + parameters) {
        let bytes = (rest.len() >= HEADER_BYTES).then(|| packet_bytes(rest))?;
        rest = rest.get(bytes..)?;
    }
    Some(End::Done)
}

fn packet(command: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32 + 1).to_le_bytes();
    [&length[..3], &[0, command], body].concat()
}
