//! Sessions with all statements prepared, on a server of either protocol.

use crate::template::{Given, Template};
use crate::{Failure, mysql, postgres};
use std::fs::File;
use std::io::{Read, Write};
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

/// How an answer ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Done,
    Failed,
}

pub(crate) struct Account {
    pub(crate) protocol: Protocol,
    pub(crate) address: String,
    pub(crate) user: String,
    pub(crate) database: String,
    pub(crate) password: Option<String>,
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
pub(crate) fn open(account: &Account, texts: &[&str], client: usize) -> Result<Session, Failure> {
    let given =
        texts.iter().map(|text| Given::read(text, client)).collect::<Result<Vec<_>, _>>()?;
    let mut socket = connected(&account.address)?;
    let statements = match account.protocol {
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

/// Exchanges messages until `step`, given what was received, says that the login is done. What it
/// appends to `out` is sent.
pub(crate) fn log_in(
    socket: &mut File,
    mut out: Vec<u8>,
    mut step: impl FnMut(&[u8], &mut Vec<u8>) -> Result<bool, Failure>,
) -> Result<(), Failure> {
    let mut bytes = [0; 4096];
    loop {
        socket.write_all(&out)?;
        out.clear();
        let count = socket.read(&mut bytes)?;
        if count == 0 {
            return Err("the server closed the connection".into());
        }
        if step(&bytes[..count], &mut out)? {
            return Ok(());
        }
    }
}

/// Sends a message; returns its complete answer, or the error in it.
pub(crate) fn ask(
    socket: &mut File,
    message: &[u8],
    end: impl Fn(&[u8]) -> Option<End>,
) -> Result<Vec<u8>, Failure> {
    socket.write_all(message)?;
    let (mut received, mut bytes) = (Vec::new(), [0; 4096]);
    loop {
        let count = socket.read(&mut bytes)?;
        received.extend(&bytes[..count]);
        match end(&received) {
            Some(End::Done) => return Ok(received),
            Some(End::Failed) => return Err(String::from_utf8_lossy(&received).into()),
            None if count == 0 => return Err("the server closed the connection".into()),
            None => {}
        }
    }
}
