//! What a client's coroutine yields to its session.
//!
//! The first value is the operation. It is a light userdata, which no script can create, so that
//! what a script's own coroutines yield cannot be mistaken for it.

use mlua::{LightUserData, Lua, MultiValue, Table, Value};

/// The operations, and their names in the library.
macro_rules! words {
    ($($word:ident $name:literal,)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        enum Word { $($word),* }
        const WORDS: &[(Word, &str)] = &[$((Word::$word, $name)),*];
    };
}

words! {
    Next "NEXT",
    Over "OVER",
    Query "QUERY",
    Prepare "PREPARE",
    Bind "BIND",
    Execute "EXECUTE",
    Close "CLOSE",
    Sleep "SLEEP",
    Restart "RESTART",
    Reconnect "RECONNECT",
    Stop "STOP",
    End "END",
    Fault "FAULT",
}

/// What a coroutine has yielded.
#[derive(Debug)]
pub(super) enum Ask {
    /// Wait for the next transaction: the previous one is over.
    Next,
    /// The transaction is over; the next one is requested later, if at all.
    Over,
    /// Execute a statement given as text.
    Query(mlua::LuaString),
    /// Prepare a statement; answered by its number.
    Prepare(mlua::LuaString),
    /// A statement's parameters have these types, a letter each.
    Bind(u32, mlua::LuaString),
    /// Execute a prepared statement with these values.
    Execute(u32, MultiValue),
    /// Close a prepared statement.
    Close(u32),
    /// Sleep for this many seconds.
    Sleep(f64),
    /// Restart the transaction.
    Restart,
    /// Replace the connection by a new one.
    Reconnect,
    /// No further transaction.
    Stop,
    /// The coroutine has ended.
    End,
    /// The script failed.
    Fault(String),
}

/// The table of operations for the library.
pub(super) fn words(lua: &Lua) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    for (word, name) in WORDS {
        // A null pointer has another meaning in Lua's C interface.
        let pointer = (*word as usize + 1) as *mut std::ffi::c_void;
        table.set(*name, LightUserData(pointer))?;
    }
    Ok(table)
}

impl Ask {
    /// Reads what was yielded. None if a script itself yielded outside a coroutine of its own.
    pub(super) fn read(mut yielded: MultiValue) -> Option<Self> {
        let Some(Value::LightUserData(LightUserData(pointer))) = yielded.pop_front() else {
            return None;
        };
        let (word, _) = WORDS.get((pointer as usize).checked_sub(1)?)?;
        Some(match word {
            Word::Next => Self::Next,
            Word::Over => Self::Over,
            Word::Query => Self::Query(text(&mut yielded)?),
            Word::Prepare => Self::Prepare(text(&mut yielded)?),
            Word::Bind => Self::Bind(number(&mut yielded)?, text(&mut yielded)?),
            Word::Execute => Self::Execute(number(&mut yielded)?, yielded),
            Word::Close => Self::Close(number(&mut yielded)?),
            Word::Sleep => Self::Sleep(seconds(&mut yielded)?),
            Word::Restart => Self::Restart,
            Word::Reconnect => Self::Reconnect,
            Word::Stop => Self::Stop,
            Word::End => Self::End,
            Word::Fault => Self::Fault(text(&mut yielded)?.to_string_lossy()),
        })
    }
}

/// The next value, which the library has checked to be a string.
fn text(yielded: &mut MultiValue) -> Option<mlua::LuaString> {
    match yielded.pop_front()? {
        Value::String(text) => Some(text),
        _ => None,
    }
}

/// A number, which LuaJIT may have made an integer.
fn seconds(yielded: &mut MultiValue) -> Option<f64> {
    match yielded.pop_front()? {
        Value::Integer(whole) => Some(whole as f64),
        Value::Number(number) => Some(number),
        _ => None,
    }
}

fn number(yielded: &mut MultiValue) -> Option<u32> {
    yielded.pop_front()?.as_u32()
}
