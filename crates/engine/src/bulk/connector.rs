//! Opens connections that load rows: over one of our wire protocols, or through an ODBC driver.

use super::arrays;
use super::connection::{LoadConnection, RowSource};
use super::copy::Copy;
use super::infile::Infile;
use super::literals::Literals;
use super::method::LoadMethod;
use crate::address::connectable_peer;
use crate::link::{BlockingLink, Blueprint, Route};
use crate::{EngineError, odbc};
use dbdyno_model::{Address, Endpoint, Keep, Nanos, Protocol, ServerError};
use std::sync::Arc;

/// Rows are sent in chunks of about this size.
const CHUNK_BYTES: usize = 128 << 10;

/// Opens connections for loading.
pub(super) enum Connector {
    Wire { blueprint: Arc<Blueprint>, route: Route, protocol: Protocol, timeout: Nanos },
    Odbc(Arc<odbc::Config>),
}

impl Connector {
    pub(super) fn new(endpoint: &Endpoint) -> Result<Self, EngineError> {
        let timeout = endpoint.connect_timeout_ns;
        if let Address::Odbc { attributes } = &endpoint.address {
            let config = odbc::Config::for_loading(endpoint, attributes)?;
            return Ok(Self::Odbc(Arc::new(config)));
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
            Self::Odbc(config) => Ok(Box::new(arrays::open(config)?)),
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
        let mut method = choose(self.protocol, &source.table.copy);
        method.begin(&mut self.link)?;
        let mut rows = 0;
        for numbers in source.ranges(CHUNK_BYTES / source.maker.row_bytes()) {
            let sent = method.rows(&mut self.link, &source.maker, numbers)?;
            source.count_sent(sent);
            rows += sent;
        }
        method.end(&mut self.link, rows)
    }
}

/// The load method for a statement that receives rows.
fn choose(protocol: Protocol, sql: &str) -> Box<dyn LoadMethod + '_> {
    match protocol {
        Protocol::Postgresql => Box::new(Copy::new(sql)),
        _ if is_insert(sql) => Box::new(Literals::new(sql)),
        _ => Box::new(Infile::new(sql)),
    }
}

fn is_insert(sql: &str) -> bool {
    sql.trim_start().get(..6).is_some_and(|word| word.eq_ignore_ascii_case("insert"))
}
