//! Where a server listens, how to log in, and what is encrypted.
//!
//! The request, not its outcome: connecting is done by the engine.

use crate::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A server and how to log in to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Endpoint {
    /// Its wire protocol.
    pub protocol: Protocol,
    /// Where it listens.
    pub address: Address,
    /// Further servers, on which the connections are spread in turn. The login and everything else
    /// is the same for all.
    #[serde(default)]
    pub further_addresses: Vec<Address>,
    /// If first connections are only for servers that take writes: a query that yields `off` or `0`
    /// there.
    #[serde(default)]
    pub read_only_query: Option<String>,
    /// Standbys, to which clients have a further connection for the scripts that read there; empty
    /// if no script does. They are numbered after the other servers.
    #[serde(default)]
    pub standby_addresses: Vec<Address>,
    /// The user.
    pub user: String,
    /// The password, if any. Never written down.
    pub password: Option<String>,
    /// The database.
    pub database: String,
    /// Further session parameters, set at its start: those of PostgreSQL's startup message, or
    /// session variables of MySQL.
    pub parameters: BTreeMap<String, String>,
    /// Statements that each session of a run starts with; not over PostgreSQL's protocol, whose
    /// startup message carries all that they could set.
    #[serde(default)]
    pub session_statements: Vec<String>,
    /// Encryption.
    pub tls: Tls,
    /// How long one attempt to connect may take.
    pub connect_timeout_ns: Nanos,
}

impl Endpoint {
    /// The number of servers to which clients have their first connections.
    pub fn servers(&self) -> u32 {
        1 + self.further_addresses.len() as u32
    }

    /// The number of the standby on which a client reads; none without standbys.
    pub fn standby_of(&self, client: u32) -> Option<u32> {
        let place = client.checked_rem(self.standby_addresses.len() as u32)?;
        Some(self.servers() + place)
    }

    /// The number of all servers, standbys included.
    pub fn all_servers(&self) -> u32 {
        self.servers() + self.standby_addresses.len() as u32
    }

    /// The number of those, from 0, among which a first connection moves on from one that fails. A
    /// standby may be promoted: where each is asked whether it takes writes, it is one of them.
    pub fn successors(&self) -> u32 {
        if self.read_only_query.is_some() { self.all_servers() } else { self.servers() }
    }

    /// The endpoint of each server alone, in the order of their numbers.
    pub fn each_server(&self) -> impl Iterator<Item = Self> {
        let addresses = std::iter::once(&self.address)
            .chain(&self.further_addresses)
            .chain(&self.standby_addresses);
        addresses.map(|address| Self {
            address: address.clone(),
            further_addresses: Vec::new(),
            standby_addresses: Vec::new(),
            ..self.clone()
        })
    }
}

/// Which of these servers a client's connect of this number, from 0, goes to: each client begins
/// with the next server, and its connects take them in turn.
pub fn server_of(servers: u32, client: u64, connect: u64) -> u32 {
    ((client + connect) % u64::from(servers)) as u32
}

/// A wire protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// PostgreSQL's, version 3.
    Postgresql,
    /// MySQL's and MariaDB's, version 4.1.
    Mysql,
    /// None of ours: that of an ODBC driver.
    Odbc,
}

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Address {
    /// A Unix socket.
    Unix {
        /// The socket file itself.
        path: String,
    },
    /// TCP.
    Tcp {
        /// A name or an address, IPv4 or IPv6.
        host: String,
        /// The port.
        port: u16,
        /// The address to connect to instead of resolving the name, which is then used only to
        /// check certificates.
        numeric: Option<String>,
    },
    /// Behind an ODBC driver.
    Odbc {
        /// Attributes of a connection string: the driver or data source, and the server; without
        /// the login.
        attributes: String,
    },
}

/// Encryption of the connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// What is required.
    pub mode: TlsMode,
    /// PEM file of trusted roots, for the verifying modes; none means the system's.
    pub root_certificates: Option<String>,
    /// PEM file of the client's own certificate.
    pub certificate: Option<String>,
    /// PEM file of the client's own key.
    pub key: Option<String>,
}

/// libpq's `sslmode`. Of the mysql client's `ssl-mode`, DISABLED is `disable`, PREFERRED
/// `prefer`, REQUIRED `require` (without roots: they would be checked), VERIFY_CA `verify-ca`
/// and VERIFY_IDENTITY `verify-full`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TlsMode {
    /// Never encrypted.
    Disable,
    /// Unencrypted unless the server insists.
    Allow,
    /// Encrypted if the server can.
    Prefer,
    /// Always encrypted; the server's certificate is not checked.
    Require,
    /// Encrypted, and the certificate must be signed by a trusted root.
    VerifyCa,
    /// The same, and it must be for this host.
    VerifyFull,
}
