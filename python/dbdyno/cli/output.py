"""Output: results to standard output, other messages to standard error, errors with a code.

With ``--json``, standard output carries one object and nothing else. In a terminal, lines are
wrapped to its width; in a pipe they are as long as they need to be.
"""

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from typing import IO, Any, Self

from dbdyno.errors import DbdynoError
from dbdyno.layout import Columns, Line, Paragraph, folded, harmless, laid_out, visible

UNWRITABLE = "output_failed"  # the code of the error if standard output takes no more

# The width of a terminal that does not report one and of what is fitted to a width for a pipe, and
# the minimum width for wrapping.
SCREEN_USUAL, _SCREEN_LEAST = 80, 40


class Exit(IntEnum):
    """The exit codes of commands, with their meanings."""

    meaning: str

    OK = 0, "finished and valid"
    NOTHING_RUN = (
        1,
        "nothing was run: wrong usage, an error in a script or plan, or a target that cannot be "
        "reached or prepared",
    )
    FAILED = (
        2,
        "the run failed after its first transaction, or its result could not be written; what was "
        "measured is kept",
    )
    NOT_VALID = 3, "finished, but the result is not valid"
    VERDICT_FAILED = (
        4,
        "finished, but a verdict failed: a broken invariant (check), a --fail-if condition that "
        "is met, objectives that no rate meets, a problem found by doctor",
    )
    INTERRUPTED = 130, "interrupted"

    def __new__(cls, code: int, meaning: str) -> Self:
        """Create a member with its meaning."""
        member = int.__new__(cls, code)
        member._value_ = code
        member.meaning = meaning
        return member


def refuse_several_forms(command: str, forms: Mapping[str, bool]) -> None:
    """Raise an error if a result is requested in more than one form, by the flags of the forms."""
    given = [flag for flag, is_given in forms.items() if is_given]
    if len(given) > 1:
        raise DbdynoError(
            "usage",
            f"{' and '.join(given)} cannot be used together",
            f"The shell writes what is printed to a file: dbdyno {command} {given[-1]} > FILE",
        )


def examples(*lines: str) -> str:
    """Return the examples for the end of a command's help."""
    return "\n".join(["Examples:", "", *(f"  {line}" for line in lines), ""])


def print_json(value: object) -> None:
    """Print the one object of ``--json``."""
    import msgspec  # noqa: PLC0415 - not for --help

    encoded = msgspec.json.format(msgspec.json.encode(value, enc_hook=os.fspath), indent=2)
    print_result(harmless(encoded.decode()))


def print_result(text: str) -> None:
    """Print a line of the command's result, as far as anybody reads it.

    A reader that has closed the pipe does not change the exit code, which is part of the result.
    """
    with contextlib.suppress(BrokenPipeError), _refusing_unwritable():
        print(text)  # noqa: T201


def print_lines(lines: Iterable[Line]) -> None:
    """Print lines of the result, wrapped to the width of a terminal."""
    print_result(laid_out(lines, screen(sys.stdout), flow=None))


def print_table(
    headings: Sequence[str], rows: Iterable[Sequence[str]], left: int | None = None
) -> None:
    """Print columns under headings, the first ``left`` left-aligned; all by default.

    A cell's text cannot control the terminal; its line breaks are kept.
    """
    shown = [headings]
    for row in rows:
        shown.append(["\n".join(map(visible, cell.splitlines())) for cell in row])
    print_lines([Columns(shown, len(headings) if left is None else left)])


def screen(stream: IO[str]) -> int | None:
    """Return the width of a stream's terminal; None for a pipe or a file."""
    if not stream.isatty():
        return None
    variable = os.environ.get("COLUMNS", "")
    columns = int(variable) if variable.isdecimal() else 0
    with contextlib.suppress(OSError):
        columns = columns or os.get_terminal_size(stream.fileno()).columns
    return max(columns or SCREEN_USUAL, _SCREEN_LEAST)


def wrapped(text: str) -> str:
    """Wrap a message, indenting all lines but the first."""
    return "\n".join(folded(text, SCREEN_USUAL, "  "))


def flush_result() -> None:
    """Flush what was printed, as far as anybody reads it."""
    with contextlib.suppress(BrokenPipeError, ValueError), _refusing_unwritable():
        sys.stdout.flush()


@contextlib.contextmanager
def showing_kept_result(kept: str) -> Iterator[None]:
    """Exit with 2 if a result cannot be shown: with 1, nothing would have been run.

    ``kept`` says what is kept, and which command shows it.
    """
    try:
        yield
        flush_result()
    except DbdynoError as error:
        error.exit_code = Exit.FAILED
        if error.code == UNWRITABLE:
            error.hint = f"{error.hint} {kept}"
        raise


@contextlib.contextmanager
def _refusing_unwritable() -> Iterator[None]:
    """Raise an error if the disk is full or the like, but not if the reader has closed the pipe."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise DbdynoError(
            UNWRITABLE,
            f"cannot write the result: {error.strerror or error}",
            "Free some space there.",
        ) from error


def print_aside(text: str) -> None:
    """Print lines for the user to standard error, if it takes them; never part of a result."""
    lines = [Paragraph(line, "  ") for line in text.split("\n")]
    with contextlib.suppress(OSError):
        print(laid_out(lines, screen(sys.stderr), flow=None), file=sys.stderr)  # noqa: T201


def print_error(code: str, message: str, hint: str, *, as_json: bool) -> None:
    """Print an error, as JSON or as text; as text, too, if JSON cannot be written."""
    if as_json:
        error: dict[str, Any] = {"code": code, "message": message, "hint": hint}
        with contextlib.suppress(DbdynoError):
            print_json({"error": error})
            flush_result()
            return
    print_aside(f"error: {message}")
    if hint:
        print_aside(f"hint: {hint}")
