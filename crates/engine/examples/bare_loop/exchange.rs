//! What a login and a preparation exchange, in either protocol.

use crate::Failure;
use std::fs::File;
use std::io::{Read, Write};

/// How an answer ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Done,
    Failed,
}

pub(crate) struct Account {
    pub(crate) address: String,
    pub(crate) user: String,
    pub(crate) database: String,
    pub(crate) password: Option<String>,
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
