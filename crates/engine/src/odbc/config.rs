//! The configuration shared by all sessions of a run: where they log in, and what they prepare.

use super::library::Library;
use crate::EngineError;
use dbdyno_model::{Endpoint, QueryMode, Statement};
use std::fmt;
use std::sync::Arc;

/// Drivers accept no longer connection string.
const UNITS_MAX: usize = i16::MAX as usize;

/// The configuration shared by all sessions.
#[derive(Debug)]
pub(crate) struct Config {
    pub(super) library: &'static Library,
    pub(super) connection_string: ConnectionString,
    pub(super) login_timeout_s: usize,
    pub(super) query_mode: QueryMode,
    pub(super) statements: Arc<[Statement]>,
    pub(super) session_statements: Vec<String>,
}

/// Where and as whom to log in. Contains the password, so it is never shown.
pub(super) struct ConnectionString(Vec<u16>);

impl Config {
    /// For clients that run these statements. The login is added to the attributes of the address.
    pub(crate) fn for_run(
        endpoint: &Endpoint,
        attributes: &str,
        query_mode: QueryMode,
        statements: Arc<[Statement]>,
    ) -> Result<Self, EngineError> {
        Ok(Self {
            library: Library::get()?,
            connection_string: ConnectionString::new(endpoint, attributes)?,
            login_timeout_s: endpoint.connect_timeout_ns.as_secs_f64().ceil() as usize,
            query_mode,
            statements,
            session_statements: endpoint.session_statements.clone(),
        })
    }

    /// For sessions that fill tables.
    pub(crate) fn for_loading(endpoint: &Endpoint, attributes: &str) -> Result<Self, EngineError> {
        Self::for_run(endpoint, attributes, QueryMode::Simple, Arc::new([]))
    }
}

impl ConnectionString {
    fn new(endpoint: &Endpoint, attributes: &str) -> Result<Self, EngineError> {
        let mut text = attributes.trim_end_matches(';').to_owned();
        let user = Some(&endpoint.user).filter(|user| !user.is_empty());
        for (name, value) in [("UID", user), ("PWD", endpoint.password.as_ref())] {
            if let Some(value) = value {
                text.extend([";", name, "=", &quoted(value)]);
            }
        }
        let units: Vec<u16> = text.encode_utf16().collect();
        if units.len() > UNITS_MAX {
            let message = "the ODBC connection string is too long";
            return Err(EngineError::new("bad_address", message, ""));
        }
        Ok(Self(units))
    }

    pub(super) fn units(&self) -> &[u16] {
        &self.0
    }
}

/// A value as written in a connection string; in braces only where necessary, since not all drivers
/// remove them.
fn quoted(value: &str) -> String {
    let is_plain = !value.contains([';', '{', '}']) && value.trim() == value;
    if is_plain { value.to_owned() } else { format!("{{{}}}", value.replace('}', "}}")) }
}

impl fmt::Debug for ConnectionString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn values_that_would_end_the_attribute_stand_in_braces() {
        for (value, expected) in [
            ("tiger", "tiger"),
            ("a=b", "a=b"),
            ("a;PWD=x", "{a;PWD=x}"),
            ("{a}", "{{a}}}"),
            (" a", "{ a}"),
        ] {
            assert_eq!(quoted(value), expected);
        }
    }
}
