//! Prefetches what the next clients' turns will need, in steps: the address of a client's session
//! is in the client, and that of its variables in the session.

use super::Worker;
use dbdyno_model::prefetch;

impl Worker {
    /// For a client whose turn comes soon.
    #[inline]
    pub fn prefetch_client(&self, client: usize) {
        prefetch(&self.clients[client]);
    }

    /// For the client after the next one.
    #[inline]
    pub fn prefetch_session(&self, client: usize) {
        prefetch(&*self.clients[client].session);
    }

    /// For the next client.
    #[inline]
    pub fn prefetch_variables(&self, client: usize) {
        self.clients[client].session.prefetch();
    }
}
