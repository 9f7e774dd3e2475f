//! The wire protocol of a link, whichever it is, with its events in one form.

use super::blueprint::{Blueprint, Dialect};
use super::{Answer, LinkEvent};
use crate::error::SHARED_SESSION;
use dbdyno_model::{Flow, Reply, Request, ServerError, StatementId};
use dbdyno_wire::postgres::Version;
use dbdyno_wire::{mysql, postgres};
use std::sync::Arc;

/// One connection's protocol.
#[derive(Debug)]
pub(crate) enum Wire {
    Postgres(postgres::Connection, Version),
    Mysql(mysql::Connection, mysql::Channel),
}

/// An event of the wire.
pub(super) enum WireEvent {
    /// To be passed on to the link's owner.
    Link(LinkEvent),
    /// The login is done.
    LoggedIn,
    /// Every statement has been prepared, or its preparation has failed.
    Prepared,
    /// What has been written is the last unencrypted message: encryption starts.
    StartTls,
}

/// How to cancel what a session is executing.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Cancellation {
    /// By this message, on a connection of its own.
    Message(Vec<u8>),
    /// By this statement, in any session of the same user.
    Statement(String),
}

impl Wire {
    pub(super) fn new(blueprint: &Blueprint, version: Version) -> Self {
        let statements = Arc::clone(&blueprint.statements);
        match &blueprint.dialect {
            Dialect::Postgres(config) => {
                Self::Postgres(postgres::Connection::new(Arc::clone(config), statements), version)
            }
            Dialect::Mysql(config, channel) => {
                Self::Mysql(mysql::Connection::new(Arc::clone(config), statements), *channel)
            }
        }
    }

    /// Starts an unencrypted session.
    pub(super) fn start(&mut self, out: &mut Vec<u8>) {
        match self {
            Self::Postgres(wire, version) => {
                let channel = postgres::Channel::Plain;
                wire.start(postgres::Opening { version: *version, channel, nonce: nonce() }, out);
            }
            Self::Mysql(wire, channel) => {
                wire.start(mysql::Opening { channel: *channel, nonce: nonce() }, out);
            }
        }
    }

    /// The transport is encrypted from here on: PostgreSQL's session starts, MySQL's continues.
    pub(super) fn encrypted(&mut self, server_certificate: Option<&[u8]>, out: &mut Vec<u8>) {
        match self {
            Self::Postgres(wire, version) => {
                let server_end_point = server_certificate.and_then(postgres::tls_server_end_point);
                let channel = postgres::Channel::Encrypted { server_end_point };
                wire.start(postgres::Opening { version: *version, channel, nonce: nonce() }, out);
            }
            Self::Mysql(wire, _) => wire.encrypted(out),
        }
    }

    /// Whether the server may close the connection because it does not know the version.
    pub(super) fn awaits_version(&self) -> bool {
        matches!(self, Self::Postgres(wire, _) if wire.awaits_version())
    }

    #[inline]
    pub(super) fn receive_space(&mut self) -> &mut [u8] {
        match self {
            Self::Postgres(wire, _) => wire.receive_space(),
            Self::Mysql(wire, _) => wire.receive_space(),
        }
    }

    #[inline]
    pub(super) fn received(&mut self, count: usize) {
        match self {
            Self::Postgres(wire, _) => wire.received(count),
            Self::Mysql(wire, _) => wire.received(count),
        }
    }

    #[inline]
    pub(super) fn poll(&mut self, out: &mut Vec<u8>) -> Result<Option<WireEvent>, ServerError> {
        match self {
            Self::Postgres(wire, _) => wire.poll(out)?.map(from_postgres).transpose(),
            Self::Mysql(wire, _) => wire.poll(out)?.map(from_mysql).transpose(),
        }
    }

    /// Prepares the statements; false when there is nothing to prepare.
    pub(super) fn prepare_all(&mut self, out: &mut Vec<u8>) -> bool {
        match self {
            Self::Postgres(wire, _) => wire.prepare_all(out),
            Self::Mysql(wire, _) => wire.prepare_all(out),
        }
    }

    #[inline]
    pub(super) fn request(&mut self, request: &Request<'_>, out: &mut Vec<u8>) {
        match self {
            Self::Postgres(wire, _) => wire.request(request, out),
            Self::Mysql(wire, _) => wire.request(request, out),
        }
    }

    /// Starts the protocol's bulk load with its statement.
    pub(super) fn rows_begin(&mut self, sql: &str, out: &mut Vec<u8>) {
        match self {
            Self::Postgres(wire, _) => wire.copy_begin(StatementId::UNCOUNTED, sql, out),
            Self::Mysql(wire, _) => wire.infile_begin(StatementId::UNCOUNTED, sql, out),
        }
    }

