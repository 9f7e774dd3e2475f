//! Fetching ahead what the turns of the next clients will need, one step before the other: where
//! a client's session stands is written in the client, where its variables are in its session.

use super::Worker;
use dbdyno_model::prefetch;

impl Worker {
    /// A client's turn comes soon.
    #[inline]
    pub fn prefetch_client(&self, client: usize) {
        prefetch(&self.clients[client]);
    }

    /// It comes after another one.
    #[inline]
    pub fn prefetch_session(&self, client: usize) {
        prefetch(&*self.clients[client].session);
    }

    /// It comes next.
    #[inline]
    pub fn prefetch_variables(&self, client: usize) {
        self.clients[client].session.prefetch();
    }
}
