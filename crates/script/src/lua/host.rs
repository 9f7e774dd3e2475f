//! The Rust functions that the library calls: random numbers, printing, counting, and loading
//! modules.
//!
//! All clients of a Lua state share one set of these functions. They act for the client that is
//! running, whose random stream its execution provides while it runs. The running client's context
//! is kept in a thread local, so nothing has to be locked: a client may run on any thread, and only
//! one runs on each at a time.

use super::counters::{Counter, Counters};
use super::laws::{Law, Laws, NAMES};
use super::placeholders;
use super::printer::Printer;
use super::seeded::Seeded;
use super::source::Source;
use super::yielded;
use crate::dist::{Span, Unique, uniform};
use dbdyno_model::{Purpose, Stream, text_by_pattern};
use mlua::{Error, Function, LightUserData, Lua, Table};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::{Arc, Mutex, PoisonError};

/// The context of the running client.
#[derive(Debug)]
pub(super) struct ClientContext {
    pub(super) chance: Stream,
    pub(super) unique: Unique,
    /// What `math.random` draws from once the script has seeded it.
    pub(super) seeded: Option<Seeded>,
}

thread_local! {
    /// The context of the client that runs on this thread.
    static CURRENT: RefCell<ClientContext> = RefCell::new(ClientContext {
        chance: Stream::keyed(0, Purpose::Script, 0, 0),
        unique: Unique::new(0, 1, 0),
        seeded: None,
    });
}

/// Runs `act` in the context of a client.
pub(super) fn run_in<T>(context: &mut ClientContext, act: impl FnOnce() -> T) -> T {
    with_current(|current| std::mem::swap(current, context));
    let result = act();
    with_current(|current| std::mem::swap(current, context));
    result
}

fn with_current<T>(act: impl FnOnce(&mut ClientContext) -> T) -> T {
    CURRENT.with_borrow_mut(act)
}

/// The table of all functions and facts that the library needs.
pub(super) fn table(
    lua: &Lua,
    source: &Arc<Source>,
    counters: &Arc<Counters>,
) -> mlua::Result<Table> {
    let host = lua.create_table()?;
    host.set("ask", yielded::operations(lua)?)?;
    add_facts(lua, &host, source)?;
    add_laws(lua, &host, source)?;
    add_chance(lua, &host)?;
    host.set("parameters", parameter_counter(lua, source)?)?;
    host.set("write", writer(lua, source)?)?;
    host.set("count", counter(lua, Arc::clone(counters))?)?;
    add_chunks(lua, &host, source)?;
    Ok(host)
}

fn add_facts(lua: &Lua, host: &Table, source: &Source) -> mlua::Result<()> {
    let settings = &source.settings;
    host.set("driver", settings.driver.name())?;
    host.set("unsafe", settings.allow_unsafe)?;
    host.set("threads", settings.clients)?;
    host.set("command", settings.command.as_str())?;
    host.set("script_path", settings.path.as_str())?;
    host.set("script_name", source.name.as_str())?;
    let arguments = settings.arguments.iter();
    let arguments: BTreeMap<String, &str> =
        arguments.map(|(name, text)| (name.replace('-', "_"), text.as_str())).collect();
    let argv = settings.arguments.iter().map(|(name, text)| argument(name, text));
    host.set("argv", lua.create_sequence_from(argv)?)?;
    host.set("arguments", lua.create_table_from(arguments)?)?;
    host.set("path", "./?.lua")
}

fn argument(name: &str, text: &str) -> String {
    if text.is_empty() { format!("--{name}") } else { format!("--{name}={text}") }
}

/// The distributions over a range: a function each, and what their names are in a call of
/// [`draw_fast`].
fn add_laws(lua: &Lua, host: &Table, source: &Source) -> mlua::Result<()> {
    let laws = Arc::new(source.laws.clone());
    let numbers = lua.create_table()?;
    let names = NAMES.iter().copied().chain([("default", laws.default_law())]);
    for (name, law) in names {
        host.set(name, range_function(lua, law, Arc::clone(&laws))?)?;
        numbers.set(name, NAMES.iter().position(|(_, known)| *known == law))?;
    }
    host.set("law_numbers", numbers)?;
    host.set("draw", LightUserData(draw_fast as *mut c_void))?;
    // The functions keep it alive for as long as the Lua state exists.
    host.set("laws", LightUserData(Arc::as_ptr(&laws).cast_mut().cast()))
}

fn range_function(lua: &Lua, law: Law, laws: Arc<Laws>) -> mlua::Result<Function> {
    lua.create_function(move |_, (low, high): (f64, f64)| {
        let drawn = with_current(|context| laws.draw(law, &mut context.chance, low, high));
        drawn.map(|number| number as f64).map_err(Error::runtime)
    })
}

/// What the functions of [`range_function`] do, in a form that LuaJIT compiles into a script's
/// loops. NaN where they raise an error.
///
/// # Safety
///
/// `laws` is the pointer that the library was given; `law` is a place in [`NAMES`].
unsafe extern "C" fn draw_fast(laws: *const Laws, law: u32, low: f64, high: f64) -> f64 {
    // SAFETY: by the contract above, it points to distributions that the Lua state keeps.
    let laws = unsafe { &*laws };
    let Some((_, law)) = NAMES.get(law as usize) else { return f64::NAN };
    let drawn = with_current(|context| laws.draw(*law, &mut context.chance, low, high));
    drawn.map_or(f64::NAN, |number| number as f64)
}

