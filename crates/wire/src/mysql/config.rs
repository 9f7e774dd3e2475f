//! Who logs in where, and how statements travel: the same for all connections of a run.

use crate::secret::Secret;
use dbdyno_model::QueryMode;
use std::fmt;

/// What all connections of a run share.
#[derive(Clone)]
pub struct Config {
    /// Who logs in.
    pub user: String,
    /// To which database; empty for none.
    pub database: String,
    /// With which password, if any.
    pub password: Option<String>,
    /// How statements with parameters travel. `Simple` prepares nothing ahead; a statement
    /// that comes with parameters is prepared by its first use in every mode, since the text
    /// protocol knows no parameters.
    pub query_mode: QueryMode,
    /// What the client tells of itself, such as `program_name`.
    pub attributes: Vec<(String, String)>,
    /// Whether rows may be loaded by `LOAD DATA LOCAL INFILE`.
    pub local_infile: bool,
    /// Statements that each session begins with.
    pub session_commands: Vec<String>,
}

impl Config {
    /// The password; none is an empty one.
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

/// What one connection begins with.
#[derive(Clone, Copy, Debug)]
pub struct Opening {
    /// How the bytes travel.
    pub channel: Channel,
    /// Random bytes, fresh for each connection: they seed the padding of an encrypted password.
    pub nonce: [u8; 32],
}

/// How the bytes of a connection travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// In the clear, over a network.
    Plain,
    /// Over a Unix socket: in the clear, but nobody else can read it.
    Unix,
    /// To be encrypted, once the server has said that it can.
    WantsTls {
        /// Whether to give up when it cannot; else the login goes on in the clear.
        required: bool,
    },
}
