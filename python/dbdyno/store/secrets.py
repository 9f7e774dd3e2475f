"""Keeps passwords out of run folders: everything that is recorded passes through here first."""

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from dbdyno.model.plan import Plan
from dbdyno.model.record import RunRecord

MASK = "***"
TARGET = "--target"
# As in libpq, everything before the @ is the login, unless there is a / before it.
_IN_URL = re.compile(r"(?P<before>://[^/@:\s]*:)[^/]*(?=@)")
# Also as the end of a longer name, in either spelling: mysql-password, mysql_password.
_NAME = r"(?P<before>(?<![a-zA-Z0-9])(?:password|passwd|pwd|sslpassword)\s*=\s*)"
# Where a value ends, by the beginning of the text that contains it.
_VALUES = {
    "odbc:": r"(?:\{(?:[^}]|\}\})*\}|[^;]*)",
    "--": ".*",
    "": r"(?:'(?:[^'\\]|\\.)*'|(?:[^\s\\]|\\.)*)",
}
_VALUE_IN_QUERY = "[^&]*"


def without_password(target: str) -> str:
    """Mask the password in a target's URL or connection string."""
    masked = _IN_URL.sub(rf"\g<before>{MASK}", target)
    value = _VALUE_IN_QUERY if "://" in target else _value_in(target)
    return re.sub(_NAME + value, rf"\g<before>{MASK}", masked, flags=re.IGNORECASE | re.DOTALL)


def _value_in(text: str) -> str:
    return next(value for begin, value in _VALUES.items() if text.lower().startswith(begin))


def record_to_keep(record: RunRecord) -> RunRecord:
    """Return the record as it is written to the folder.

    In the command, the target is replaced by its normalized URL, which never contained the
    password: this is safer than guessing how the URL that was typed is parsed.
    """
    target = without_password(record.target)
    command = [without_password(argument) for argument in _with_target(record.command, target)]
    return msgspec.structs.replace(record, target=target, command=command)


def _with_target(command: Sequence[str], target: str) -> list[str]:
    before = [None, *command]
    return [
        target if last == TARGET else argument
        for last, argument in zip(before, command, strict=False)
    ]


def plan_to_keep(plan: Plan) -> dict[str, Any]:
    """Return the plan as it is written to the folder: complete, but for the password."""
    kept: dict[str, Any] = msgspec.to_builtins(plan)
    del kept["endpoint"]["password"]
    return kept


class Masker:
    """Masks one known password wherever it occurs in a text."""

    def __init__(self, password: str | None) -> None:
        self._password = password

    def mask(self, text: str) -> str:
        """Return the text without the password."""
        return text.replace(self._password, MASK) if self._password else text
