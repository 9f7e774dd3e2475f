//! The ways in which rows travel in bulk.

use super::copy::Copy;
use super::infile::Infile;
use super::literals::Literals;
use super::rows::RowMaker;
use crate::link::PatientLink;
use dbdyno_model::{Protocol, ServerError};
use std::ops::Range;

/// Takes one piece's rows to the server, in the transaction that is open on the link.
pub(super) trait Way {
    /// Gets ready for rows.
    fn begin(&mut self, link: &mut PatientLink) -> Result<(), ServerError>;

    /// Makes and sends these rows.
    fn rows(
        &mut self,
        link: &mut PatientLink,
        maker: &RowMaker<'_>,
        rows: Range<u64>,
    ) -> Result<(), ServerError>;

    /// All have been sent, so many: an error unless they are what the table now has.
    fn end(&mut self, link: &mut PatientLink, rows: u64) -> Result<(), ServerError>;
}

/// The way of a statement that receives rows.
pub(super) fn choose(protocol: Protocol, sql: &str) -> Box<dyn Way + '_> {
    match protocol {
        Protocol::Postgresql => Box::new(Copy::new(sql)),
        _ if is_insert(sql) => Box::new(Literals::new(sql)),
        _ => Box::new(Infile::new(sql)),
    }
}

fn is_insert(sql: &str) -> bool {
    sql.trim_start().get(..6).is_some_and(|word| word.eq_ignore_ascii_case("insert"))
}
