//! What the server reports about the session in its greeting.

/// The server's side of a session, as it reports it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionFacts {
    /// The connection's number on the server, for KILL.
    pub connection_id: u32,
    /// The server's version, as it reports it, without the `5.5.5-` that MariaDB prepends for old
    /// replicas.
    pub server_version: String,
    /// Whether the server can encrypt.
    pub tls_offered: bool,
}

/// What MariaDB prepends before version 11.
const REPLICATION_PREFIX: &str = "5.5.5-";

impl SessionFacts {
    pub(super) fn new(connection_id: u32, version: &str, tls_offered: bool) -> Self {
        let server_version = version.strip_prefix(REPLICATION_PREFIX).unwrap_or(version);
        Self { connection_id, server_version: server_version.to_owned(), tls_offered }
    }
}

#[cfg(test)]
mod tests {
    use super::SessionFacts;

    #[test]
    fn a_version_is_freed_of_what_is_for_replicas() {
        for (reported, version) in [
            ("5.5.5-10.11.19-MariaDB-0+deb12u1", "10.11.19-MariaDB-0+deb12u1"),
            ("11.4.5-MariaDB-log", "11.4.5-MariaDB-log"),
            ("8.0.33", "8.0.33"),
            ("5.5.62-log", "5.5.62-log"),
        ] {
            assert_eq!(SessionFacts::new(7, reported, false).server_version, version);
        }
    }
}
