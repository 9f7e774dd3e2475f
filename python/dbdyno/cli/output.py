"""Where words go: results to standard output, words for people beside it, errors with a code.

With ``--json`` standard output carries one object and nothing else.
"""

import contextlib
import os
import sys
from collections.abc import Iterator
from enum import IntEnum
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeAlias

from cyclopts import Parameter

from dbdyno.errors import DbdynoError

if TYPE_CHECKING:
    from rich.table import Table

Json: TypeAlias = Annotated[
    bool, Parameter(negative=(), help="One JSON object on standard output, and nothing else.")
]


class Exit(IntEnum):
    """What a command's exit code says."""

    meaning: str

    OK = 0, "done, and valid"
    NOTHING_RUN = 1, "nothing was run: usage, a static error, or a target that cannot be prepared"
    FAILED = 2, "the run failed after its first transaction; what was measured is kept"
    NOT_VALID = 3, "finished, but not valid"
    VERDICT_FAILED = (
        4,
        "finished, and a verdict failed: a broken check, a --fail-if that came true, "
        "objectives that no rate meets",
    )
    INTERRUPTED = 130, "interrupted"

    def __new__(cls, code: int, meaning: str) -> Self:
        """A number that knows its words."""
        member = int.__new__(cls, code)
        member._value_ = code
        member.meaning = meaning
        return member


def print_json(value: object) -> None:
    """The one object of ``--json``."""
    import msgspec  # noqa: PLC0415 - not for --help

    encoded = msgspec.json.format(msgspec.json.encode(value, enc_hook=os.fspath), indent=2)
    print_result(encoded.decode())


def print_result(text: str) -> None:
    """A line of the command's result."""
    with _told_if_unwritable():
        print(text)  # noqa: T201


def print_table(table: "Table") -> None:
    """A table, as wide as it is when nobody's terminal bounds it."""
    from rich.console import Console  # noqa: PLC0415 - not for --help

    with _told_if_unwritable():
        Console(width=None if sys.stdout.isatty() else 10_000, highlight=False).print(table)


def flush_result() -> None:
    """Writes out what was printed, as far as anybody reads it."""
    with contextlib.suppress(BrokenPipeError, ValueError), _told_if_unwritable():
        sys.stdout.flush()


@contextlib.contextmanager
def _told_if_unwritable() -> Iterator[None]:
    """An error for results that find no room; a reader who has seen enough is none."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise DbdynoError(
            "output_failed",
            f"cannot write the result: {error.strerror or error}",
            "Free some space where it goes. What was measured is kept: dbdyno report last --text",
        ) from error


def print_aside(text: str) -> None:
    """A line for the person who waits; never part of a result."""
    print(text, file=sys.stderr)  # noqa: T201


def print_error(code: str, message: str, hint: str, *, as_json: bool) -> None:
    """An error, for people or for programs; for people when no program could read it."""
    if as_json:
        error: dict[str, Any] = {"code": code, "message": message, "hint": hint}
        with contextlib.suppress(DbdynoError):
            print_json({"error": error})
            flush_result()
            return
    print_aside(f"error: {message}")
    if hint:
        print_aside(f"hint: {hint}")
