//! Prefetches what the next clients' turns need.
//!
//! With hundreds of clients, and server processes running in between, hardly anything of a client
//! is still in a cache when its turn comes, and each turn would wait for one memory access after
//! the other. Each location holds the address of the next one, so prefetching takes several steps:
//! one a turn.

use super::Lane;
use crate::io::{Io, Ready};
use dbdyno_model::prefetch;

impl<I: Io> Lane<I> {
    /// Takes one step for each of the clients that are served soon.
    #[inline]
    pub(super) fn prefetch_next_clients(&self, ready: &[Ready]) {
        let link = |turns: usize| match ready.get(turns)? {
            Ready::Readable(slot) => self.links.peek(*slot),
            Ready::Writable(_) | Ready::Freed(_) | Ready::Released(_) | Ready::Woken => None,
        };
        if let Some(link) = link(4) {
            prefetch(link);
        }
        if let Some(link) = link(3) {
            link.prefetch();
            self.worker.prefetch_client(link.owner.client);
        }
        if let Some(link) = link(2) {
            self.worker.prefetch_execution(link.owner.client);
        }
        if let Some(link) = link(1) {
            self.worker.prefetch_variables(link.owner.client);
        }
    }
}
