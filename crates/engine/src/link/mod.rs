//! A link: one connection, made of a socket, encryption where wanted, and the wire protocol.
//!
//! The lane moves the bytes: it receives into [`Link::socket_and_space`], calls [`Link::received`],
//! takes events from [`Link::poll`], and sends the contents of `out`.

mod blocking;
mod blueprint;
mod route;
mod wire;

use crate::tls::{self, Channel};
use dbdyno_model::{
    ConnectionId, FailureClass, Flow, Keep, Request, ResultSet, ServerError, StatementId, TlsMode,
};
use dbdyno_wire::postgres::tls as tls_request;
use dbdyno_wire::{Cancellation, ReceiveBuffer};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{SendFlags, send};
use std::io;
use std::sync::Arc;
use wire::{Wire, WireEvent};

pub(crate) use blocking::BlockingLink;
pub(crate) use blueprint::Blueprint;
pub(crate) use route::Route;

/// A server, and how connections to it are made.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    pub(crate) blueprint: Arc<Blueprint>,
    pub(crate) route: Arc<Route>,
}

/// Whose connection a link is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Owner {
    pub(crate) client: usize,
    pub(crate) connection: ConnectionId,
}

impl Owner {
    /// Of a connection beside the load.
    pub(crate) const NONE: Self = Self { client: usize::MAX, connection: ConnectionId::FIRST };
}

/// How far a connection has been set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The socket is not connected yet.
    Dialing,
    /// PostgreSQL was asked whether it encrypts.
    AskingForTls,
    /// The TLS handshake is in progress.
    Handshaking,
    /// The login is in progress.
    LoggingIn,
    /// The server was asked whether it takes writes.
    AskingForRole,
    /// The statements are being prepared.
    Preparing,
    /// Requests may be sent.
    Ready,
}

/// What happened on a connection; owns its data.
#[derive(Debug)]
pub(crate) enum LinkEvent {
    /// Ready for the first request; the process or thread of the server that serves it.
    Connected(u32),
    /// An answer.
    Reply(Flow, OwnedReply),
    /// Rows may be sent now.
    RowsWanted,
    /// A notice of the server.
    Notice(String),
    /// The protocol's version was refused: dial again and ask for an older one.
    VersionRefused,
}

/// An answer that owns what it holds: in the common case, nothing.
#[derive(Debug, Default)]
pub(crate) struct OwnedReply {
    pub(crate) error: Option<ServerError>,
    pub(crate) results: Vec<ResultSet>,
    pub(crate) rows_returned: u64,
    pub(crate) rows_affected: u64,
    pub(crate) rows_touched: u64,
    pub(crate) in_transaction: bool,
    pub(crate) rolled_back: bool,
    pub(crate) copied_bytes: u64,
}

/// The memory that the links of a lane use in turns, so that it stays cached: a link has its own only
/// while part of a message waits in it.
#[derive(Debug, Default)]
pub(crate) struct SharedMemory {
    incoming: ReceiveBuffer,
    outgoing: Vec<u8>,
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) socket: OwnedFd,
    pub(crate) owner: Owner,
    /// The number of its server, among those of the endpoint.
    pub(crate) server: u32,
    pub(crate) stage: Stage,
    /// Bytes to be sent, encrypted where wanted.
    pub(crate) out: Vec<u8>,
    wire: Wire,
    blueprint: Arc<Blueprint>,
    channel: Option<Box<Channel>>,
    /// What is sent in place of a login, by a connection that is there for nothing else.
    message: Option<Box<[u8]>>,
    /// PostgreSQL's one-byte answer to the request for encryption.
    tls_response: [u8; 1],
    /// Whether a COPY has further rows to send, once the last ones are sent.
    pub(crate) has_more_rows: bool,
    /// Whether its owner has been asked to send `out`.
    pub(crate) is_to_be_flushed: bool,
}

impl Link {
    pub(crate) fn new(
        socket: OwnedFd,
        owner: Owner,
        server: u32,
        route: &Route,
        blueprint: &Arc<Blueprint>,
    ) -> Self {
        Self {
            socket,
            owner,
            server,
            stage: Stage::Dialing,
            out: Vec::new(),
            wire: Wire::new(blueprint, route.version()),
            blueprint: Arc::clone(blueprint),
            channel: None,
            message: None,
            tls_response: [0],
            has_more_rows: false,
            is_to_be_flushed: false,
        }
    }

    /// The socket is connected. PostgreSQL is asked for encryption before anything else is sent;
    /// MySQL speaks first, and encrypts after that.
    pub(crate) fn dialed(&mut self) {
        if self.blueprint.encryption.is_some() && matches!(self.wire, Wire::Postgres(..)) {
            self.out.extend_from_slice(&tls_request::REQUEST);
            self.stage = Stage::AskingForTls;
        } else {
            self.log_in();
        }
    }

