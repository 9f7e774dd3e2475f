//! The wire protocol of a link, whichever it is, with its events in one form.

use super::blueprint::{Blueprint, Dialect};
use super::{LinkEvent, OwnedReply};
use crate::error::SHARED_SESSION;
use dbdyno_model::{Flow, Reply, Request, ServerError, StatementId};
use dbdyno_wire::postgres::Version;
use dbdyno_wire::{Cancellation, Event, PrepareFailure, ReceiveBuffer, mysql, postgres};
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

/// The same of the connection, whichever protocol it has.
macro_rules! each {
    ($wire:expr, $connection:ident => $same:expr) => {
        match $wire {
            Wire::Postgres($connection, _) => $same,
            Wire::Mysql($connection, _) => $same,
        }
    };
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
        each!(self, wire => wire.awaits_version())
    }

    #[inline]
    pub(super) fn borrow_memory(&mut self, lender: &mut ReceiveBuffer) {
        each!(self, wire => wire.borrow_memory(lender));
    }

    #[inline]
    pub(super) fn return_memory(&mut self, lender: &mut ReceiveBuffer) {
        each!(self, wire => wire.return_memory(lender));
    }

    #[inline]
    pub(super) fn receive_space(&mut self) -> &mut [u8] {
        each!(self, wire => wire.receive_space())
    }

    #[inline]
    pub(super) fn received(&mut self, count: usize) {
        each!(self, wire => wire.received(count));
    }

    #[inline]
    pub(super) fn poll(&mut self, out: &mut Vec<u8>) -> Result<Option<WireEvent>, ServerError> {
        each!(self, wire => {
            let mut event = wire.poll(out)?.map(owned).transpose()?;
            if let Some(WireEvent::Link(LinkEvent::Reply(_, answer))) = &mut event {
                // They are moved, not copied: there may be many rows.
                answer.results = wire.take_results();
            }
            Ok(event)
        })
    }

    /// Prepares the statements; false when there is nothing to prepare.
    pub(super) fn prepare_all(&mut self, out: &mut Vec<u8>) -> bool {
        each!(self, wire => wire.prepare_all(out))
    }

    #[inline]
    pub(super) fn request(&mut self, request: &Request<'_>, out: &mut Vec<u8>) {
        each!(self, wire => wire.request(request, out));
    }

    #[inline]
    pub(super) fn prefetch(&self) {
        each!(self, wire => wire.prefetch());
    }

    /// Starts the protocol's bulk load with its statement.
    pub(super) fn rows_begin(&mut self, sql: &str, out: &mut Vec<u8>) {
        each!(self, wire => wire.rows_begin(StatementId::UNCOUNTED, sql, out));
    }

    /// Encodes rows: for PostgreSQL as blocks of the COPY, for MySQL as plain text.
    pub(super) fn rows(&mut self, rows: &[u8], out: &mut Vec<u8>) {
        each!(self, wire => wire.rows(rows, out));
    }

    /// Ends the rows.
    pub(super) fn rows_done(&mut self, out: &mut Vec<u8>) {
        each!(self, wire => wire.rows_done(out));
    }

    pub(super) fn terminate(&mut self, out: &mut Vec<u8>) {
        each!(self, wire => wire.terminate(out));
    }

    /// How to cancel what the session is executing.
    pub(super) fn cancellation(&self) -> Cancellation {
        each!(self, wire => wire.cancellation())
    }

    /// The process or thread of the server that serves the session.
    pub(super) fn backend(&self) -> u32 {
        each!(self, wire => wire.backend())
    }

    pub(super) fn server_version(&self) -> &str {
        each!(self, wire => wire.server_version())
    }
}

fn nonce<const LENGTH: usize>() -> [u8; LENGTH] {
    let mut nonce = [0; LENGTH];
    // The kernel's random pool is initialized long before a benchmark runs, so this is complete.
    let _ = rustix::rand::getrandom(&mut nonce, rustix::rand::GetRandomFlags::empty());
    nonce
}

/// The event with its data.
#[inline]
fn owned<S>(event: Event<'_, S>) -> Result<WireEvent, ServerError> {
    Ok(match event {
        Event::Reply { flow, reply, .. } => WireEvent::Link(owned_reply(flow, &reply)),
        Event::Ready(_) => WireEvent::LoggedIn,
        // A statement that could not be prepared now may be possible later: its first use prepares
        // it again, and reports the error if there still is one.
        Event::Prepared { failures } => {
            refuse_shared_session(failures)?;
            WireEvent::Prepared
        }
        Event::RowsWanted => WireEvent::Link(LinkEvent::RowsWanted),
        Event::StartTls => WireEvent::StartTls,
        Event::Notice(notice) => {
            WireEvent::Link(LinkEvent::Notice(format!("{}: {}", notice.severity, notice.message)))
        }
        Event::VersionRefused(_) => WireEvent::Link(LinkEvent::VersionRefused),
        Event::Fatal(error) => return Err(error),
    })
}

/// A new session has no prepared statements. A name that is taken means that a pooler shares the
/// session with other clients, whose statements of that name would run in place of ours.
fn refuse_shared_session(failures: &[PrepareFailure]) -> Result<(), ServerError> {
    let is_taken = |failure: &PrepareFailure| failure.error.code == SHARED_SESSION;
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

/// A reply that owns its data, without its results.
#[inline]
fn owned_reply(flow: Flow, reply: &Reply<'_>) -> LinkEvent {
    let answer = OwnedReply {
        error: reply.error.cloned(),
        results: Vec::new(),
        rows_returned: reply.rows_returned,
        rows_affected: reply.rows_affected,
        rows_touched: reply.rows_touched,
        in_transaction: reply.in_transaction,
        rolled_back: reply.rolled_back,
        copied_bytes: reply.copied_bytes,
    };
    LinkEvent::Reply(flow, answer)
}