    /// Encodes rows: for PostgreSQL as blocks of the COPY, for MySQL as plain text.
    pub(super) fn rows(&mut self, rows: &[u8], out: &mut Vec<u8>) {
        match self {
            Self::Postgres(..) => out.extend_from_slice(rows),
            Self::Mysql(wire, _) => wire.infile_rows(rows, out),
        }
    }

    /// Ends the rows.
    pub(super) fn rows_done(&mut self, out: &mut Vec<u8>) {
        match self {
            Self::Postgres(wire, _) => wire.copy_done(out),
            Self::Mysql(wire, _) => wire.infile_done(out),
        }
    }

    pub(super) fn terminate(&mut self, out: &mut Vec<u8>) {
        match self {
            Self::Postgres(wire, _) => wire.terminate(out),
            Self::Mysql(wire, _) => wire.terminate(out),
        }
    }

    /// How to cancel what the session is executing.
    pub(super) fn cancellation(&self) -> Cancellation {
        match self {
            Self::Postgres(wire, _) => {
                let mut bytes = Vec::new();
                wire.cancel_request(&mut bytes);
                Cancellation::Message(bytes)
            }
            Self::Mysql(wire, _) => Cancellation::Statement(wire.kill_statement()),
        }
    }

    /// The process or thread of the server that serves the session.
    pub(super) fn backend(&self) -> u32 {
        match self {
            Self::Postgres(wire, _) => wire.session().process_id,
            Self::Mysql(wire, _) => wire.session().connection_id,
        }
    }

    pub(super) fn server_version(&self) -> &str {
        match self {
            Self::Postgres(wire, _) => wire.session().server_version(),
            Self::Mysql(wire, _) => &wire.session().server_version,
        }
    }
}

fn nonce<const LENGTH: usize>() -> [u8; LENGTH] {
    let mut nonce = [0; LENGTH];
    // The kernel's random pool is initialized long before a benchmark runs, so this is complete.
    let _ = rustix::rand::getrandom(&mut nonce, rustix::rand::GetRandomFlags::empty());
    nonce
}

#[inline]
fn from_postgres(event: postgres::Event<'_>) -> Result<WireEvent, ServerError> {
    Ok(WireEvent::Link(match event {
        postgres::Event::Reply { flow, reply, .. } => owned_reply(flow, &reply),
        postgres::Event::Ready(_) => return Ok(WireEvent::LoggedIn),
        // A statement that could not be prepared now may be possible later: its first use prepares
        // it again, and reports the error if there still is one.
        postgres::Event::Prepared { failures } => {
            return refuse_shared_session(failures).map(|()| WireEvent::Prepared);
        }
        postgres::Event::CopyInReady => LinkEvent::RowsWanted,
        postgres::Event::Notice(notice) => {
            LinkEvent::Notice(format!("{}: {}", notice.severity, notice.message))
        }
        postgres::Event::VersionRefused(_) => LinkEvent::VersionRefused,
        postgres::Event::Fatal(error) => return Err(error),
    }))
}

/// A new session has no prepared statements. A name that is taken means that a pooler shares the
/// session with other clients, whose statements of that name would run in place of ours.
fn refuse_shared_session(failures: &[postgres::PrepareFailure]) -> Result<(), ServerError> {
    let is_taken = |failure: &postgres::PrepareFailure| failure.error.code == SHARED_SESSION;
    match failures.iter().find(|failure| is_taken(failure)) {
        None => Ok(()),
        Some(failure) => Err(ServerError {
            message: format!(
                "a pooler shares the session between clients: {}",
                failure.error.message
            ),
            ..failure.error.clone()
        }),
    }
}

#[inline]
fn from_mysql(event: mysql::Event<'_>) -> Result<WireEvent, ServerError> {
    Ok(match event {
        mysql::Event::Reply { flow, reply, .. } => WireEvent::Link(owned_reply(flow, &reply)),
        mysql::Event::Ready(_) => WireEvent::LoggedIn,
        mysql::Event::Prepared { .. } => WireEvent::Prepared,
        mysql::Event::InfileReady => WireEvent::Link(LinkEvent::RowsWanted),
        mysql::Event::StartTls => WireEvent::StartTls,
        mysql::Event::Fatal(error) => return Err(error),
    })
}

/// A reply that owns its data.
#[inline]
fn owned_reply(flow: Flow, reply: &Reply<'_>) -> LinkEvent {
    let answer = Answer {
        error: reply.error.cloned(),
        results: reply.results.to_vec(),
        rows_returned: reply.rows_returned,
        rows_affected: reply.rows_affected,
        rows_touched: reply.rows_touched,
        in_transaction: reply.in_transaction,
        rolled_back: reply.rolled_back,
        copied_bytes: reply.copied_bytes,
    };
    LinkEvent::Reply(flow, answer)
}
