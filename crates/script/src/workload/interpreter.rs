//! One client's Lua state: the library, the scripts, and what they have declared.

use super::Settings;
use super::counters::{self, Counters};
use super::kinds::Kind;
use crate::Problem;
use crate::dist::{Span, Zipf, fnv1a, last_name, non_uniform, random_text};
use crate::lua::{fault, message_of};
use crate::pgbench::Slot;
use crate::problem::Severity;
use dbdyno_model::{Purpose, Scalar, Script, Stream, Value};
use mlua::{Error, Function, IntoLua, Lua, LuaOptions, StdLib, Table};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// What a script yields: the operation, then its arguments.
pub(super) const EXECUTE: i64 = 1;
pub(super) const QUEUE: i64 = 2;
pub(super) const FLUSH: i64 = 3;
pub(super) const SLEEP: i64 = 4;
pub(super) const ASK: i64 = 5;

/// What a transaction of a script is called.
const TRANSACTION: &str = "transaction";
/// Functions of Lua that would make a run depend on more than its seed.
const REMOVED: [&str; 4] = ["dofile", "loadfile", "jit", "collectgarbage"];
const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/// A declared statement.
#[derive(Clone, Debug)]
pub(super) struct Declared {
    pub(super) sql: String,
    pub(super) line: u32,
    /// In the order in which a script passes them.
    pub(super) parameters: Vec<(String, Kind)>,
    /// The variables of the commands that they set, where the text mentions them.
    pub(super) slots: Vec<Option<Slot>>,
    pub(super) columns: Vec<(String, Kind)>,
}

/// A Lua state with the scripts loaded.
#[derive(Debug)]
pub(super) struct Interpreter {
    pub(super) lua: Lua,
    transactions: Vec<Function>,
    declared: Vec<Vec<Declared>>,
}

type Declarations = Arc<Mutex<Vec<Declared>>>;

impl Interpreter {
    /// Loads the scripts for a client.
    pub(super) fn load(
        scripts: &[Script],
        variables: &BTreeMap<String, Scalar>,
        settings: Settings,
        client: u32,
    ) -> Result<Self, Problem> {
        let declarations = Declarations::default();
        let lua = state(variables, settings, client, &declarations)
            .map_err(|error| Problem::outside("", message_of(&error)))?;
        let (mut transactions, mut declared) = (Vec::new(), Vec::new());
        for script in scripts {
            let found = transaction_of(&lua, script);
            transactions.push(found.map_err(|error| problem(script, &message_of(&error)))?);
            declared.push(std::mem::take(&mut *lock(&declarations)));
        }
        if let Some(mut counters) = lua.app_data_mut::<Counters>() {
            counters.complete();
        }
        Ok(Self { lua, transactions, declared })
    }

    pub(super) fn transaction(&self, script: usize) -> &Function {
        &self.transactions[script]
    }

    pub(super) fn declared(&self) -> &[Vec<Declared>] {
        &self.declared
    }

    pub(super) fn into_declared(self) -> Vec<Vec<Declared>> {
        self.declared
    }

    /// A try of a transaction begins: what scripts draw from now on, and nothing is counted yet.
    pub(super) fn begin(&self, chance: Stream) {
        self.lua.set_app_data(chance);
        if let Some(mut counters) = self.lua.app_data_mut::<Counters>() {
            counters.clear();
        }
    }

    /// The client that scripts see from now on.
    pub(super) fn set_client(&self, client: u64) {
        // It replaces the number that is there: no memory is needed, and nothing can fail.
        let _ = self.lua.globals().raw_set("client_id", client);
    }

    pub(super) fn counter_names(&self) -> Vec<String> {
        self.counters().map_or_else(Vec::new, |counters| counters.names().to_vec())
    }

    /// What scripts count, and what they have counted since a try began.
    pub(super) fn counters(&self) -> Option<mlua::AppDataRef<'_, Counters>> {
        self.lua.app_data_ref()
    }
}

fn lock(declarations: &Declarations) -> std::sync::MutexGuard<'_, Vec<Declared>> {
    declarations.lock().unwrap_or_else(PoisonError::into_inner)
}