    fn log_in(&mut self) {
        match self.message.take() {
            Some(message) => self.out.extend_from_slice(&message),
            None => self.wire.start(&mut self.out),
        }
        self.stage = Stage::LoggingIn;
    }

    /// Bytes are about to be received.
    #[inline]
    pub(crate) fn borrow_incoming(&mut self, memory: &mut SharedMemory) {
        self.wire.borrow_memory(&mut memory.incoming);
    }

    /// The events in the received bytes have been handled.
    #[inline]
    pub(crate) fn return_incoming(&mut self, memory: &mut SharedMemory) {
        self.wire.return_memory(&mut memory.incoming);
    }

    /// A request is about to be encoded.
    #[inline]
    pub(crate) fn borrow_outgoing(&mut self, memory: &mut SharedMemory) {
        if self.out.capacity() == 0 {
            self.out = std::mem::take(&mut memory.outgoing);
        }
    }

    /// What there was to be sent has been passed on.
    #[inline]
    pub(crate) fn return_outgoing(&mut self, memory: &mut SharedMemory) {
        if self.out.is_empty() {
            memory.outgoing = std::mem::take(&mut self.out);
        }
    }

    /// The socket, and the space to receive into. The space stays in place until [`Link::received`]
    /// is called.
    pub(crate) fn socket_and_space(&mut self) -> (&OwnedFd, &mut [u8]) {
        let space = match (&mut self.channel, self.stage) {
            (_, Stage::AskingForTls) => &mut self.tls_response,
            (Some(channel), _) => channel.space(),
            (None, _) => self.wire.receive_space(),
        };
        (&self.socket, space)
    }

