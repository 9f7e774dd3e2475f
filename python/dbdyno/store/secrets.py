"""Passwords stay out of run folders: what is written down passes through here first."""

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from dbdyno.model.plan import Plan
from dbdyno.model.record import RunRecord

MASK = "***"
TARGET = "--target"
# As libpq reads it: all before the @ is the login, unless a / comes first.
_IN_URL = re.compile(r"(?P<before>://[^/@:\s]*:)[^/]*(?=@)")
_NAME = r"(?P<before>\b(?:password|passwd|pwd|sslpassword)\s*=\s*)"
# How far a value goes, by how the text begins that holds it.
_VALUES = {
    "odbc:": r"(?:\{(?:[^}]|\}\})*\}|[^;]*)",
    "--": ".*",
    "": r"(?:'(?:[^'\\]|\\.)*'|(?:[^\s\\]|\\.)*)",
}
_VALUE_IN_QUERY = "[^&]*"


def without_password(target: str) -> str:
    """A target's URL or connection string with the password masked."""
    masked = _IN_URL.sub(rf"\g<before>{MASK}", target)
    value = _VALUE_IN_QUERY if "://" in target else _value_in(target)
    return re.sub(_NAME + value, rf"\g<before>{MASK}", masked, flags=re.IGNORECASE | re.DOTALL)


def _value_in(text: str) -> str:
    return next(value for begin, value in _VALUES.items() if text.lower().startswith(begin))


def record_to_keep(record: RunRecord) -> RunRecord:
    """The record as it is written down.

    In the command stands the target's own URL, which was made without a password: no guess at
    how the one that was typed is read can be as good.
    """
    target = without_password(record.target)
    command = [without_password(word) for word in _with_target(record.command, target)]
    return msgspec.structs.replace(record, target=target, command=command)


def _with_target(command: Sequence[str], target: str) -> list[str]:
    before = [None, *command]
    return [target if last == TARGET else word for last, word in zip(before, command, strict=False)]


def plan_to_keep(plan: Plan) -> dict[str, Any]:
    """The plan as it is written down: whole, but for the password."""
    kept: dict[str, Any] = msgspec.to_builtins(plan)
    del kept["endpoint"]["password"]
    return kept


class Masker:
    """Masks one known password wherever it turns up in a text."""

    def __init__(self, password: str | None) -> None:
        self._password = password

    def mask(self, text: str) -> str:
        """The text without the password."""
        return text.replace(self._password, MASK) if self._password else text
