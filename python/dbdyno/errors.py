"""The base class of all errors that users see.

An error says what happened, has a stable code for programs, and names the next step. It never
contains a password: the code that raises it redacts what it quotes. The phrases that many errors
share are here, too.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager


class DbdynoError(Exception):
    """An error that users can act on: ``code`` for programs, ``message`` and ``hint`` for people.

    ``exit_code`` is 1 as long as nothing was run, 2 once a run had begun.
    """

    def __init__(self, code: str, message: str, hint: str = "", *, exit_code: int = 1) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.exit_code = exit_code

    def __str__(self) -> str:
        """The message and, on a line of its own, the hint."""
        return f"{self.message}\n{self.hint}" if self.hint else self.message


@contextmanager
def errors_about(name: str) -> Iterator[None]:
    """Put the name of what they are about before the message of errors in the block."""
    try:
        yield
    except DbdynoError as error:
        message = f"{name}: {error.message}"
        raise DbdynoError(error.code, message, error.hint, exit_code=error.exit_code) from error


def nearest(
    name: str, known: Iterable[str], otherwise: str = "", *, least_alike: float = 0.5
) -> str:
    """Suggest the known name nearest to an unknown one, or else list all known names.

    ``least_alike`` is how alike the two must be, from 0 to 1 (``difflib``).
    """
    import difflib  # noqa: PLC0415 - needed only for misspelt names

    names = list(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=least_alike)
    return f"did you mean {near[0]}?" if near else otherwise or f"there are: {', '.join(names)}"


def why_unreadable(error: OSError | UnicodeDecodeError) -> str:
    """Why the text of a file could not be read."""
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8 text"
    return error.strerror or str(error)
