"""The errors of ODBC drivers, and our own errors made from them, for people."""

from collections.abc import Iterator
from contextlib import contextmanager

from dbdyno.errors import DbdynoError

# By the first characters of the SQLSTATE; the first match counts.
CAUSES = (
    ("42S02", "missing_table", "load the data first: dbdyno load WORKLOAD"),
    ("42P01", "missing_table", "load the data first: dbdyno load WORKLOAD"),
    ("42S01", "table_exists", "--replace drops it first"),
    ("42501", "no_rights", "grant the right, or connect as another user"),
    ("28", "no_rights", "grant the right, or connect as another user"),
    ("53", "server_resources", "make room on the server, or load a smaller scale"),
    ("08", "server_lost", "the server's log may say why"),
)


class OdbcError(Exception):
    """A failed call: SQLSTATE, the database's own error number (or 0), and the message."""

    def __init__(self, state: str, number: int, message: str) -> None:
        super().__init__(message)
        self.state = state
        self.number = number
        self.message = message

    @property
    def is_of_missing_driver(self) -> bool:
        """Whether the driver itself could not be loaded."""
        return self.state.startswith("IM") or "Can't open lib" in self.message


@contextmanager
def understood(doing: str) -> Iterator[None]:
    """Turn the driver's errors inside the block into dbdyno's."""
    try:
        yield
    except OdbcError as error:
        code, hint = _cause(error)
        raise DbdynoError(code, f"cannot {doing}: {error.message}", hint) from error


def _cause(error: OdbcError) -> tuple[str, str]:
    for beginning, code, hint in CAUSES:
        if error.state.startswith(beginning):
            return code, hint
    return "server_error", f"SQLSTATE {error.state}, number {error.number}"
