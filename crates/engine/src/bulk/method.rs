//! The bulk-load methods.

use super::copy::Copy;
use super::infile::Infile;
use super::literals::Literals;
use super::rows::RowMaker;
use crate::link::BlockingLink;
use dbdyno_model::{Protocol, ServerError};
use std::ops::Range;

/// Sends the rows of one piece to the server, in the open transaction of the link.
pub(super) trait LoadMethod {
    /// Prepares for sending rows.
    fn begin(&mut self, link: &mut BlockingLink) -> Result<(), ServerError>;

    /// Generates and sends these rows.
    fn rows(
        &mut self,
        link: &mut BlockingLink,
        maker: &RowMaker<'_>,
        rows: Range<u64>,
    ) -> Result<(), ServerError>;

    /// Ends the load of this many rows: an error unless the server has stored all of them.
    fn end(&mut self, link: &mut BlockingLink, rows: u64) -> Result<(), ServerError>;
}

/// The load method for a statement that receives rows.
pub(super) fn choose(protocol: Protocol, sql: &str) -> Box<dyn LoadMethod + '_> {
    match protocol {
        Protocol::Postgresql => Box::new(Copy::new(sql)),
        _ if is_insert(sql) => Box::new(Literals::new(sql)),
        _ => Box::new(Infile::new(sql)),
    }
}

fn is_insert(sql: &str) -> bool {
    sql.trim_start().get(..6).is_some_and(|word| word.eq_ignore_ascii_case("insert"))
}
