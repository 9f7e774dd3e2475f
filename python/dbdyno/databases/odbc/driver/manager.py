"""Calls the ODBC driver manager for control connections, which execute few statements.

Everything is read as text. The load itself uses the engine's own calls.
"""

import ctypes
from ctypes import byref, c_int16, c_int32, c_ssize_t, c_void_p
from functools import cache

from dbdyno.databases.odbc.server_errors import OdbcError
from dbdyno.errors import DbdynoError

NAMES = ("libodbc.so.2", "libodbc.so")
ENVIRONMENT, CONNECTION, STATEMENT = 1, 2, 3
SUCCESS, SUCCESS_WITH_INFO, NO_DATA = 0, 1, 100
VERSION_ATTRIBUTE, VERSION_3 = 200, 3
LOGIN_TIMEOUT_ATTRIBUTE = 103
WIDE_TEXT = -8
NULL_LENGTH, UNKNOWN_LENGTH = -1, -4
TEXT_BYTES = 4096
MESSAGE_UNITS = 1024


@cache
def library() -> ctypes.CDLL:
    """The driver manager of this host."""
    for name in NAMES:
        try:
            return ctypes.CDLL(name)
        except OSError as error:
            reason = str(error)
    raise DbdynoError(
        "no_odbc",
        f"there is no ODBC driver manager: {reason}",
        "install unixODBC (apt-get install unixodbc, dnf install unixODBC) "
        "and the database's ODBC driver",
    )


def wide(text: str) -> bytes:
    """Encode text for the driver manager."""
    return text.encode("utf-16-le")


class Handle:
    """An ODBC handle, released by ``free``."""

    def __init__(self, kind: int, above: "Handle | None" = None) -> None:
        self.kind = kind
        self.raw = c_void_p()
        code = library().SQLAllocHandle(c_int16(kind), above and above.raw, byref(self.raw))
        if code not in (SUCCESS, SUCCESS_WITH_INFO):
            raise above.complaint() if above else OdbcError("HY000", 0, "no ODBC environment")

    def check(self, code: int) -> bool:
        """Return whether a call returned something; raise its error."""
        code = c_int16(code).value
        if code in (SUCCESS, SUCCESS_WITH_INFO):
            return True
        if code == NO_DATA:
            return False
        raise self.complaint()

    def complaint(self) -> OdbcError:
        """Return the error of the last call."""
        state = ctypes.create_string_buffer(12)
        message = ctypes.create_string_buffer(MESSAGE_UNITS * 2)
        number, units = c_int32(), c_int16()
        code = library().SQLGetDiagRecW(
            c_int16(self.kind), self.raw, c_int16(1), state, byref(number),
            message, c_int16(MESSAGE_UNITS), byref(units),
        )  # fmt: skip
        if c_int16(code).value not in (SUCCESS, SUCCESS_WITH_INFO):
            return OdbcError("HY000", 0, "the driver failed without a message")
        text = message.raw[: min(units.value, MESSAGE_UNITS - 1) * 2].decode("utf-16-le", "replace")
        return OdbcError(state.raw[:10].decode("utf-16-le"), number.value, text.strip())

    def free(self) -> None:
        """Release the handle."""
        library().SQLFreeHandle(c_int16(self.kind), self.raw)


def environment() -> Handle:
    """Return an environment, in which connections are created."""
    handle = Handle(ENVIRONMENT)
    set_version = library().SQLSetEnvAttr
    handle.check(set_version(handle.raw, c_int32(VERSION_ATTRIBUTE), c_void_p(VERSION_3), 0))
    return handle


def connected(environment: Handle, login: str, timeout_s: int) -> Handle:
    """Return a connection that is logged in."""
    handle = Handle(CONNECTION, environment)
    text = wide(login)
    try:
        set_attribute = library().SQLSetConnectAttr
        handle.check(
            set_attribute(handle.raw, c_int32(LOGIN_TIMEOUT_ATTRIBUTE), c_void_p(timeout_s), 0)
        )
        connect = library().SQLDriverConnectW
        handle.check(connect(handle.raw, None, text, c_int16(len(text) // 2), None, 0, None, 0))
    except OdbcError:
        handle.free()
        raise
    return handle


def information(connection: Handle, kind: int) -> str:
    """Return a piece of information about the database from the driver."""
    text = ctypes.create_string_buffer(512)
    get_info = library().SQLGetInfoW
    connection.check(get_info(connection.raw, c_int16(kind), text, c_int16(512), byref(c_int16())))
    return text.raw.decode("utf-16-le", "replace").partition("\0")[0]


def rows_of(statement: Handle, sql: str) -> list[tuple[str | None, ...]]:
    """Execute a statement and return its first result."""
    text = wide(sql)
    statement.check(library().SQLExecDirectW(statement.raw, text, c_int32(len(text) // 2)))
    columns = c_int16()
    statement.check(library().SQLNumResultCols(statement.raw, byref(columns)))
    rows = []
    while columns.value and statement.check(library().SQLFetch(statement.raw)):
        rows.append(tuple(_field(statement, place + 1) for place in range(columns.value)))
    return rows


def _field(statement: Handle, column: int) -> str | None:
    """Return a field as text, reading it in as many pieces as necessary."""
    pieces = []
    while True:
        piece = ctypes.create_string_buffer(TEXT_BYTES)
        left = c_ssize_t()
        code = library().SQLGetData(
            statement.raw, c_int16(column), c_int16(WIDE_TEXT),
            piece, c_ssize_t(TEXT_BYTES), byref(left),
        )  # fmt: skip
        if not statement.check(code):
            break
        if left.value == NULL_LENGTH:
            return None
        room = TEXT_BYTES - 2
        is_cut = left.value == UNKNOWN_LENGTH or left.value > room
        pieces.append(piece.raw[: room if is_cut else left.value])
        if not is_cut:
            break
    return b"".join(pieces).decode("utf-16-le", "replace")
