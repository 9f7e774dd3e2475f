//! The ODBC driver manager, loaded when the first plan needs it.
//!
//! dbdyno is not linked against it: measuring PostgreSQL needs no ODBC. Only the functions that we
//! call are here, under their own names, with the types of the standard; wide characters are
//! UTF-16, as in unixODBC.

use crate::EngineError;
use std::ffi::{CStr, CString, c_char, c_void};
use std::sync::OnceLock;

/// A handle of the driver manager: environment, connection or statement.
pub(super) type RawHandle = *mut c_void;
/// The return code of every function.
pub(super) type Code = i16;

/// File names of the driver manager's library: unixODBC's, and that of a development package.
const NAMES: [&str; 2] = ["libodbc.so.2", "libodbc.so"];

macro_rules! functions {
    ($($name:ident($($argument:ty),*);)*) => {
        /// The functions of the driver manager.
        #[derive(Debug)]
        pub(in crate::odbc) struct Library {
            $(pub(in crate::odbc) $name: unsafe extern "system" fn($($argument),*) -> Code,)*
        }

        impl Library {
            /// Finds the functions in a loaded library.
            pub(super) fn of(loaded: *mut c_void) -> Result<Self, String> {
                $(
                    let found = symbol(loaded, stringify!($name))?;
                    // SAFETY: the ODBC standard gives the function of this name this type.
                    let $name = unsafe {
                        std::mem::transmute::<
                            *mut c_void,
                            unsafe extern "system" fn($($argument),*) -> Code,
                        >(found)
                    };
                )*
                Ok(Self { $($name),* })
            }
        }
    };
}

#[allow(non_snake_case)]
mod table {
    use super::{Code, RawHandle, c_void, symbol};

    functions! {
        SQLAllocHandle(i16, RawHandle, *mut RawHandle);
        SQLFreeHandle(i16, RawHandle);
        SQLSetEnvAttr(RawHandle, i32, *mut c_void, i32);
        SQLSetConnectAttr(RawHandle, i32, *mut c_void, i32);
        SQLDriverConnectW(RawHandle, *mut c_void, *const u16, i16, *mut u16, i16, *mut i16, u16);
        SQLDisconnect(RawHandle);
        SQLGetInfoW(RawHandle, u16, *mut c_void, i16, *mut i16);
        SQLGetDiagRecW(i16, RawHandle, i16, *mut u16, *mut i32, *mut u16, i16, *mut i16);
        SQLPrepareW(RawHandle, *const u16, i32);
        SQLExecute(RawHandle);
        SQLExecDirectW(RawHandle, *const u16, i32);
        SQLBindParameter(RawHandle, u16, i16, i16, i16, usize, i16, *mut c_void, isize, *mut isize);
        SQLSetStmtAttrW(RawHandle, i32, *mut c_void, i32);
        SQLNumResultCols(RawHandle, *mut i16);
        SQLRowCount(RawHandle, *mut isize);
        SQLDescribeColW(
            RawHandle, u16, *mut u16, i16, *mut i16, *mut i16, *mut usize, *mut i16, *mut i16
        );
        SQLFetch(RawHandle);
        SQLGetData(RawHandle, u16, i16, *mut c_void, isize, *mut isize);
        SQLMoreResults(RawHandle);
        SQLFreeStmt(RawHandle, u16);
        SQLEndTran(i16, RawHandle, i16);
        SQLCancel(RawHandle);
    }
}
pub(super) use table::Library;

impl Library {
    /// The driver manager of this machine, loaded once and never unloaded.
    pub(super) fn get() -> Result<&'static Self, EngineError> {
        static FOUND: OnceLock<Result<Library, String>> = OnceLock::new();
        FOUND.get_or_init(load).as_ref().map_err(|reason| {
            let hint = "install unixODBC (apt-get install unixodbc, dnf install unixODBC) and the \
                        database's ODBC driver";
            EngineError::new("no_odbc", format!("there is no ODBC driver manager: {reason}"), hint)
        })
    }
}

fn load() -> Result<Library, String> {
    let mut reason = String::new();
    for name in NAMES {
        let path = CString::new(name).map_err(|error| error.to_string())?;
        // SAFETY: the name ends with a zero byte; what the library does when it is loaded is the
        // responsibility of whoever installed it.
        let loaded = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if !loaded.is_null() {
            return Library::of(loaded);
        }
        reason = last_error();
    }
    Err(reason)
}

fn symbol(loaded: *mut c_void, name: &str) -> Result<*mut c_void, String> {
    let name = CString::new(name).map_err(|error| error.to_string())?;
    // SAFETY: the library is loaded, and the name ends with a zero byte.
    let found = unsafe { libc::dlsym(loaded, name.as_ptr()) };
    if found.is_null() { Err(last_error()) } else { Ok(found) }
}

/// The loader's last error message.
fn last_error() -> String {
    // SAFETY: the text belongs to this thread until its next call of the loader.
    unsafe {
        let text: *const c_char = libc::dlerror();
        if text.is_null() {
            return "the loader gives no reason".to_owned();
        }
        CStr::from_ptr(text).to_string_lossy().into_owned()
    }
}
