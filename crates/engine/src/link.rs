//! One connection: a socket, encryption where wanted, and the wire protocol above them.
//!
//! The lane moves the bytes: it receives into [`Link::socket_and_space`], tells
//! [`Link::received`], takes events from [`Link::poll`], and sends what stands in `out`.

use crate::tls::{self, Channel, Encryption};
use dbdyno_model::{Flow, Request, ResultSet, ServerError, TlsMode};
use dbdyno_wire::postgres::{
    self, Connection, Event, Opening, Version, tls as question, tls_server_end_point,
};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{SendFlags, send};
use std::io;
use std::sync::Arc;

/// Where a connection is on its way to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The socket is not connected yet.
    Dialing,
    /// The server was asked whether it encrypts.
    AskingForTls,
    /// The TLS handshake goes on.
    Handshaking,
    /// The login goes on.
    LoggingIn,
    /// The statements are being prepared.
    Preparing,
    /// Requests may be sent.
    Ready,
}

/// What happened on a connection, in a form that borrows nothing of it.
#[derive(Debug)]
pub(crate) enum LinkEvent {
    /// Ready for the first request; served by this process of the server.
    Connected(u32),
    /// An answer.
    Reply(Flow, Answer),
    /// Rows may be sent now.
    CopyInReady,
    /// A notice of the server.
    Notice(String),
    /// The protocol's version was refused: dial again and ask for an older one.
    VersionRefused,
}

/// An answer that owns what it holds: in the common case, nothing.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) error: Option<ServerError>,
    pub(crate) results: Vec<ResultSet>,
    pub(crate) rows_returned: u64,
    pub(crate) rows_affected: u64,
    pub(crate) in_transaction: bool,
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) socket: OwnedFd,
    pub(crate) client: usize,
    pub(crate) stage: Stage,
    /// What is to be sent, ready for the socket.
    pub(crate) out: Vec<u8>,
    wire: Connection,
    version: Version,
    blueprint: Arc<Blueprint>,
    channel: Option<Box<Channel>>,
    /// The one byte that answers the question for encryption.
    answer: [u8; 1],
}

/// What all links of a run share.
#[derive(Debug)]
pub(crate) struct Blueprint {
    pub(crate) config: Arc<postgres::Config>,
    pub(crate) statements: Arc<[dbdyno_model::Statement]>,
    pub(crate) encryption: Option<Encryption>,
}

impl Link {
    pub(crate) fn new(
        socket: OwnedFd,
        client: usize,
        version: Version,
        blueprint: &Arc<Blueprint>,
    ) -> Self {
        let statements = Arc::clone(&blueprint.statements);
        Self {
            socket,
            client,
            stage: Stage::Dialing,
            out: Vec::new(),
            wire: Connection::new(Arc::clone(&blueprint.config), statements),
            version,
            blueprint: Arc::clone(blueprint),
            channel: None,
            answer: [0],
        }
    }

    /// The socket is connected: the first bytes go out.
    pub(crate) fn dialed(&mut self) {
        if self.blueprint.encryption.is_some() {
            self.out.extend_from_slice(&question::REQUEST);
            self.stage = Stage::AskingForTls;
        } else {
            self.log_in(postgres::Channel::Plain);
        }
    }

    fn log_in(&mut self, channel: postgres::Channel) {
        let mut nonce = [0; 18];
        // The pool of random numbers is ready long before a benchmark runs, so this is whole.
        let _ = rustix::rand::getrandom(&mut nonce, rustix::rand::GetRandomFlags::empty());
        let opening = Opening { version: self.version, channel, nonce };
        let out = outgoing(&mut self.out, &mut self.channel);
        self.wire.start(opening, out);
        self.stage = Stage::LoggingIn;
    }

    /// The socket, and room to receive into. The room stays in place until the bytes have
    /// been told.
    pub(crate) fn socket_and_space(&mut self) -> (&OwnedFd, &mut [u8]) {
        let space = match (&mut self.channel, self.stage) {
            (_, Stage::AskingForTls) => &mut self.answer,
            (Some(channel), _) => channel.space(),
            (None, _) => self.wire.receive_space(),
        };
        (&self.socket, space)
    }

    /// Sends what stands in `out`, as far as that can be done without waiting; true when
    /// nothing is left.
    ///
    /// That the peer has closed is no error here: its last words, with the reason, are still
    /// to be received, and its end after them.
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

    /// So many bytes were received.
    pub(crate) fn received(&mut self, count: usize) -> Result<(), ServerError> {
        match (&mut self.channel, self.stage) {
            (_, Stage::AskingForTls) => self.answered(),
            (Some(channel), _) => {
                channel.received(count)?;
                self.go_on_handshaking();
                Ok(())
            }
            (None, _) => {
                self.wire.received(count);
                Ok(())
            }
        }
    }

