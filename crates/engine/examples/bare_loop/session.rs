//! Sessions with all statements prepared, on a server of either protocol.

use crate::exchange::{Account, End};
use crate::template::{Given, Template};
use crate::{Failure, mysql, postgres};
use std::fs::File;
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

/// Longer than the answers of statements that load generators are worth measuring with.
pub(crate) const ANSWER_BYTES: usize = 32 * 1024;

#[derive(Clone, Copy)]
pub(crate) enum Protocol {
    Postgresql,
    Mysql,
}

pub(crate) struct Session {
    pub(crate) socket: File,
    pub(crate) statements: Vec<Template>,
}

impl Protocol {
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "postgresql" => Some(Self::Postgresql),
            "mysql" => Some(Self::Mysql),
            _ => None,
        }
    }

    /// How the answer ended; nothing if it is not complete.
    pub(crate) fn end(self, received: &[u8]) -> Option<End> {
        match self {
            Self::Postgresql => postgres::end(received),
            Self::Mysql => mysql::end(received),
        }
    }

    /// Writes a number to its place in a message.
    pub(crate) fn put(self, place: &mut [u8], number: u32) {
        match self {
            Self::Postgresql => place[..4].copy_from_slice(&number.to_be_bytes()),
            Self::Mysql => place[..4].copy_from_slice(&number.to_le_bytes()),
        }
    }
}

/// Logs in and prepares the statements.
pub(crate) fn open(
    protocol: Protocol,
    account: &Account,
    texts: &[&str],
    client: usize,
) -> Result<Session, Failure> {
    let given =
        texts.iter().map(|text| Given::read(text, client)).collect::<Result<Vec<_>, _>>()?;
    let mut socket = connected(&account.address)?;
    let statements = match protocol {
        Protocol::Postgresql => postgres::prepare(&mut socket, account, &given),
        Protocol::Mysql => mysql::prepare(&mut socket, account, &given),
    }?;
    Ok(Session { socket, statements })
}

fn connected(address: &str) -> Result<File, Failure> {
    if address.contains('/') {
        return Ok(File::from(OwnedFd::from(UnixStream::connect(address)?)));
    }
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    Ok(File::from(OwnedFd::from(stream)))
}
