"""The one family of exceptions that people see.

An error says what happened, has a stable word for programs, and names the next step. It
never carries a password: those who raise it redact what they quote. Beside it stand words that
many errors share.
"""

from collections.abc import Iterable


class DbdynoError(Exception):
    """Something a person can act on: ``code`` for programs, ``message`` and ``hint`` for people.

    ``exit_code`` is 1 while nothing was run, 2 when a run had begun.
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


def nearest(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """What may have been meant by a name that nothing has, else all that there is."""
    import difflib  # noqa: PLC0415 - only a slip of the pen needs it

    names = list(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    return f"did you mean {near[0]}?" if near else otherwise or f"there are: {', '.join(names)}"


def why_unreadable(error: OSError | UnicodeDecodeError) -> str:
    """Why the text of a file could not be had."""
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8 text"
    return error.strerror or str(error)
