//! Loads rows with PostgreSQL's COPY in its binary format.

use super::method::LoadMethod;
use super::rows::{Cells, RowMaker};
use crate::link::BlockingLink;
use dbdyno_model::ServerError;
use dbdyno_wire::postgres::copy::{self, Block, Row};
use std::ops::Range;

/// A `COPY … FROM STDIN (FORMAT binary)`.
pub(super) struct Copy<'a> {
    sql: &'a str,
    blocks: Vec<u8>,
}

impl<'a> Copy<'a> {
    /// Prepares the first block, which needs no rows.
    pub(super) fn new(sql: &'a str) -> Self {
        let mut blocks = Vec::new();
        let header = |block: &mut Block<'_>| block.header();
        copy::block(&mut blocks, header);
        Self { sql, blocks }
    }

    /// Sends the blocks built so far.
    fn push(&mut self, link: &mut BlockingLink) -> Result<(), ServerError> {
        let outcome = link.rows(&self.blocks);
        self.blocks.clear();
        outcome
    }
}

impl LoadMethod for Copy<'_> {
    fn begin(&mut self, link: &mut BlockingLink) -> Result<(), ServerError> {
        link.rows_begin(self.sql)
    }

    fn rows(
        &mut self,
        link: &mut BlockingLink,
        maker: &RowMaker<'_>,
        numbers: Range<u64>,
    ) -> Result<u64, ServerError> {
        let mut count = 0;
        copy::block(&mut self.blocks, |block| {
            count = maker.each(numbers, |row| {
                maker.write(row, &mut block.row(maker.columns()));
            });
        });
        self.push(link)?;
        Ok(count)
    }

    fn end(&mut self, link: &mut BlockingLink, _rows: u64) -> Result<(), ServerError> {
        let trailer = |block: &mut Block<'_>| block.trailer();
        copy::block(&mut self.blocks, trailer);
        self.push(link)?;
        link.rows_done().map(drop) // a COPY stores all rows or none
    }
}

impl Cells for Row<'_> {
    fn null(&mut self) {
        Row::null(self);
    }

    fn int4(&mut self, number: i32) {
        Row::int4(self, number);
    }

    fn int8(&mut self, number: i64) {
        Row::int8(self, number);
    }

    fn text(&mut self, text: &str) {
        Row::text(self, text);
    }

    fn boolean(&mut self, truth: bool) {
        Row::boolean(self, truth);
    }

    fn decimal(&mut self, units: i64, scale: u8) {
        Row::decimal(self, units, scale);
    }

    fn json(&mut self, text: &str) {
        Row::json(self, text);
    }

    fn date(&mut self, days: i64) {
        Row::date(self, days as i32);
    }

    fn timestamp(&mut self, micros: i64) {
        Row::timestamp(self, micros);
    }
}
