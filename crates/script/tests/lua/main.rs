//! sysbench's language, driven by hand: what scripts ask for, and what becomes of the answers.

mod api;
mod chance;
mod driver;
mod guard;
mod installed;
mod lanes;
mod options;
mod problems;
mod sql;
