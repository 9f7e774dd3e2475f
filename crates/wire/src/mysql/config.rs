//! Login data and query mode: the same for all connections of a run.

use crate::secret::Secret;
use dbdyno_model::QueryMode;
use std::fmt;

/// The configuration shared by all connections of a run.
#[derive(Clone)]
pub struct Config {
    /// The user.
    pub user: String,
    /// The database; empty for none.
    pub database: String,
    /// The password, if any.
    pub password: Option<String>,
    /// How statements with parameters are sent. `Simple` prepares nothing in advance; a statement
    /// with parameters is prepared by its first use in every mode, since the text protocol has no
    /// parameters.
    pub query_mode: QueryMode,
    /// The client's connection attributes, such as `program_name`.
    pub attributes: Vec<(String, String)>,
    /// Whether rows may be loaded by `LOAD DATA LOCAL INFILE`.
    pub local_infile: bool,
    /// Statements that each session starts with.
    pub session_commands: Vec<String>,
}

impl Config {
    /// The password; empty if there is none.
    pub(super) fn password_bytes(&self) -> &[u8] {
        self.password.as_deref().unwrap_or_default().as_bytes()
    }
}

/// Never shows the password.
impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("user", &self.user)
            .field("database", &self.database)
            .field("password", &self.password.as_ref().map(Secret))
            .field("query_mode", &self.query_mode)
            .field("attributes", &self.attributes)
            .field("local_infile", &self.local_infile)
            .field("session_commands", &self.session_commands)
            .finish_non_exhaustive()
    }
}

/// The parameters of one connection.
#[derive(Clone, Copy, Debug)]
pub struct Opening {
    /// How the bytes are transported.
    pub channel: Channel,
    /// Random bytes, different for each connection: the padding seed of an encrypted password.
    pub nonce: [u8; 32],
}

/// How the bytes of a connection are transported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// Unencrypted, over a network.
    Plain,
    /// Over a Unix socket: unencrypted, but nobody else can read it.
    Unix,
    /// To be encrypted, once the server has offered it.
    WantsTls {
        /// Whether to give up when it cannot; otherwise the login continues unencrypted.
        required: bool,
    },
}
