//! The capability flags of clients and servers.

pub(crate) const LONG_PASSWORD: u32 = 1;
pub(crate) const CONNECT_WITH_DB: u32 = 1 << 3;
pub(crate) const LOCAL_FILES: u32 = 1 << 7;
pub(crate) const PROTOCOL_41: u32 = 1 << 9;
pub(crate) const SSL: u32 = 1 << 11;
pub(crate) const TRANSACTIONS: u32 = 1 << 13;
pub(crate) const SECURE_CONNECTION: u32 = 1 << 15;
pub(crate) const MULTI_STATEMENTS: u32 = 1 << 16;
pub(crate) const MULTI_RESULTS: u32 = 1 << 17;
pub(crate) const PS_MULTI_RESULTS: u32 = 1 << 18;
pub(crate) const PLUGIN_AUTH: u32 = 1 << 19;
pub(crate) const CONNECT_ATTRS: u32 = 1 << 20;
pub(crate) const PLUGIN_AUTH_LENENC: u32 = 1 << 21;
pub(crate) const DEPRECATE_EOF: u32 = 1 << 24;

/// Flags that we require: every server since 5.5 has them.
pub(crate) const NEEDED: u32 = PROTOCOL_41 | SECURE_CONNECTION | PLUGIN_AUTH;

/// Flags that we use where the server has them, whatever the configuration.
///
/// The first bit keeps MariaDB from its own capabilities, of which we use none.
pub(crate) const WELCOME: u32 = LONG_PASSWORD
    | TRANSACTIONS
    | MULTI_STATEMENTS
    | MULTI_RESULTS
    | PS_MULTI_RESULTS
    | PLUGIN_AUTH_LENENC
    | DEPRECATE_EOF;

/// Flags of the status at the end of an answer.
pub(crate) mod status {
    pub(crate) const IN_TRANSACTION: u16 = 1;
    pub(crate) const MORE_RESULTS: u16 = 8;
}
