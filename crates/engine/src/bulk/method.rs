//! What a bulk-load method does.

use super::rows::RowMaker;
use crate::link::BlockingLink;
use dbdyno_model::ServerError;
use std::ops::Range;

/// Sends the rows of one piece to the server, in the open transaction of the link.
pub(super) trait LoadMethod {
    /// Prepares for sending rows.
    fn begin(&mut self, link: &mut BlockingLink) -> Result<(), ServerError>;

    /// Generates and sends the rows of these numbers; returns how many rows that are.
    fn rows(
        &mut self,
        link: &mut BlockingLink,
        maker: &RowMaker<'_>,
        numbers: Range<u64>,
    ) -> Result<u64, ServerError>;

    /// Ends the load of this many rows: an error unless the server has stored all of them.
    fn end(&mut self, link: &mut BlockingLink, rows: u64) -> Result<(), ServerError>;
}