fn add_chance(lua: &Lua, host: &Table) -> mlua::Result<()> {
    host.set("uniform_double", draw(lua, |context| context.chance.next_f64())?)?;
    host.set("unique", draw(lua, |context| context.unique.next())?)?;
    host.set("uniform_halves", draw(lua, |context| halves(context.chance.next_u64()))?)?;
    host.set("string", text_function(lua)?)?;
    host.set("varstring", varied_text(lua)?)?;
    host.set("random", lua_random(lua)?)?;
    host.set("randomseed", lua_random_seed(lua)?)
}

fn draw<T: mlua::IntoLuaMulti>(
    lua: &Lua,
    law: impl Fn(&mut ClientContext) -> T + Send + 'static,
) -> mlua::Result<Function> {
    lua.create_function(move |_, ()| Ok(with_current(&law)))
}

/// Lua's numbers have 53 bits: a 64-bit number is passed in two.
fn halves(drawn: u64) -> (f64, f64) {
    ((drawn >> 32) as f64, f64::from(drawn as u32))
}

fn text_function(lua: &Lua) -> mlua::Result<Function> {
    lua.create_function(|_, pattern: mlua::LuaString| {
        let pattern = pattern.to_string_lossy();
        Ok(with_current(|context| text_by_pattern(&pattern, &mut context.chance)))
    })
}

/// Text of random length, of the characters from `0` to `z`; empty without a maximum length.
fn varied_text(lua: &Lua) -> mlua::Result<Function> {
    lua.create_function(|_, (least, most): (u32, u32)| {
        let least = if least > most { 1 } else { least };
        let Ok(span) = Span::new(least.into(), most.into()) else { return Ok(String::new()) };
        Ok(with_current(|context| text_of_drawn_length(&mut context.chance, span)))
    })
}

fn text_of_drawn_length(chance: &mut Stream, span: Span) -> String {
    let length = uniform(chance, span);
    (0..length).map(|_| char::from(b'0' + chance.up_to(u64::from(b'z' - b'0')) as u8)).collect()
}

/// `math.random`: a fraction, or a number of a range, by LuaJIT's arithmetic: whatever fits a double.
fn lua_random(lua: &Lua) -> mlua::Result<Function> {
    lua.create_function(|_, (first, second): (Option<f64>, Option<f64>)| {
        let fraction = with_current(|context| match &mut context.seeded {
            Some(seeded) => seeded.next_fraction(),
            None => context.chance.next_f64(),
        });
        let (low, high) = match (first, second) {
            (None, _) => return Ok(fraction),
            (Some(high), None) => (1.0, high),
            (Some(low), Some(high)) => (low, high),
        };
        if low > high {
            return Err(Error::runtime(format!("the range from {low} to {high} is empty")));
        }
        Ok((fraction * (high - low + 1.0)).floor() + low)
    })
}

/// `math.randomseed`: of the running client alone.
fn lua_random_seed(lua: &Lua) -> mlua::Result<Function> {
    lua.create_function(|_, seed: f64| {
        with_current(|context| context.seeded = Some(Seeded::new(seed)));
        Ok(())
    })
}

/// The number of parameters of a statement.
fn parameter_counter(lua: &Lua, source: &Source) -> mlua::Result<Function> {
    let driver = source.settings.driver;
    lua.create_function(move |_, sql: mlua::LuaString| {
        Ok(placeholders::count(&sql.to_string_lossy(), driver))
    })
}

fn writer(lua: &Lua, source: &Source) -> mlua::Result<Function> {
    let printer = Mutex::new(Printer::new(source.settings.print));
    lua.create_function(move |_, words: mlua::LuaString| {
        let mut printer = printer.lock().unwrap_or_else(PoisonError::into_inner);
        printer.write(&words.to_string_lossy());
        Ok(())
    })
}

fn counter(lua: &Lua, counters: Arc<Counters>) -> mlua::Result<Function> {
    lua.create_function(move |_, number: usize| {
        if let Some(counter) = Counter::ALL.get(number) {
            counters.add(*counter);
        }
        Ok(())
    })
}

/// The script, and the modules that it may require: each is compiled once per state.
fn add_chunks(lua: &Lua, host: &Table, source: &Arc<Source>) -> mlua::Result<()> {
    host.set("script", chunk(lua, &source.name, &source.text)?)?;
    let compiled = lua.create_table()?;
    let source = Arc::clone(source);
    let find = lua.create_function(move |lua, name: String| {
        if let Some(found) = compiled.get::<Option<Function>>(name.as_str())? {
            return Ok(Some(found));
        }
        let Some(text) = source.settings.modules.get(&name) else { return Ok(None) };
        let found = chunk(lua, &format!("{}.lua", name.replace('.', "/")), text)?;
        compiled.set(name, &found)?;
        Ok(Some(found))
    })?;
    host.set("chunk", find)
}

fn chunk(lua: &Lua, name: &str, text: &str) -> mlua::Result<Function> {
    // A first line that names an interpreter (`#!`) is not Lua; it is blanked, to keep the line
    // numbers.
    let text =
        if text.starts_with('#') { &text[text.find('\n').unwrap_or(text.len())..] } else { text };
    lua.load(text)
        .set_name(format!("@{name}"))
        .set_mode(mlua::chunk::ChunkMode::Text)
        .into_function()
}