    /// Sends as much of `out` as is possible without waiting; true when nothing is left.
    ///
    /// That the peer has closed is no error here: its last message, with the reason, is still to be
    /// received, and then the end of the stream.
    #[inline]
    pub(crate) fn send_now(&mut self) -> io::Result<bool> {
        while !self.out.is_empty() {
            match send(&self.socket, &self.out, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
                Ok(count) => drop(self.out.drain(..count)),
                Err(Errno::AGAIN) => return Ok(false),
                Err(Errno::INTR) => {}
                Err(errno) if is_peer_gone(errno) => self.out.clear(),
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(true)
    }

    /// This many bytes were received.
    pub(crate) fn received(&mut self, count: usize) -> Result<(), ServerError> {
        match (&mut self.channel, self.stage) {
            (_, Stage::AskingForTls) => self.tls_answered(),
            (Some(channel), _) => {
                channel.received(count)?;
                self.continue_handshake();
                Ok(())
            }
            (None, _) => {
                self.wire.received(count);
                Ok(())
            }
        }
    }

    /// The server has answered whether it encrypts.
    fn tls_answered(&mut self) -> Result<(), ServerError> {
        match tls_request::response(&self.tls_response)? {
            tls_request::TlsResponse::Accepted => self.start_tls(),
            tls_request::TlsResponse::Refused if self.prefers_tls() => {
                self.log_in();
                Ok(())
            }
            tls_request::TlsResponse::Refused => {
                Err(tls::refused("the server does not support TLS, but it was required"))
            }
            tls_request::TlsResponse::Error => Err(ServerError::connection_lost(
                "the server refused the connection before its login",
            )),
        }
    }

    /// Whether encryption is preferred but not required.
    fn prefers_tls(&self) -> bool {
        let mode = self.blueprint.encryption.as_ref().map(|encryption| encryption.mode);
        mode == Some(TlsMode::Prefer)
    }

    fn start_tls(&mut self) -> Result<(), ServerError> {
        if let Some(encryption) = &self.blueprint.encryption {
            self.channel = Some(Box::new(encryption.channel()?));
            self.stage = Stage::Handshaking;
        }
        Ok(())
    }

    fn continue_handshake(&mut self) {
        let Some(channel) = &mut self.channel else { return };
        if self.stage == Stage::Handshaking && !channel.is_handshaking() {
            let mut hello = Vec::new();
            match self.message.take() {
                Some(message) => hello.extend_from_slice(&message),
                None => self.wire.encrypted(channel.server_certificate(), &mut hello),
            }
            channel.plain = hello;
            self.stage = Stage::LoggingIn;
        }
    }

    /// The next event in the received bytes, if there is one.
    #[inline]
    pub(crate) fn poll(&mut self) -> Result<Option<LinkEvent>, ServerError> {
        loop {
            let out = outgoing(&mut self.out, &mut self.channel);
            match self.wire.poll(out)? {
                Some(WireEvent::Link(LinkEvent::Reply(_, reply)))
                    if self.stage == Stage::AskingForRole =>
                {
                    takes_writes(reply)?;
                    if !self.prepare() {
                        return Ok(Some(self.connected()));
                    }
                }
                Some(WireEvent::Link(event)) => {
                    self.has_more_rows &= !matches!(event, LinkEvent::Reply(..));
                    return Ok(Some(event));
                }
                Some(WireEvent::LoggedIn) if self.ask_for_role() || self.prepare() => {}
                Some(WireEvent::LoggedIn | WireEvent::Prepared) => {
                    return Ok(Some(self.connected()));
                }
                Some(WireEvent::StartTls) => self.start_tls()?,
                None if self.decrypt() => {}
                None => return Ok(None),
            }
        }
    }

    /// Asks whether the server takes writes; false when that does not matter.
    fn ask_for_role(&mut self) -> bool {
        let Some(sql) = &self.blueprint.read_only_query else { return false };
        if self.owner.connection != ConnectionId::FIRST {
            return false;
        }
        self.stage = Stage::AskingForRole;
        let statement = StatementId::UNCOUNTED;
        let request = Request::Text { statement, sql, keep: Keep::LastRow };
        self.wire.request(&request, outgoing(&mut self.out, &mut self.channel));
        true
    }

    /// Prepares the statements; false when there is nothing to prepare.
    fn prepare(&mut self) -> bool {
        self.stage = Stage::Preparing;
        self.wire.prepare_all(outgoing(&mut self.out, &mut self.channel))
    }

    fn connected(&mut self) -> LinkEvent {
        self.stage = Stage::Ready;
        LinkEvent::Connected(self.wire.backend())
    }

    /// Passes decrypted bytes on to the wire; false when there are none.
    fn decrypt(&mut self) -> bool {
        let Some(channel) = &mut self.channel else { return false };
        if channel.is_handshaking() {
            return false;
        }
        let count = channel.decrypted(self.wire.receive_space());
        self.wire.received(count);
        count > 0
    }

    /// Encodes a request.
    #[inline]
    pub(crate) fn request(&mut self, request: &Request<'_>) {
        self.has_more_rows = matches!(request, Request::CopyRows { is_last: false, .. });
        self.wire.request(request, outgoing(&mut self.out, &mut self.channel));
    }

    /// Its turn comes soon: prefetches what the next request is sure to need.
    #[inline]
    pub(crate) fn prefetch(&self) {
        self.wire.prefetch();
    }

    /// Encodes the last message of a session.
    pub(crate) fn terminate(&mut self) {
        if matches!(self.stage, Stage::Ready | Stage::Preparing | Stage::AskingForRole) {
            self.wire.terminate(outgoing(&mut self.out, &mut self.channel));
        }
    }

    /// Encrypts what is to be encrypted, so that `out` holds all that is to be sent.
    #[inline]
    pub(crate) fn seal(&mut self) -> Result<(), ServerError> {
        match &mut self.channel {
            Some(channel) => channel.seal(&mut self.out),
            None => Ok(()),
        }
    }

    /// How to cancel what the session is executing.
    pub(crate) fn cancellation(&self) -> Cancellation {
        self.wire.cancellation()
    }

    /// Whether the server may close the connection because it does not know the version.
    pub(crate) fn awaits_version(&self) -> bool {
        self.wire.awaits_version()
    }

    /// The process or thread of the server that serves the session.
    pub(crate) fn backend(&self) -> u32 {
        self.wire.backend()
    }

    /// The server's version, as it reports it.
    pub(crate) fn server_version(&self) -> &str {
        self.wire.server_version()
    }

    /// TLS protocol and cipher, or empty.
    pub(crate) fn tls_description(&self) -> String {
        self.channel.as_ref().map(|channel| channel.description()).unwrap_or_default()
    }

    /// The wire itself, for the loader.
    fn wire(&mut self) -> (&mut Wire, &mut Vec<u8>) {
        (&mut self.wire, outgoing(&mut self.out, &mut self.channel))
    }
}

/// Fails if the server has answered that it only reads.
fn takes_writes(reply: OwnedReply) -> Result<(), ServerError> {
    if let Some(error) = reply.error {
        return Err(error);
    }
    let row = reply.results.first().and_then(|result| result.rows.last());
    let found = row.and_then(|mut values| values.next().flatten()).unwrap_or_default();
    if found == "0" || found.eq_ignore_ascii_case("off") {
        return Ok(());
    }
    Err(ServerError::new(
        FailureClass::Connection,
        "read_only",
        format!("the server takes no writes: asked whether it is read-only, it says {found}"),
    ))
}

/// Whether a send failed because the peer has closed.
pub(crate) fn is_peer_gone(errno: Errno) -> bool {
    matches!(errno, Errno::PIPE | Errno::CONNRESET)
}

/// Where the wire writes: to the socket's output, or to the input of encryption.
fn outgoing<'a>(out: &'a mut Vec<u8>, channel: &'a mut Option<Box<Channel>>) -> &'a mut Vec<u8> {
    match channel {
        Some(channel) => &mut channel.plain,
        None => out,
    }
}
