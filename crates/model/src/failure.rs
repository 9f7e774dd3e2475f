//! The classes of failures of transactions.

use serde::{Deserialize, Serialize};

/// Why a transaction failed: failures that an operator would treat alike share a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    /// The isolation level could not be guaranteed (40001, MySQL 1020).
    Serialization,
    /// Two transactions waited for each other (40P01, MySQL 1213).
    Deadlock,
    /// A lock was not granted in time (55P03, MySQL 1205).
    LockTimeout,
    /// A key that exists already (23505, MySQL 1062).
    DuplicateKey,
    /// Another constraint was violated (class 23).
    Constraint,
    /// The statement was cancelled, by us or by a timeout of the server (57014).
    Cancelled,
    /// The connection was lost or refused (class 08, 57P01 to 57P05), or closed because of a
    /// transaction that took too long (25P03, 25P04).
    Connection,
    /// The server lacks resources: disk, memory, connections, locks (classes 53, 54, 58), or the
    /// other nodes of its cluster (MySQL 1047).
    Resource,
    /// Not allowed (42501, class 28), also because a server or transaction only reads (25006).
    Permission,
    /// The statement itself is wrong: syntax, unknown names (class 42).
    Statement,
    /// The data is invalid: overflow, division by zero, a failed cast (class 22).
    Data,
    /// The client's own script failed.
    Script,
    /// Bytes that violate the protocol.
    Protocol,
    /// Anything else.
    Other,
}

impl FailureClass {
    /// The class of a SQLSTATE (five characters).
    pub fn from_sqlstate(code: &str) -> Self {
        match code {
            "40001" => Self::Serialization,
            "40P01" => Self::Deadlock,
            "55P03" => Self::LockTimeout,
            "23505" => Self::DuplicateKey,
            "57014" => Self::Cancelled,
            "42501" | "25006" => Self::Permission,
            "25P03" | "25P04" | "57P01" | "57P02" | "57P03" | "57P04" | "57P05" => Self::Connection,
            _ => match code.get(..2) {
                Some("08") => Self::Connection,
                Some("22") => Self::Data,
                Some("23") => Self::Constraint,
                Some("28") => Self::Permission,
                Some("42") => Self::Statement,
                Some("53" | "54" | "58") => Self::Resource,
                _ => Self::Other,
            },
        }
    }

    /// The class of an error of MySQL or MariaDB: by its number where the SQLSTATE is less specific
    /// (many numbers share `HY000` or `42000`), otherwise by its SQLSTATE.
    pub fn from_mysql(number: u16, sqlstate: &str) -> Self {
        match number {
            1213 => Self::Deadlock,
            1020 => Self::Serialization,
            1205 | 3572 => Self::LockTimeout,
            1062 | 1586 => Self::DuplicateKey,
            1048 | 1451 | 1452 | 3819 | 4025 => Self::Constraint,
            1317 | 1969 | 3024 => Self::Cancelled,
            1053 | 1080 | 1927 | 2006 | 2013 | 3169 | 4031 => Self::Connection,
            1021 | 1037 | 1038 | 1040 | 1041 | 1047 | 1114 | 1203 | 1206 | 1226 | 1461 => {
                Self::Resource
            }
            1044 | 1045 | 1129 | 1130 | 1142 | 1143 | 1227 | 1290 | 1370 | 1698 | 1792 | 1836 => {
                Self::Permission
            }
            1049 | 1054 | 1064 | 1136 | 1146 | 1222 | 1241 | 1295 | 1665 => Self::Statement,
            1264 | 1292 | 1365 | 1366 | 1406 => Self::Data,
            // SIGNAL: the state is the script's own choice, and the connection stays.
            1644 if sqlstate.starts_with("08") => Self::Other,
            _ => Self::from_sqlstate(sqlstate),
        }
    }

    /// Whether a retry cannot help: a wrong or forbidden statement fails again.
    pub fn is_lasting(self) -> bool {
        matches!(self, Self::Statement | Self::Permission)
    }
}

/// An error as reported by the server, or on the way to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerError {
    /// The class of failure.
    pub class: FailureClass,
    /// SQLSTATE or the server's own number; for errors that the server did not report, a word of
    /// ours.
    pub code: String,
    /// The SQLSTATE that the server reported; empty for errors that it did not report.
    pub sqlstate: String,
    /// The server's message.
    pub message: String,
}

/// The state of errors before the login, whose packets have none: as in MySQL's clients.
const UNKNOWN_STATE: &str = "HY000";
const INNODB_LOCK_WAIT_TIMEOUT: &str = "1205";

impl ServerError {
    /// An error the server did not report; the code is a word of ours.
    pub fn new(class: FailureClass, code: impl Into<String>, message: impl Into<String>) -> Self {
        Self { class, code: code.into(), sqlstate: String::new(), message: message.into() }
    }

