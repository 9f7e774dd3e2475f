//! The rows of an answer as a script sees them: tables by the names of the columns.
//!
//! They are made with Lua's own interface, since most of a script's time would go into safe handles
//! for values that are never used again here.

use super::kinds::Kind;
use dbdyno_model::ResultSet;
use mlua::ffi::{self, lua_State};
use mlua::{Lua, Table};
use std::os::raw::c_int;
use std::sync::Arc;

/// The columns that a statement's answer had the last time, with their types.
#[derive(Debug, Default)]
pub(super) struct Columns {
    names: Arc<[String]>,
    kinds: Vec<Kind>,
}

impl Columns {
    /// The types of these columns; those that are not declared are text.
    pub(super) fn kinds(&mut self, names: &Arc<[String]>, declared: &[(String, Kind)]) -> &[Kind] {
        if !Arc::ptr_eq(&self.names, names) {
            let kind_of = |column: &String| {
                let known = declared.iter().find(|(name, _)| name == column);
                known.map_or(Kind::Text, |(_, kind)| *kind)
            };
            self.kinds = names.iter().map(kind_of).collect();
            self.names = Arc::clone(names);
        }
        &self.kinds
    }
}

/// Adds the rows to a table, and how many the statement touched.
pub(super) fn store(
    lua: &Lua,
    table: &Table,
    touched: u64,
    result: Option<&ResultSet>,
    kinds: &[Kind],
) -> mlua::Result<()> {
    const TABLE: c_int = 1;
    // SAFETY: the table is the only value on the stack, and none remains there; at most four more
    // are on it at once. An error of Lua (no memory) passes no destructor.
    unsafe {
        lua.exec_raw(table, |state| {
            push_text(state, "touched");
            ffi::lua_pushnumber(state, touched as f64);
            ffi::lua_rawset(state, TABLE);
            if let Some(result) = result {
                for (number, values) in (1..).zip(result.rows.iter()) {
                    ffi::lua_createtable(state, 0, kinds.len() as c_int);
                    for ((name, kind), value) in result.columns.iter().zip(kinds).zip(values) {
                        if let Some(text) = value {
                            push_text(state, name);
                            push(state, *kind, text);
                            ffi::lua_rawset(state, -3);
                        }
                    }
                    ffi::lua_rawseti(state, TABLE, number);
                }
            }
            ffi::lua_settop(state, 0);
        })
    }
}

/// Pushes a column's value; text that is no number stays text.
///
/// # Safety
///
/// The stack must have room for one more value.
unsafe fn push(state: *mut lua_State, kind: Kind, text: &str) {
    let number = match kind {
        Kind::Int | Kind::Double => text.parse::<f64>().ok(),
        Kind::Boolean | Kind::Text => None,
    };
    // SAFETY: there is room for one value, and one is pushed.
    unsafe {
        match (kind, number) {
            (_, Some(number)) => ffi::lua_pushnumber(state, number),
            (Kind::Boolean, _) => {
                let truth = matches!(text, "t" | "true" | "1");
                ffi::lua_pushboolean(state, truth.into());
            }
            _ => push_text(state, text),
        }
    }
}

/// # Safety
///
/// The stack must have room for one more value.
unsafe fn push_text(state: *mut lua_State, text: &str) {
    // SAFETY: Lua copies the text, which has the length passed.
    unsafe { ffi::lua_pushlstring(state, text.as_ptr().cast(), text.len()) };
}
