//! What a client's coroutine yields to its execution.
//!
//! The first value is the operation. It is a light userdata, which no script can create, so that
//! what a script's own coroutines yield cannot be mistaken for it.

use super::fault::Failure;
use dbdyno_model::ConnectionId;
use mlua::{LightUserData, Lua, MultiValue, Table, Value};

/// The operations, and their names in the library.
macro_rules! operations {
    ($($operation:ident $name:literal,)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        enum Operation { $($operation),* }
        const OPERATIONS: &[(Operation, &str)] = &[$((Operation::$operation, $name)),*];
    };
}

operations! {
    Next "NEXT",
    Over "OVER",
    Query "QUERY",
    Prepare "PREPARE",
    Bind "BIND",
    Execute "EXECUTE",
    Close "CLOSE",
    Sleep "SLEEP",
    Restart "RESTART",
    Connect "CONNECT",
    Reconnect "RECONNECT",
    Disconnect "DISCONNECT",
    Stop "STOP",
    End "END",
    Fault "FAULT",
}

/// What a coroutine has yielded.
#[derive(Debug)]
pub(super) enum Yielded {
    /// Wait for the next transaction: the previous one is over.
    Next,
    /// The transaction is over; the next one is requested later, if at all.
    Over,
    /// Execute a statement given as text, on this connection.
    Query(ConnectionId, mlua::LuaString),
    /// Prepare a statement on this connection; answered by its number.
    Prepare(ConnectionId, mlua::LuaString),
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
    /// Open a connection of this number.
    Connect(ConnectionId),
    /// Replace the connection by a new one, which sysbench counts as a reconnect.
    Reconnect(ConnectionId),
    /// Close the connection.
    Disconnect(ConnectionId),
    /// No further transaction.
    Stop,
    /// The coroutine has ended.
    End,
    /// The script failed.
    Fault(Failure),
}

/// The table of operations for the library.
pub(super) fn operations(lua: &Lua) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    for (operation, name) in OPERATIONS {
        // A null pointer has another meaning in Lua's C interface.
        let pointer = (*operation as usize + 1) as *mut std::ffi::c_void;
        table.set(*name, LightUserData(pointer))?;
    }
    Ok(table)
}

impl Yielded {
    /// Reads what was yielded. None if a script itself yielded outside a coroutine of its own.
    pub(super) fn read(mut yielded: MultiValue) -> Option<Self> {
        let Some(Value::LightUserData(LightUserData(pointer))) = yielded.pop_front() else {
            return None;
        };
        let (operation, _) = OPERATIONS.get((pointer as usize).checked_sub(1)?)?;
        Some(match operation {
            Operation::Next => Self::Next,
            Operation::Over => Self::Over,
            Operation::Query => Self::Query(connection(&mut yielded)?, text(&mut yielded)?),
            Operation::Prepare => Self::Prepare(connection(&mut yielded)?, text(&mut yielded)?),
            Operation::Bind => Self::Bind(number(&mut yielded)?, text(&mut yielded)?),
            Operation::Execute => Self::Execute(number(&mut yielded)?, yielded),
            Operation::Close => Self::Close(number(&mut yielded)?),
            Operation::Sleep => Self::Sleep(seconds(&mut yielded)?),
            Operation::Restart => Self::Restart,
            Operation::Connect => Self::Connect(connection(&mut yielded)?),
            Operation::Reconnect => Self::Reconnect(connection(&mut yielded)?),
            Operation::Disconnect => Self::Disconnect(connection(&mut yielded)?),
            Operation::Stop => Self::Stop,
            Operation::End => Self::End,
            Operation::Fault => Self::Fault(Failure {
                message: text(&mut yielded)?.to_string_lossy(),
                sqlstate: text(&mut yielded).map(|state| state.to_string_lossy()),
            }),
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

fn connection(yielded: &mut MultiValue) -> Option<ConnectionId> {
    number(yielded).map(ConnectionId)
}

fn number(yielded: &mut MultiValue) -> Option<u32> {
    yielded.pop_front()?.as_u32()
}