    /// An error the server reported with a SQLSTATE.
    pub fn from_sqlstate(code: &str, message: impl Into<String>) -> Self {
        Self {
            class: FailureClass::from_sqlstate(code),
            code: code.into(),
            sqlstate: code.into(),
            message: message.into(),
        }
    }

    /// An error that a server of the MySQL family reported, before the login without a SQLSTATE.
    pub fn from_mysql(number: u16, sqlstate: Option<&str>, message: impl Into<String>) -> Self {
        let sqlstate = sqlstate.unwrap_or(UNKNOWN_STATE);
        Self {
            class: FailureClass::from_mysql(number, sqlstate),
            code: number.to_string(),
            sqlstate: sqlstate.into(),
            message: message.into(),
        }
    }

    /// Whether the same transaction may succeed when it is tried again. InnoDB ends a wait for a row
    /// lock by a timeout that is always on, in cycles that it cannot see too: its manual asks for
    /// another try, as after a deadlock. PostgreSQL's lock timeout is there only if it was asked for.
    pub fn is_retryable(&self) -> bool {
        let class = self.class;
        matches!(class, FailureClass::Serialization | FailureClass::Deadlock)
            || self.code == INNODB_LOCK_WAIT_TIMEOUT
    }

    /// Whether a server of the MySQL family says that it takes no writes (any more). What also tells
    /// apart the other options of number 1290 is its text.
    pub fn says_read_only(&self) -> bool {
        let of_option = self.code == "1290" && self.message.contains("read-only");
        of_option || self.code == "1836"
    }

    /// The connection was lost; `message` says how.
    pub fn connection_lost(message: impl Into<String>) -> Self {
        Self::new(FailureClass::Connection, "connection_lost", message)
    }

    /// The server violated the protocol.
    pub fn protocol(message: impl Into<String>) -> Self {
        Self::new(FailureClass::Protocol, "protocol", message)
    }
}

#[cfg(test)]
mod tests {
    use super::{FailureClass, ServerError};

    #[test]
    fn exact_codes_win_over_their_class() {
        for (code, class) in [
            ("40001", FailureClass::Serialization),
            ("40P01", FailureClass::Deadlock),
            ("23505", FailureClass::DuplicateKey),
            ("23503", FailureClass::Constraint),
            ("42501", FailureClass::Permission),
            ("25006", FailureClass::Permission),
            ("42P01", FailureClass::Statement),
            ("25P02", FailureClass::Other),
            ("25P04", FailureClass::Connection),
            ("57P01", FailureClass::Connection),
            ("57014", FailureClass::Cancelled),
            ("53100", FailureClass::Resource),
            ("XX000", FailureClass::Other),
            ("", FailureClass::Other),
        ] {
            assert_eq!(FailureClass::from_sqlstate(code), class, "{code}");
        }
    }

    #[test]
    fn what_another_try_may_avoid_is_tried_again() {
        for (number, is_retryable) in [(1213, true), (1020, true), (1205, true), (3572, false)] {
            let error = ServerError::from_mysql(number, None, "");
            assert_eq!(error.is_retryable(), is_retryable, "{number}");
        }
        for (code, is_retryable) in [("40001", true), ("40P01", true), ("55P03", false)] {
            assert_eq!(ServerError::from_sqlstate(code, "").is_retryable(), is_retryable, "{code}");
        }
    }

    #[test]
    fn an_error_number_takes_precedence_over_a_shared_state() {
        for (number, sqlstate, class) in [
            (1213, "40001", FailureClass::Deadlock),
            (1020, "HY000", FailureClass::Serialization),
            (1205, "HY000", FailureClass::LockTimeout),
            (1062, "23000", FailureClass::DuplicateKey),
            (1452, "23000", FailureClass::Constraint),
            (3819, "HY000", FailureClass::Constraint),
            (1317, "70100", FailureClass::Cancelled),
            (1927, "70100", FailureClass::Connection),
            (1040, "08004", FailureClass::Resource),
            (1047, "08S01", FailureClass::Resource),
            (1203, "42000", FailureClass::Resource),
            (1142, "42000", FailureClass::Permission),
            (1290, "HY000", FailureClass::Permission),
            (1665, "HY000", FailureClass::Statement),
            (1366, "HY000", FailureClass::Data),
            (1295, "HY000", FailureClass::Statement),
            (1136, "21S01", FailureClass::Statement),
            // Without an entry of their own:
            (1149, "42000", FailureClass::Statement),
            (1690, "22003", FailureClass::Data),
            (1159, "08S01", FailureClass::Connection),
            (1105, "HY000", FailureClass::Other),
            (1644, "08001", FailureClass::Other),
            (1644, "40001", FailureClass::Serialization),
        ] {
            assert_eq!(FailureClass::from_mysql(number, sqlstate), class, "{number}");
        }
    }
}
