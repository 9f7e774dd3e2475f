//! Login data and query mode: the same for all connections of a run.

use crate::secret::Secret;
use dbdyno_model::QueryMode;
use std::fmt;

/// A version of the protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// 3.0, supported by every server since 7.4.
    V3_0,
    /// 3.2, since PostgreSQL 18: cancel keys of up to 256 bytes. An older server offers 3.0
    /// instead; some poolers close the connection.
    #[default]
    V3_2,
}

impl Version {
    pub(super) fn code(self) -> u32 {
        (3 << 16) | self.minor()
    }

    pub(super) fn minor(self) -> u32 {
        match self {
            Self::V3_0 => 0,
            Self::V3_2 => 2,
        }
    }
}

/// The configuration shared by all connections of a run.
#[derive(Clone)]
pub struct Config {
    /// The user.
    pub user: String,
    /// The database.
    pub database: String,
    /// The password, if any.
    pub password: Option<String>,
    /// Further parameters of the session, such as `application_name` or `options`.
    pub parameters: Vec<(String, String)>,
    /// How statements with parameters are sent.
    pub query_mode: QueryMode,
}

/// Never shows the password.
impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let password = self.password.as_ref().map(Secret);
        f.debug_struct("Config")
            .field("user", &self.user)
            .field("database", &self.database)
            .field("password", &password)
            .field("parameters", &self.parameters)
            .field("query_mode", &self.query_mode)
            .finish()
    }
}

/// The parameters of one connection.
#[derive(Clone, Debug)]
pub struct Opening {
    /// The version to ask for.
    pub version: Version,
    /// How the bytes are transported.
    pub channel: Channel,
    /// Random bytes, different for each connection: used for SCRAM's nonce.
    pub nonce: [u8; 18],
}

/// How the bytes of a connection are transported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Channel {
    /// Unencrypted.
    Plain,
    /// Encrypted.
    Encrypted {
        /// The channel binding data, see [`tls_server_end_point`](super::tls_server_end_point);
        /// none if the server's certificate defines none.
        server_end_point: Option<Vec<u8>>,
    },
}
