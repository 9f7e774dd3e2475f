//! Connections that load rows: over one of our wire protocols, or through an ODBC driver.

use super::arrays;
use super::rows::RowMaker;
use super::way;
use crate::address::choose;
use crate::link::{Blueprint, PatientLink, Route};
use crate::{EngineError, odbc};
use dbdyno_model::{Address, Endpoint, Keep, LoadTable, Nanos, Protocol, ServerError};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Rows are sent in chunks of about this size.
const CHUNK_BYTES: usize = 128 << 10;

/// Rows of one table that are loaded in one transaction.
pub(super) struct Freight<'a> {
    pub(super) table: &'a LoadTable,
    pub(super) maker: RowMaker<'a>,
    pub(super) rows: Range<u64>,
    /// Counts the rows sent.
    pub(super) sent: &'a AtomicU64,
}

/// A connection that fills tables.
pub(super) trait Carrier {
    /// Runs a statement.
    fn run(&mut self, sql: &str) -> Result<(), ServerError>;

    /// Sends rows in the open transaction.
    fn carry(&mut self, freight: &Freight<'_>) -> Result<(), ServerError>;
}

/// Opens connections for loading.
pub(super) enum Door {
    Wire { blueprint: Arc<Blueprint>, route: Route, protocol: Protocol, timeout: Nanos },
    Odbc(Arc<odbc::Blueprint>),
}

impl Door {
    pub(super) fn to(endpoint: &Endpoint) -> Result<Self, EngineError> {
        let timeout = endpoint.connect_timeout_ns;
        if let Address::Odbc { attributes } = &endpoint.address {
            let blueprint = odbc::Blueprint::for_loading(endpoint, attributes)?;
            return Ok(Self::Odbc(Arc::new(blueprint)));
        }
        Ok(Self::Wire {
            blueprint: Arc::new(Blueprint::for_loading(endpoint)?),
            route: Route::new(choose(&endpoint.address, timeout)?),
            protocol: endpoint.protocol,
            timeout,
        })
    }

    pub(super) fn open(&self) -> Result<Box<dyn Carrier>, ServerError> {
        match self {
            Self::Wire { blueprint, route, protocol, timeout } => {
                let link = PatientLink::open(blueprint, route, *timeout)?;
                Ok(Box::new(WireCarrier { link, protocol: *protocol }))
            }
            Self::Odbc(blueprint) => Ok(Box::new(arrays::carrier(blueprint)?)),
        }
    }
}

struct WireCarrier {
    link: PatientLink,
    protocol: Protocol,
}

impl Carrier for WireCarrier {
    fn run(&mut self, sql: &str) -> Result<(), ServerError> {
        self.link.execute(sql, Keep::None).map(drop)
    }

    fn carry(&mut self, freight: &Freight<'_>) -> Result<(), ServerError> {
        let mut way = way::choose(self.protocol, &freight.table.copy);
        way.begin(&mut self.link)?;
        let chunk = (CHUNK_BYTES / freight.maker.row_bytes()).max(1);
        for rows in freight.parts(chunk as u64) {
            way.rows(&mut self.link, &freight.maker, rows.clone())?;
            freight.count(&rows);
        }
        way.end(&mut self.link, freight.rows.end - freight.rows.start)
    }
}

impl Freight<'_> {
    /// The rows in ranges of this size.
    pub(super) fn parts(&self, size: u64) -> impl Iterator<Item = Range<u64>> + use<> {
        let end = self.rows.end;
        self.rows.clone().step_by(size as usize).map(move |first| first..end.min(first + size))
    }

    /// Counts these rows as sent.
    pub(super) fn count(&self, rows: &Range<u64>) {
        self.sent.fetch_add(rows.end - rows.start, Ordering::Relaxed);
    }
}
