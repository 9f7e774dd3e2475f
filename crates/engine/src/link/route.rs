//! The address of the server, shared by all links of a run, and which protocol version it accepts.

use crate::address::Peer;
use dbdyno_wire::postgres::Version;
use std::sync::atomic::{AtomicBool, Ordering};

/// The address of the server and the protocol version to ask for.
#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) peer: Peer,
    oldest_version: AtomicBool,
    has_logged_in: AtomicBool,
}

impl Route {
    pub(crate) fn new(peer: Peer) -> Self {
        Self { peer, oldest_version: AtomicBool::new(false), has_logged_in: AtomicBool::new(false) }
    }

    /// The server, or a pooler in front of it, does not know the newer version.
    pub(crate) fn request_oldest_version(&self) {
        self.oldest_version.store(true, Ordering::Relaxed);
    }

    /// A session has logged in: the version that it asked for is known there.
    pub(crate) fn note_login(&self) {
        self.has_logged_in.store(true, Ordering::Relaxed);
    }

    /// Whether a connection that asked for the newer version, and is closed without a word, may
    /// have been closed for that: if no session has logged in yet, or only with the oldest version.
    pub(crate) fn may_need_oldest_version(&self) -> bool {
        self.oldest_version.load(Ordering::Relaxed) || !self.has_logged_in.load(Ordering::Relaxed)
    }

    /// The version of PostgreSQL's protocol to ask for.
    pub(crate) fn version(&self) -> Version {
        if self.oldest_version.load(Ordering::Relaxed) { Version::V3_0 } else { Version::default() }
    }
}
