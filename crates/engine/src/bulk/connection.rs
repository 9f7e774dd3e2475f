//! Connections that load rows: over one of our wire protocols, or through an ODBC driver.

use super::arrays;
use super::method;
use super::rows::RowMaker;
use crate::address::connectable_peer;
use crate::link::{BlockingLink, Blueprint, Route};
use crate::{EngineError, odbc};
use dbdyno_model::{Address, Endpoint, Keep, LoadTable, Nanos, Protocol, ServerError};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Rows are sent in chunks of about this size.
const CHUNK_BYTES: usize = 128 << 10;

/// Rows of one table that are loaded in one transaction.
pub(super) struct RowSource<'a> {
    pub(super) table: &'a LoadTable,
    pub(super) maker: RowMaker<'a>,
    pub(super) rows: Range<u64>,
    /// Counts the rows sent.
    pub(super) sent: &'a AtomicU64,
}

/// A connection that fills tables.
pub(super) trait LoadConnection {
    /// Runs a statement.
    fn run(&mut self, sql: &str) -> Result<(), ServerError>;

    /// Sends rows in the open transaction.
    fn send_rows(&mut self, source: &RowSource<'_>) -> Result<(), ServerError>;
}

/// Opens connections for loading.
pub(super) enum Connector {
    Wire { blueprint: Arc<Blueprint>, route: Route, protocol: Protocol, timeout: Nanos },
    Odbc(Arc<odbc::Blueprint>),
}

impl Connector {
    pub(super) fn new(endpoint: &Endpoint) -> Result<Self, EngineError> {
        let timeout = endpoint.connect_timeout_ns;
        if let Address::Odbc { attributes } = &endpoint.address {
            let blueprint = odbc::Blueprint::for_loading(endpoint, attributes)?;
            return Ok(Self::Odbc(Arc::new(blueprint)));
        }
        Ok(Self::Wire {
            blueprint: Arc::new(Blueprint::for_loading(endpoint)?),
            route: Route::new(connectable_peer(&endpoint.address, timeout)?),
            protocol: endpoint.protocol,
            timeout,
        })
    }

    pub(super) fn open(&self) -> Result<Box<dyn LoadConnection>, ServerError> {
        match self {
            Self::Wire { blueprint, route, protocol, timeout } => {
                let link = BlockingLink::open(blueprint, route, *timeout)?;
                Ok(Box::new(WireConnection { link, protocol: *protocol }))
            }
            Self::Odbc(blueprint) => Ok(Box::new(arrays::open(blueprint)?)),
        }
    }
}

struct WireConnection {
    link: BlockingLink,
    protocol: Protocol,
}

impl LoadConnection for WireConnection {
    fn run(&mut self, sql: &str) -> Result<(), ServerError> {
        self.link.execute(sql, Keep::None).map(drop)
    }

    fn send_rows(&mut self, source: &RowSource<'_>) -> Result<(), ServerError> {
        let mut method = method::choose(self.protocol, &source.table.copy);
        method.begin(&mut self.link)?;
        let chunk = (CHUNK_BYTES / source.maker.row_bytes()).max(1);
        for rows in source.ranges(chunk as u64) {
            method.rows(&mut self.link, &source.maker, rows.clone())?;
            source.count_sent(&rows);
        }
        method.end(&mut self.link, source.rows.end - source.rows.start)
    }
}

impl RowSource<'_> {
    /// The rows in ranges of this size.
    pub(super) fn ranges(&self, size: u64) -> impl Iterator<Item = Range<u64>> + use<> {
        let end = self.rows.end;
        self.rows.clone().step_by(size as usize).map(move |first| first..end.min(first + size))
    }

    /// Counts these rows as sent.
    pub(super) fn count_sent(&self, rows: &Range<u64>) {
        self.sent.fetch_add(rows.end - rows.start, Ordering::Relaxed);
    }
}