    /// The server said whether it encrypts.
    fn answered(&mut self) -> Result<(), ServerError> {
        let Some(encryption) = &self.blueprint.encryption else { return Ok(()) };
        match question::answer(&self.answer)? {
            question::Answer::Accepted => {
                self.channel = Some(Box::new(encryption.channel()?));
                self.stage = Stage::Handshaking;
                Ok(())
            }
            question::Answer::Refused if encryption.mode == TlsMode::Prefer => {
                self.log_in(postgres::Channel::Plain);
                Ok(())
            }
            question::Answer::Refused => {
                Err(tls::refused("the server does not support TLS, but it was required"))
            }
            question::Answer::Error => Err(ServerError::connection_lost(
                "the server refused the connection before its login",
            )),
        }
    }

    fn go_on_handshaking(&mut self) {
        let Some(channel) = &self.channel else { return };
        if self.stage == Stage::Handshaking && !channel.is_handshaking() {
            let server_end_point = channel.server_certificate().and_then(tls_server_end_point);
            self.log_in(postgres::Channel::Encrypted { server_end_point });
        }
    }

    /// The next event of what was received, if it makes one.
    #[inline]
    pub(crate) fn poll(&mut self) -> Result<Option<LinkEvent>, ServerError> {
        loop {
            let out = outgoing(&mut self.out, &mut self.channel);
            let event = match self.wire.poll(out)? {
                Some(event) => own(event)?,
                None if self.channel.is_some() => Owned::Nothing,
                None => return Ok(None),
            };
            match event {
                Owned::Told(event) => return Ok(Some(event)),
                Owned::LoggedIn if self.prepare() => {}
                Owned::LoggedIn | Owned::Prepared => return Ok(Some(self.connected())),
                Owned::Nothing if self.decrypt() => {}
                Owned::Nothing => return Ok(None),
            }
        }
    }

    /// Prepares the statements; false when there is nothing to prepare.
    fn prepare(&mut self) -> bool {
        self.stage = Stage::Preparing;
        self.wire.prepare_all(outgoing(&mut self.out, &mut self.channel))
    }

    fn connected(&mut self) -> LinkEvent {
        self.stage = Stage::Ready;
        LinkEvent::Connected(self.session().process_id)
    }

    /// Hands decrypted bytes on to the wire; false when there are none.
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
        self.wire.request(request, outgoing(&mut self.out, &mut self.channel));
    }

    /// The last message of a session.
    pub(crate) fn terminate(&mut self) {
        if matches!(self.stage, Stage::Ready | Stage::Preparing) {
            self.wire.terminate(outgoing(&mut self.out, &mut self.channel));
        }
    }

    /// Encrypts what waits for it, so that all that is to be sent stands in `out`.
    #[inline]
    pub(crate) fn seal(&mut self) {
        if let Some(channel) = &mut self.channel {
            channel.seal(&mut self.out);
        }
    }

    /// The message that cancels what the session is doing.
    pub(crate) fn cancel_request(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.wire.cancel_request(&mut bytes);
        bytes
    }

    /// What the server has told about itself.
    pub(crate) fn session(&self) -> &postgres::Session {
        self.wire.session()
    }

    /// Protocol and cipher, or empty.
    pub(crate) fn tls_description(&self) -> String {
        self.channel.as_ref().map(|channel| channel.description()).unwrap_or_default()
    }

    /// The wire itself, for the loader.
    pub(crate) fn wire(&mut self) -> (&mut Connection, &mut Vec<u8>) {
        (&mut self.wire, outgoing(&mut self.out, &mut self.channel))
    }
}

/// An event of the wire that borrows nothing of it.
enum Owned {
    Told(LinkEvent),
    LoggedIn,
    Prepared,
    Nothing,
}

#[inline]
fn own(event: Event<'_>) -> Result<Owned, ServerError> {
    let told = match event {
        Event::Reply { flow, reply, .. } => LinkEvent::Reply(
            flow,
            Answer {
                error: reply.error.cloned(),
                results: reply.results.to_vec(),
                rows_returned: reply.rows_returned,
                rows_affected: reply.rows_affected,
                in_transaction: reply.in_transaction,
            },
        ),
        Event::Ready(_) => return Ok(Owned::LoggedIn),
        // A statement that could not be prepared may still become possible: its first use
        // tries again, and tells the error if there still is one.
        Event::Prepared { .. } => return Ok(Owned::Prepared),
        Event::CopyInReady => LinkEvent::CopyInReady,
        Event::Notice(notice) => {
            LinkEvent::Notice(format!("{}: {}", notice.severity, notice.message))
        }
        Event::VersionRefused(_) => LinkEvent::VersionRefused,
        Event::Fatal(error) => return Err(error),
    };
    Ok(Owned::Told(told))
}

/// Whether a send failed because the peer has closed.
pub(crate) fn is_peer_gone(errno: Errno) -> bool {
    matches!(errno, Errno::PIPE | Errno::CONNRESET)
}

/// Where the wire writes: to the socket's bytes, or to what is encrypted first.
fn outgoing<'a>(out: &'a mut Vec<u8>, channel: &'a mut Option<Box<Channel>>) -> &'a mut Vec<u8> {
    match channel {
        Some(channel) => &mut channel.plain,
        None => out,
    }
}
