//! sysbench scripts, driven step by step: their requests, and the effects of the answers.

mod api;
mod chance;
mod driver;
mod guard;
mod installed;
mod options;
mod problems;
mod sql;
mod states;
