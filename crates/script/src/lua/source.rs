//! What a script consists of, for all threads that run it.

use super::laws::Laws;
use super::result_usage::{keep_of_executions, keep_of_queries};
use super::settings::Settings;
use super::statements::Statements;
use dbdyno_model::{Keep, Script};
use std::sync::Arc;

/// The command that runs transactions.
pub(super) const RUN: &str = "run";

/// What all Lua states share of a script.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) name: String,
    pub(super) text: String,
    pub(super) settings: Settings,
    pub(super) laws: Laws,
    pub(super) statements: Arc<Statements>,
    /// What to keep of the answers to texts and to prepared statements: nothing when the script
    /// never uses them.
    pub(super) keep_of_query: Keep,
    pub(super) keep_of_execute: Keep,
}

impl Source {
    pub(super) fn new(script: &Script, settings: Settings) -> Result<Self, String> {
        let laws = Laws::new(&settings)?;
        let modules = settings.modules.values().map(String::as_str);
        let texts: Vec<&str> = modules.chain([script.text.as_str()]).collect();
        let (keep_of_query, keep_of_execute) =
            (keep_of_queries(&texts), keep_of_executions(&texts));
        Ok(Self {
            name: script.name.clone(),
            text: script.text.clone(),
            laws,
            statements: Arc::default(),
            keep_of_query,
            keep_of_execute,
            settings,
        })
    }
}
