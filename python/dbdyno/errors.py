"""The one family of exceptions that people see.

An error says what happened, has a stable word for programs, and names the next step. It
never carries a password: those who raise it redact what they quote.
"""


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
