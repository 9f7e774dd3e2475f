//! One Lua state: the library, the compiled script, and the clients of one thread.
//!
//! A state for each client would cost 900 times the library and the JIT compiler's traces. The
//! clients of a state share both; each has its own globals, its own coroutine and its own random
//! stream. An execution may be sent to another thread: the state's lock admits one thread at a time.

use super::counters::Counters;
use super::fault::{LIBRARY_NAME, message_of};
use super::host::{self, ClientContext, run_in};
use super::source::Source;
use super::statements::{StatementNumbers, Way};
use super::yielded::Yielded;
use dbdyno_model::StatementId;
use mlua::{Function, IntoLuaMulti, Lua, LuaOptions, StdLib, Table, Thread};
use std::sync::{Arc, Mutex, PoisonError};

/// The library, in the order in which its parts need each other.
const LIBRARY: [&str; 7] = [
    include_str!("library/guard.lua"),
    include_str!("library/rand.lua"),
    include_str!("library/sql.lua"),
    include_str!("library/cmdline.lua"),
    include_str!("library/report.lua"),
    include_str!("library/legacy.lua"),
    include_str!("library/client.lua"),
];

/// A Lua state with the clients of one thread.
pub(super) struct State {
    pub(super) lua: Lua,
    pub(super) source: Arc<Source>,
    pub(super) counters: Arc<Counters>,
    library: Table,
    places: Mutex<StatementNumbers>,
}

impl State {
    /// A state without clients.
    pub(super) fn new(source: &Arc<Source>, counters: Arc<Counters>) -> mlua::Result<Self> {
        // Safety: `ffi` and `debug` are for the library alone, which uses them for 64-bit numbers
        // and for the environments of coroutines. Scripts run in environments that have neither,
        // unless the user has allowed unsafe Lua.
        let options = LuaOptions::new().catch_rust_panics(true);
        let lua = unsafe { Lua::unsafe_new_with(StdLib::ALL, options) };
        let library = lua.create_table()?;
        let host = host::table(&lua, source, &counters)?;
        for text in LIBRARY {
            let chunk = lua.load(text).set_name(format!("={LIBRARY_NAME}"));
            chunk.call::<()>((&host, &library))?;
        }
        let (source, places) = (Arc::clone(source), Mutex::default());
        Ok(Self { lua, source, counters, library, places })
    }

    /// Loads the script for a client; an error is the script's.
    pub(super) fn client(&self, number: u32, context: &mut ClientContext) -> Result<Table, String> {
        let load = || self.function("client")?.call::<(Option<Table>, Option<String>)>(number);
        let (client, problem) = run_in(context, load).map_err(|error| message_of(&error))?;
        client.ok_or_else(|| problem.unwrap_or_default())
    }

    /// A coroutine that runs the script for a client.
    pub(super) fn thread(&self, client: &Table) -> mlua::Result<Thread> {
        self.function("thread")?.call(client)
    }

    /// The properties of the script, as collected by the library.
    pub(super) fn survey(&self, client: &Table) -> mlua::Result<Table> {
        self.function("survey")?.call(client)
    }

    /// The statement number of a text that goes this way.
    pub(super) fn statement_of(&self, sql: &str, way: Way) -> StatementId {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        places.of(sql, way, self.source.settings.driver, &self.source.statements)
    }

    fn function(&self, name: &str) -> mlua::Result<Function> {
        self.library.get(name)
    }
}

/// Resumes a coroutine until it yields.
pub(super) fn resume(
    thread: &Thread,
    values: impl IntoLuaMulti,
    context: &mut ClientContext,
) -> Result<Yielded, String> {
    let yielded = run_in(context, || thread.resume(values));
    let yielded = yielded.map_err(|error| message_of(&error))?;
    Yielded::read(yielded).ok_or_else(|| "the script yielded outside of its coroutines".into())
}
