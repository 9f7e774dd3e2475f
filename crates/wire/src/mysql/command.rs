//! The client's commands and their packets.

use super::capability::{CONNECT_ATTRS, CONNECT_WITH_DB};
use super::config::Config;
use super::packet::{self, write_text};
use super::parameter;
use super::statements::{Place, Prepared};
use dbdyno_model::Value;
use std::borrow::Cow;

pub(crate) const QUIT: u8 = 0x01;
pub(crate) const QUERY: u8 = 0x03;
pub(crate) const PING: u8 = 0x0e;
pub(crate) const PREPARE: u8 = 0x16;
pub(crate) const EXECUTE: u8 = 0x17;
pub(crate) const CLOSE: u8 = 0x19;

/// The command of a request. Owned where it has to wait for its turn.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Command<'a> {
    /// A statement given as text.
    Query(Cow<'a, str>),
    /// Prepares a statement under this index.
    Prepare { place: Place, sql: Cow<'a, str> },
    /// Executes a prepared statement, after preparing it if necessary.
    Execute { place: Place, sql: Cow<'a, str>, parameters: Cow<'a, [Value]> },
    /// No operation: only the reply is wanted, in its turn.
    Ping,
}

impl Command<'_> {
    pub(super) fn into_owned(self) -> Command<'static> {
        match self {
            Self::Query(sql) => Command::Query(sql.into_owned().into()),
            Self::Prepare { place, sql } => {
                Command::Prepare { place, sql: sql.into_owned().into() }
            }
            Self::Execute { place, sql, parameters } => Command::Execute {
                place,
                sql: sql.into_owned().into(),
                parameters: parameters.into_owned().into(),
            },
            Self::Ping => Command::Ping,
        }
    }

    /// The prepared statement that it creates or uses.
    pub(super) fn place(&self) -> Option<Place> {
        match self {
            Self::Prepare { place, .. } | Self::Execute { place, .. } => Some(*place),
            Self::Query(_) | Self::Ping => None,
        }
    }
}

pub(super) fn query(sql: &str, out: &mut Vec<u8>) {
    packet::write(out, 0, |out| {
        out.push(QUERY);
        out.extend_from_slice(sql.as_bytes());
    });
}

pub(super) fn prepare(sql: &[u8], out: &mut Vec<u8>) {
    packet::write(out, 0, |out| {
        out.push(PREPARE);
        out.extend_from_slice(sql);
    });
}

/// Executes a prepared statement, and records the types its parameters are bound with.
#[inline]
pub(super) fn execute(prepared: &mut Prepared, parameters: &[Value], out: &mut Vec<u8>) {
    let with_types = parameter::bind(&mut prepared.slots, parameters);
    packet::write(out, 0, |out| {
        let [a, b, c, d] = prepared.number.to_le_bytes();
        // Without a cursor, one iteration.
        out.extend_from_slice(&[EXECUTE, a, b, c, d, 0, 1, 0, 0, 0]);
        if !prepared.slots.is_empty() {
            parameter::write(&prepared.slots, parameters, with_types, out);
        }
    });
}

/// Closes a prepared statement. There is no answer.
pub(super) fn close(number: u32, out: &mut Vec<u8>) {
    packet::write(out, 0, |out| {
        out.push(CLOSE);
        out.extend_from_slice(&number.to_le_bytes());
    });
}

pub(super) fn ping(out: &mut Vec<u8>) {
    packet::write(out, 0, |out| out.push(PING));
}

pub(super) fn quit(out: &mut Vec<u8>) {
    packet::write(out, 0, |out| out.push(QUIT));
}

/// The packet before encryption: the beginning of the login, without the user's name.
pub(super) fn request_for_tls(capabilities: u32, sequence: u8, out: &mut Vec<u8>) {
    packet::write(out, sequence, |out| login_head(capabilities, out));
}

/// Who logs in, and the proof of the password.
#[derive(Clone, Copy)]
pub(super) struct Login<'a> {
    pub(super) method: &'a str,
    pub(super) proof: &'a [u8],
    pub(super) config: &'a Config,
}

/// The client's answer to the greeting; the capabilities determine its fields.
pub(super) fn login(capabilities: u32, sequence: u8, login: Login<'_>, out: &mut Vec<u8>) {
    let Login { method, proof, config } = login;
    packet::write(out, sequence, |out| {
        login_head(capabilities, out);
        name(&config.user, out);
        packet::write_sized(out, proof);
        if capabilities & CONNECT_WITH_DB != 0 {
            name(&config.database, out);
        }
        name(method, out);
        if capabilities & CONNECT_ATTRS != 0 {
            attributes(&config.attributes, out);
        }
    });
}

fn login_head(capabilities: u32, out: &mut Vec<u8>) {
    /// utf8mb4_general_ci: every server since 5.5 has it.
    const COLLATION: u8 = 45;
    const RESERVED_BYTES: usize = 23;
    out.extend_from_slice(&capabilities.to_le_bytes());
    out.extend_from_slice(&(crate::MESSAGE_BYTES_MAX as u32).to_le_bytes());
    out.push(COLLATION);
    out.extend_from_slice(&[0; RESERVED_BYTES]);
}

/// The connection attributes of the client.
fn attributes(attributes: &[(String, String)], out: &mut Vec<u8>) {
    let mut body = Vec::new();
    for (name, value) in attributes {
        packet::write_sized(&mut body, name.as_bytes());
        packet::write_sized(&mut body, value.as_bytes());
    }
    packet::write_sized(out, &body);
}

/// A name and a zero byte; a zero byte inside it would end the field early, so the name is cut
/// there.
fn name(name: &str, out: &mut Vec<u8>) {
    write_text(out, name.split('\0').next().unwrap_or_default().as_bytes());
}
