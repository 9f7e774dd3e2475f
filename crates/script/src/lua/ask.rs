//! The words between a client's coroutine and its session: what the coroutine yields.
//!
//! The first value says what is wanted. It is a light userdata, which no script can make, so
//! that a script's own coroutines cannot be mistaken for requests.

use mlua::{LightUserData, Lua, MultiValue, Table, Value};

/// What is wanted, and how the library calls it.
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

/// What a coroutine wants.
#[derive(Debug)]
pub(super) enum Ask {
    /// The next transaction: the one before is over.
    Next,
    /// The transaction is over; whether there is another is asked later, if at all.
    Over,
    /// An exchange with a text.
    Query(mlua::LuaString),
    /// A prepared statement; answered by its number.
    Prepare(mlua::LuaString),
    /// A statement's parameters are of these kinds, a letter each.
    Bind(u32, mlua::LuaString),
    /// An exchange with a prepared statement and its values.
    Execute(u32, MultiValue),
    /// A statement is not used any more.
    Close(u32),
    /// A pause of so many seconds.
    Sleep(f64),
    /// The transaction begins anew.
    Restart,
    /// A new connection in place of the old.
    Reconnect,
    /// No further transaction.
    Stop,
    /// The coroutine is at its end.
    End,
    /// The script failed.
    Fault(String),
}

/// The table of words for the library.
pub(super) fn words(lua: &Lua) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    for (word, name) in WORDS {
        // Null stands for something else in Lua's own C interface.
        let pointer = (*word as usize + 1) as *mut std::ffi::c_void;
        table.set(*name, LightUserData(pointer))?;
    }
    Ok(table)
}

impl Ask {
    /// Reads what was yielded. None for what a script yielded on its own, outside a coroutine
    /// of its own.
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

/// The next value, which the library has made sure is a text.
fn text(yielded: &mut MultiValue) -> Option<mlua::LuaString> {
    match yielded.pop_front()? {
        Value::String(text) => Some(text),
        _ => None,
    }
}

/// A number, which is whole where LuaJIT could make it so.
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