fn problem(script: &Script, message: &str) -> Problem {
    let fault = fault(message.to_owned().into(), &script.name);
    Problem {
        severity: Severity::Error,
        script: script.name.clone(),
        line: fault.line,
        column: u32::from(fault.line > 0),
        text: String::new(),
        message: fault.message_without_place(&script.name).to_owned(),
    }
}

/// A state with the library.
fn state(
    variables: &BTreeMap<String, Scalar>,
    settings: Settings,
    client: u32,
    declarations: &Declarations,
) -> mlua::Result<Lua> {
    let libraries = StdLib::TABLE | StdLib::STRING | StdLib::MATH | StdLib::BIT | StdLib::JIT;
    // SAFETY: `debug` is for the library alone, which asks it for lines.
    let lua = unsafe {
        Lua::unsafe_new_with(libraries | StdLib::DEBUG, LuaOptions::new().catch_rust_panics(true))
    };
    // What a script draws while it loads differs from client to client.
    lua.set_app_data(Stream::keyed(settings.seed, Purpose::Script, client.into(), u64::MAX));
    let globals = lua.globals();
    for (name, scalar) in variables {
        match Value::from(scalar.clone()) {
            Value::Null => {}
            Value::Bool(truth) => globals.set(name.as_str(), truth)?,
            Value::Int(number) => globals.set(name.as_str(), number)?,
            Value::Double(number) => globals.set(name.as_str(), number)?,
            Value::Text(text) => globals.set(name.as_str(), text)?,
        }
    }
    globals.set("client_id", client)?;
    counters::add(&lua, &globals)?;
    add_chance(&lua, &globals)?;
    let print = settings.print;
    globals.set(
        "print",
        lua.create_function(move |_, words: mlua::Variadic<mlua::Value>| {
            let words: mlua::Result<Vec<String>> =
                words.iter().map(mlua::Value::to_string).collect();
            print(&words?.join("\t"));
            Ok(())
        })?,
    )?;
    add_library(&lua, &globals, declarations)?;
    for name in REMOVED {
        globals.set(name, mlua::Nil)?;
    }
    Ok(lua)
}

fn add_library(lua: &Lua, globals: &Table, declarations: &Declarations) -> mlua::Result<()> {
    let host = lua.create_table()?;
    for (name, operation) in
        [("EXECUTE", EXECUTE), ("QUEUE", QUEUE), ("ASK", ASK), ("FLUSH", FLUSH), ("SLEEP", SLEEP)]
    {
        host.set(name, operation)?;
    }
    let declarations = Arc::clone(declarations);
    host.set(
        "add",
        lua.create_function(
            move |_, (sql, line, names, kinds, columns): (String, u32, Vec<String>, Table, Table)| {
                let found: mlua::Result<Vec<String>> =
                    columns.pairs::<String, mlua::Value>().map(|pair| Ok(pair?.0)).collect();
                let (parameters, columns) =
                    match (kinds_in(&kinds, names)?, kinds_in(&columns, found?)?) {
                        (Ok(parameters), Ok(columns)) => (parameters, columns),
                        (Err(unknown), _) | (_, Err(unknown)) => return Ok((0, Some(unknown))),
                    };
                let mut declared = lock(&declarations);
                let sql = sql.trim().trim_end_matches(';').to_owned();
                let slots = Vec::new();
                declared.push(Declared { sql, line, parameters, slots, columns });
                Ok((declared.len(), None))
            },
        )?,
    )?;
    lua.load(include_str!("library.lua")).set_name("=dbdyno").call::<()>(&host)?;
    globals.set("statement", host.get::<Function>("declare")?)?;
    globals.set("flush", host.get::<Function>("flush")?)?;
    globals.set("sleep", host.get::<Function>("sleep")?)?;
    globals.set("debug", mlua::Nil)
}

/// The types of these names, or which of them is unknown.
fn kinds_in(
    kinds: &Table,
    names: Vec<String>,
) -> mlua::Result<Result<Vec<(String, Kind)>, String>> {
    let mut known = Vec::new();
    for name in names {
        let word: String = kinds.get(name.as_str())?;
        match Kind::named(&word) {
            Some(kind) => known.push((name, kind)),
            None => return Ok(Err(format!("{name} has the unknown type '{word}'"))),
        }
    }
    Ok(Ok(known))
}

