//! What differs between databases behind ODBC, as data.
//!
//! A database that is not in the table gets what the standard promises: calls that begin and end
//! transactions, 64-bit integers, SQLSTATEs.

use dbdyno_model::FailureClass;

/// How transactions begin and end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transactions {
    /// By statements, as with the database's own protocol.
    Statements,
    /// By calls: the database has no statement that begins a transaction, or one other than
    /// `begin`.
    Calls,
}

/// How an integer is sent as a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Integers {
    /// As a 64-bit integer.
    Binary,
    /// As decimal text: the driver does not support 64-bit integers.
    Decimal,
}

/// Which error code identifies a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Codes {
    /// The SQLSTATE.
    States,
    /// The database's own error number, which is more specific.
    Numbers,
}

/// A database behind ODBC.
#[derive(Debug)]
pub(super) struct Vendor {
    /// How the name of the product begins, in lower case.
    name: &'static str,
    pub(super) transactions: Transactions,
    pub(super) integers: Integers,
    pub(super) codes: Codes,
    /// The class of an error by number and SQLSTATE, where they identify it.
    class: fn(i32, &str) -> Option<FailureClass>,
}

impl Vendor {
    /// The entry for a product name.
    pub(super) fn of(product: &str) -> &'static Self {
        let product = product.to_lowercase();
        VENDORS.iter().find(|vendor| product.starts_with(vendor.name)).unwrap_or(&UNKNOWN)
    }

    /// The class of a failure.
    pub(super) fn class(&self, number: i32, state: &str) -> FailureClass {
        (self.class)(number, state).unwrap_or_else(|| by_state(state))
    }
}

/// Databases whose drivers support less than the standard, or report more.
static VENDORS: [Vendor; 6] = [
    Vendor { transactions: Transactions::Statements, ..Vendor::standard("postgresql") },
    Vendor { class: mysql, ..Vendor::mysql("mysql") },
    Vendor { class: mysql, ..Vendor::mysql("mariadb") },
    Vendor {
        codes: Codes::Numbers,
        integers: Integers::Decimal,
        class: oracle,
        ..Vendor::standard("oracle")
    },
    Vendor { codes: Codes::Numbers, class: sql_server, ..Vendor::standard("microsoft sql server") },
    Vendor { codes: Codes::Numbers, class: db2, ..Vendor::standard("db2") },
];
static UNKNOWN: Vendor = Vendor::standard("");

impl Vendor {
    const fn standard(name: &'static str) -> Self {
        Self {
            name,
            transactions: Transactions::Calls,
            integers: Integers::Binary,
            codes: Codes::States,
            class: |_, _| None,
        }
    }

    const fn mysql(name: &'static str) -> Self {
        Self {
            transactions: Transactions::Statements,
            codes: Codes::Numbers,
            ..Self::standard(name)
        }
    }
}

/// The standard's own SQLSTATEs, beside those that all databases share.
fn by_state(state: &str) -> FailureClass {
    match state {
        "HY008" | "HYT00" => FailureClass::Cancelled,
        "HYT01" => FailureClass::Connection,
        "HY001" | "HY013" => FailureClass::Resource,
        "07002" | "HYC00" => FailureClass::Statement,
        "07006" => FailureClass::Data,
        _ => FailureClass::from_sqlstate(state),
    }
}

fn mysql(number: i32, state: &str) -> Option<FailureClass> {
    let number = u16::try_from(number).ok().filter(|&number| number > 0)?;
    Some(FailureClass::from_mysql(number, state))
}

/// By Oracle's error numbers (ORA-00060 is 60).
fn oracle(number: i32, _: &str) -> Option<FailureClass> {
    Some(match number {
        60 | 4020 => FailureClass::Deadlock,
        8177 => FailureClass::Serialization,
        54 | 30006 => FailureClass::LockTimeout,
        1 => FailureClass::DuplicateKey,
        1400 | 2290..=2292 => FailureClass::Constraint,
        1013 => FailureClass::Cancelled,
        28 | 1012 | 1033 | 1034 | 1089 | 3113 | 3114 | 3135 | 12152 | 12170 | 12514 | 12528
        | 12541 => FailureClass::Connection,
        18 | 20 | 1555 | 1652..=1654 | 4031 | 12516 | 12519 | 12520 => FailureClass::Resource,
        1017 | 1031 | 1045 | 28000 | 28001 => FailureClass::Permission,
        1438 | 1476 | 1722 | 1830..=1861 | 12899 => FailureClass::Data,
        900..=999 | 2289 => FailureClass::Statement,
        _ => return None,
    })
}

fn sql_server(number: i32, _: &str) -> Option<FailureClass> {
    Some(match number {
        1205 => FailureClass::Deadlock,
        3960 | 41302 | 41305 | 41325 => FailureClass::Serialization,
        1222 => FailureClass::LockTimeout,
        2601 | 2627 => FailureClass::DuplicateKey,
        515 | 547 => FailureClass::Constraint,
        701 | 1105 | 9002 => FailureClass::Resource,
        229 | 18456 => FailureClass::Permission,
        _ => return None,
    })
}

/// Db2 reports a deadlock and a lock timeout with the same number. Where both roll back, it is a
/// deadlock that this load causes.
fn db2(number: i32, _: &str) -> Option<FailureClass> {
    Some(match number {
        -911 => FailureClass::Deadlock,
        -913 => FailureClass::LockTimeout,
        -803 => FailureClass::DuplicateKey,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{Codes, Integers, Transactions, Vendor};
    use dbdyno_model::FailureClass::*;

    #[test]
    fn products_are_known_by_the_beginning_of_their_names() {
        assert_eq!(Vendor::of("PostgreSQL").transactions, Transactions::Statements);
        assert_eq!(Vendor::of("MariaDB").transactions, Transactions::Statements);
        assert_eq!(Vendor::of("Oracle").integers, Integers::Decimal);
        assert_eq!(Vendor::of("DB2/LINUXX8664").codes, Codes::Numbers);
        assert_eq!(Vendor::of("Interbase").transactions, Transactions::Calls);
    }

    #[test]
    fn an_error_number_takes_precedence_over_the_state() {
        for (product, number, state, class) in [
            ("PostgreSQL", 7, "40P01", Deadlock),
            ("PostgreSQL", 1205, "23505", DuplicateKey),
            ("PostgreSQL", 1, "HYT00", Cancelled),
            ("MariaDB", 1213, "40001", Deadlock),
            ("MariaDB", 1205, "HY000", LockTimeout),
            ("MariaDB", 0, "08S01", Connection),
            ("Oracle", 60, "40001", Deadlock),
            ("Oracle", 8177, "40001", Serialization),
            ("Oracle", 1, "23000", DuplicateKey),
            ("Oracle", 942, "42S02", Statement),
            ("Oracle", 99_999, "40001", Serialization),
            ("Microsoft SQL Server", 1205, "40001", Deadlock),
            ("Microsoft SQL Server", 2627, "23000", DuplicateKey),
            ("DB2/LINUXX8664", -911, "40001", Deadlock),
            ("Interbase", 60, "23000", Constraint),
            ("Interbase", 60, "HYC00", Statement),
        ] {
            assert_eq!(Vendor::of(product).class(number, state), class, "{product} {number}");
        }
    }
}
