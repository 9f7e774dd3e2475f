"""Passwords stay out of run folders: what is written down passes through here first."""

import re
from typing import Any

import msgspec

from dbdyno.model.plan import Plan

MASK = "***"
_IN_URL = re.compile(r"(?P<before>://[^/?#@:\s]*:)[^/?#\s]*(?=@)")
_AS_PARAMETER = re.compile(
    r"(?P<before>\b(?:password|passwd|pwd|sslpassword)\s*=\s*)"
    r"('(?:[^'\\]|\\.)*'|\{(?:[^}]|\}\})*\}|[^\s&]+)",
    re.IGNORECASE,
)


def without_password(target: str) -> str:
    """A target's URL or connection string with the password masked."""
    masked = _IN_URL.sub(rf"\g<before>{MASK}", target)
    return _AS_PARAMETER.sub(rf"\g<before>{MASK}", masked)


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