/// The random numbers, all from the stream of the transaction, and what is computed from numbers.
fn add_chance(lua: &Lua, globals: &Table) -> mlua::Result<()> {
    let random = lua.create_table()?;
    random.set(
        "uniform",
        draw(lua, |chance, (low, high): (i64, i64)| {
            Ok(low.wrapping_add(chance.up_to(span(low, high)?) as i64))
        })?,
    )?;
    random.set("fraction", draw(lua, |chance, ()| Ok(chance.next_f64()))?)?;
    random.set(
        "nurand",
        draw(lua, |chance, (a, c, low, high): (u64, u64, i64, i64)| {
            span(low, high)?;
            Ok(non_uniform(chance, a, c, low, high))
        })?,
    )?;
    random.set(
        "zipf",
        draw(lua, |chance, (low, high, exponent): (i64, i64, f64)| {
            let range = Span::new(low, high).map_err(Error::runtime)?;
            Ok(Zipf::new(exponent).map_err(Error::runtime)?.draw(chance, range))
        })?,
    )?;
    random.set(
        "text",
        draw(lua, |chance, (shortest, longest): (i64, i64)| {
            let length = shortest.wrapping_add(chance.up_to(span(shortest, longest)?) as i64);
            Ok(random_text(chance, length.max(0) as usize, LETTERS, ""))
        })?,
    )?;
    globals.set("random", random)?;
    globals.set("last_name", lua.create_function(|_, number: i64| Ok(last_name(number)))?)?;
    globals.set("hash", lua.create_function(hash)?)?;
    let math: Table = globals.get("math")?;
    math.set("random", mlua::Nil)?;
    math.set("randomseed", mlua::Nil)
}

/// The hash of a number: its remainder, or all of it as text, which has more digits than Lua's
/// numbers.
fn hash(lua: &Lua, (number, modulus): (i64, Option<i64>)) -> mlua::Result<mlua::Value> {
    let hashed = fnv1a(number, 0).wrapping_abs();
    match modulus {
        None => hashed.to_string().into_lua(lua),
        Some(modulus) if modulus > 0 => hashed.rem_euclid(modulus).into_lua(lua),
        Some(modulus) => Err(Error::runtime(format!("a hash has no remainder by {modulus}"))),
    }
}

/// The size of a range less one.
fn span(low: i64, high: i64) -> mlua::Result<u64> {
    if low > high {
        return Err(Error::runtime(format!("the range from {low} to {high} is empty")));
    }
    Ok(high.wrapping_sub(low) as u64)
}

fn draw<A: mlua::FromLuaMulti, R: mlua::IntoLuaMulti>(
    lua: &Lua,
    law: impl Fn(&mut Stream, A) -> mlua::Result<R> + Send + 'static,
) -> mlua::Result<Function> {
    lua.create_function(move |lua, range: A| {
        let mut chance = lua
            .app_data_mut::<Stream>()
            .ok_or_else(|| Error::runtime("there are no random numbers here"))?;
        law(&mut chance, range)
    })
}

/// Runs a script's text in globals of its own; returns its transaction.
fn transaction_of(lua: &Lua, script: &Script) -> mlua::Result<Function> {
    let own = lua.create_table()?;
    let shared = lua.create_table()?;
    shared.set("__index", lua.globals())?;
    own.set_metatable(Some(shared))?;
    lua.load(script.text.as_str())
        .set_name(format!("@{}", script.name))
        .set_environment(own.clone())
        .set_mode(mlua::chunk::ChunkMode::Text)
        .exec()?;
    own.raw_get::<Option<Function>>(TRANSACTION)?
        .ok_or_else(|| Error::runtime(format!("cannot find the function {TRANSACTION}()")))
}

#[cfg(test)]
mod tests {
    use super::hash;
    use crate::dist::fnv1a;
    use mlua::Lua;

    #[test]
    fn a_hash_is_text_or_a_remainder_within_its_range() {
        let lua = Lua::new();
        let hashed = |modulus| hash(&lua, (7, modulus)).map(|value| value.to_string());
        let whole = fnv1a(7, 0).wrapping_abs();
        assert_eq!(hashed(None).unwrap().unwrap(), whole.to_string());
        assert_eq!(hashed(Some(1000)).unwrap().unwrap(), (whole % 1000).to_string());
        assert!(hashed(Some(0)).is_err() && hashed(Some(-3)).is_err());
    }
}
