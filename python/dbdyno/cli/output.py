"""Where words go: results to standard output, words for people beside it, errors with a code.

With ``--json`` standard output carries one object and nothing else. In a terminal lines end
where it does; in a pipe they are as long as they are.
"""

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from typing import IO, Annotated, Any, Self, TypeAlias

from cyclopts import Parameter

from dbdyno.errors import DbdynoError
from dbdyno.layout import Columns, Line, Paragraph, laid_out, visible

# Of a terminal that does not say how wide it is; and the least that words can flow in.
_SCREEN_USUAL, _SCREEN_LEAST = 80, 40

Json: TypeAlias = Annotated[
    bool, Parameter(negative=(), help="Print one JSON object to standard output, and nothing else.")
]


class Exit(IntEnum):
    """What a command's exit code says."""

    meaning: str

    OK = 0, "finished and valid"
    NOTHING_RUN = (
        1,
        "nothing was run: wrong usage, an error in a script or plan, or a target that cannot be "
        "reached or prepared",
    )
    FAILED = 2, "the run failed after its first transaction; its results so far are kept"
    NOT_VALID = 3, "finished, but the result is not valid"
    VERDICT_FAILED = (
        4,
        "finished, but a verdict failed: a broken invariant (check), a --fail-if condition that "
        "is met, objectives that no rate meets, a problem found by doctor",
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


def print_lines(lines: Iterable[Line]) -> None:
    """Lines of the result, folded where a terminal's columns end."""
    print_result(laid_out(lines, screen(sys.stdout), flow=None))


def print_table(
    headings: Sequence[str], rows: Iterable[Sequence[str]], left: int | None = None
) -> None:
    """Columns under their headings, the first ``left`` of them flush left; all unless told."""
    shown = [headings, *([_seen(cell) for cell in row] for row in rows)]
    print_lines([Columns(shown, len(headings) if left is None else left)])


def _seen(cell: str) -> str:
    """Other people's words do not steer the terminal; their lines stay."""
    return "\n".join(map(visible, cell.splitlines()))


def screen(stream: IO[str]) -> int | None:
    """The columns of the terminal that a stream leads to; None of a pipe or a file."""
    if not stream.isatty():
        return None
    asked = os.environ.get("COLUMNS", "")
    columns = int(asked) if asked.isdecimal() else 0
    with contextlib.suppress(OSError):
        columns = columns or os.get_terminal_size(stream.fileno()).columns
    return max(columns or _SCREEN_USUAL, _SCREEN_LEAST)


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
            "Free some space there. The run is kept: dbdyno report last --text",
        ) from error


def print_aside(text: str) -> None:
    """Lines for the person who waits; never part of a result."""
    lines = [Paragraph(line, "  ") for line in text.split("\n")]
    print(laid_out(lines, screen(sys.stderr), flow=None), file=sys.stderr)  # noqa: T201


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
