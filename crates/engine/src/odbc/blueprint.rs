//! What all sessions of a run share: where they log in, and what they prepare.

use super::library::Library;
use crate::EngineError;
use dbdyno_model::{Endpoint, QueryMode, Statement};
use std::fmt;
use std::sync::Arc;

/// Drivers take no longer text to connect.
const UNITS_MAX: usize = i16::MAX as usize;

/// What all sessions share.
#[derive(Debug)]
pub(crate) struct Blueprint {
    pub(super) library: &'static Library,
    pub(super) connection_string: ConnectionString,
    pub(super) login_timeout_s: usize,
    pub(super) query_mode: QueryMode,
    pub(super) statements: Arc<[Statement]>,
}

/// Where and as whom to log in. Holds the password, which nobody is shown.
pub(super) struct ConnectionString(Vec<u16>);

impl Blueprint {
    /// For clients that run these statements. The address' attributes are completed by who
    /// logs in.
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

/// A value as a connection string has it; only in braces where it must be, since not all
/// drivers take them off again.
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
