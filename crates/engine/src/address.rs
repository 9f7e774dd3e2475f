//! Where the server listens, and connecting sockets to it.

use crate::{EngineError, clock};
use dbdyno_model::{Address, Nanos};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::sockopt::{set_tcp_nodelay, socket_error};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;

/// Pause before retrying a connect that met a full listen backlog.
const BACKLOG_RETRY_PAUSE: Duration = Duration::from_millis(5);

/// One address to connect to.
#[derive(Clone, Debug)]
pub(crate) enum Peer {
    Unix(SocketAddrUnix),
    Tcp(SocketAddr),
}

/// State of a non-blocking connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dial {
    /// The socket is connected.
    Done,
    /// The socket becomes writable when the outcome is known.
    InProgress,
}

/// The socket addresses of an endpoint: a host name may have several.
pub(crate) fn resolve(address: &Address) -> Result<Vec<Peer>, EngineError> {
    match address {
        Address::Unix { path } => {
            let address = SocketAddrUnix::new(path.as_str()).map_err(|_| {
                EngineError::new("bad_address", format!("the socket path {path} is too long"), "")
            })?;
            Ok(vec![Peer::Unix(address)])
        }
        Address::Tcp { host, port, numeric } => {
            let host = numeric.as_ref().unwrap_or(host);
            let found = (host.as_str(), *port).to_socket_addrs().map_err(|error| {
                let hint = "check the host name";
                EngineError::new("unknown_host", format!("cannot find host {host}: {error}"), hint)
            })?;
            Ok(found.map(Peer::Tcp).collect())
        }
        Address::Odbc { .. } => Ok(Vec::new()), // the driver resolves it
    }
}

/// The first address that accepts a connection; the last one's error when none does.
pub(crate) fn connectable_peer(address: &Address, timeout: Nanos) -> Result<Peer, EngineError> {
    let mut last = Errno::NOENT;
    for peer in resolve(address)? {
        match dial_and_wait(&peer, timeout) {
            // A full backlog is no reason to try another address: connects are retried later.
            Ok(_) | Err(Errno::AGAIN) => return Ok(peer),
            Err(errno) => last = errno,
        }
    }
    let place = match address {
        Address::Unix { path } => path.clone(),
        Address::Tcp { host, port, .. } => format!("{host}, port {port}"),
        Address::Odbc { attributes } => attributes.clone(),
    };
    let cause = std::io::Error::from(last);
    let hint = "check that the server runs and listens there";
    Err(EngineError::new("cannot_connect", format!("cannot connect to {place}: {cause}"), hint))
}

/// Starts a non-blocking connect.
pub(crate) fn dial(peer: &Peer) -> Result<(OwnedFd, Dial), Errno> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let (socket, result) = match peer {
        Peer::Unix(address) => {
            let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
            let result = connect(&socket, address);
            (socket, result)
        }
        Peer::Tcp(address) => {
            let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
            let socket = socket_with(family, SocketType::STREAM, flags, None)?;
            set_tcp_nodelay(&socket, true)?;
            let result = connect(&socket, address);
            (socket, result)
        }
    };
    match result {
        Ok(()) => Ok((socket, Dial::Done)),
        Err(Errno::INPROGRESS) => Ok((socket, Dial::InProgress)),
        Err(errno) => Err(errno),
    }
}

/// The outcome of a connect whose socket has become writable.
pub(crate) fn dialed(socket: &OwnedFd) -> Result<(), Errno> {
    socket_error(socket.as_fd())?
}

/// Connects and waits until connected. The socket stays non-blocking.
pub(crate) fn dial_and_wait(peer: &Peer, timeout: Nanos) -> Result<OwnedFd, Errno> {
    let (socket, dial) = dial(peer)?;
    if dial == Dial::InProgress {
        let mut wanted = [PollFd::new(&socket, PollFlags::OUT)];
        if poll(&mut wanted, Some(&clock::timespec(timeout)))? == 0 {
            return Err(Errno::TIMEDOUT);
        }
        dialed(&socket)?;
    }
    Ok(socket)
}

/// Like [`dial_and_wait`], retrying until the deadline while the listen backlog is full.
pub(crate) fn dial_with_retry(peer: &Peer, deadline: Nanos) -> Result<OwnedFd, Errno> {
    loop {
        match dial_and_wait(peer, deadline - clock::now()) {
            Err(Errno::AGAIN) if clock::now() < deadline => std::thread::sleep(BACKLOG_RETRY_PAUSE),
            outcome => return outcome,
        }
    }
}
