//! The server's address, as the sysbench options in which a script may look for it.
//!
//! The password is not among them, because what a script prints is recorded.

use dbdyno_model::{Address, Endpoint, Protocol};

/// The options that would make sysbench connect there; none for what is not known yet.
pub fn options_of(endpoint: &Endpoint) -> impl Iterator<Item = (String, String)> {
    let prefix = if endpoint.protocol == Protocol::Mysql { "mysql" } else { "pgsql" };
    let named = [("user", endpoint.user.clone()), ("db", endpoint.database.clone())];
    let options = named.into_iter().chain(place_of(endpoint)).filter(|(_, text)| !text.is_empty());
    options.map(move |(name, text)| (format!("{prefix}_{name}"), text))
}

fn place_of(endpoint: &Endpoint) -> Vec<(&'static str, String)> {
    match &endpoint.address {
        Address::Tcp { host, port, .. } => vec![("host", host.clone()), ("port", port.to_string())],
        Address::Unix { path } if endpoint.protocol == Protocol::Mysql => {
            vec![("socket", path.clone())]
        }
        Address::Unix { path } => of_socket_of_postgresql(path),
        Address::Odbc { .. } => Vec::new(),
    }
}

/// The socket's name consists of the folder, which is given as the host, and the port.
fn of_socket_of_postgresql(path: &str) -> Vec<(&'static str, String)> {
    let (folder, port) = path.split_once("/.s.PGSQL.").unwrap_or_default();
    vec![("host", folder.into()), ("port", port.into())]
}

#[cfg(test)]
mod tests {
    use super::options_of;
    use dbdyno_model::{Address, Endpoint, Nanos, Protocol, Tls, TlsMode};

    fn described(protocol: Protocol, address: Address, user: &str) -> Vec<String> {
        let endpoint = Endpoint {
            protocol,
            address,
            user: user.into(),
            password: Some("secret".into()),
            database: "bench".into(),
            parameters: [].into(),
            session_statements: Vec::new(),
            tls: Tls {
                mode: TlsMode::Disable,
                root_certificates: None,
                certificate: None,
                key: None,
            },
            further_addresses: Vec::new(),
            read_only_query: None,
            standby_addresses: Vec::new(),
            connect_timeout_ns: Nanos::from_secs(1),
        };
        options_of(&endpoint).map(|(name, text)| format!("{name}={text}")).collect()
    }

    #[test]
    fn each_kind_of_server_has_its_own_names() {
        let tcp = || Address::Tcp { host: "db".into(), port: 3307, numeric: None };
        let unix = |path: &str| Address::Unix { path: path.into() };
        assert_eq!(
            described(Protocol::Mysql, tcp(), "me"),
            ["mysql_user=me", "mysql_db=bench", "mysql_host=db", "mysql_port=3307"]
        );
        assert_eq!(
            described(Protocol::Mysql, unix("/run/s"), "me"),
            ["mysql_user=me", "mysql_db=bench", "mysql_socket=/run/s"]
        );
        assert_eq!(
            described(Protocol::Postgresql, unix("/run/.s.PGSQL.5433"), "me"),
            ["pgsql_user=me", "pgsql_db=bench", "pgsql_host=/run", "pgsql_port=5433"]
        );
    }

    #[test]
    fn what_is_not_known_yet_is_left_out() {
        let nowhere = Address::Unix { path: String::new() };
        assert_eq!(described(Protocol::Postgresql, nowhere, ""), ["pgsql_db=bench"]);
    }
}
