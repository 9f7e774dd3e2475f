"""Secrets that are known, and how texts are kept without them.

Servers quote what they were given, in errors and in their log: a text is masked where it arrives,
so that everything made from it is, too. It knows no form of a target: that is ``store/secrets.py``.
"""

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from dbdyno.model.plan import LoadPlan, Plan

MASK = "***"
_LONG = 4
# Of scripts' variables and options: also the end of a longer name, in either spelling, such as
# mysql-password and mysql_password.
SECRET_NAME = r"(?<![a-zA-Z0-9])(?:password|passwd|pwd|sslpassword)"
_NAMED_SECRET = re.compile(rf"{SECRET_NAME}$", re.IGNORECASE)


def names_secret(name: str) -> bool:
    """Whether the variable or option of a script with this name has a secret."""
    return _NAMED_SECRET.search(name) is not None


def secrets_of(plan: Plan | LoadPlan) -> list[str]:
    """Return the login's password, and the secrets that were given to scripts."""
    given: dict[str, object] = {}
    if isinstance(plan, Plan):
        given = {**plan.variables, **(plan.lua.arguments if plan.lua else {})}
    named = [str(value) for name, value in given.items() if names_secret(name)]
    return [plan.endpoint.password or "", *named]


class Masker:
    """Masks secrets where they stand as words of their own.

    Not inside other words: a password of one letter would take that letter out of the text, and
    show what it is. Only where ``touches_others`` are long ones masked inside words, too: a command
    may print its own options, such as ``-psecret``.
    """

    def __init__(self, secrets: Iterable[str], *, touches_others: bool = False) -> None:
        self._secrets = sorted(filter(None, secrets), key=len, reverse=True)
        self._bytes = [secret.encode(errors="surrogateescape") for secret in self._secrets]
        words = "|".join(
            re.escape(secret)
            if touches_others and len(secret) >= _LONG
            else rf"(?<!\w){re.escape(secret)}(?!\w)"
            for secret in self._secrets
        )
        self._pattern = re.compile(words) if words else None

    def text(self, text: str) -> str:
        """Return a text without the secrets."""
        return self._pattern.sub(MASK, text) if self._pattern else text

    def packed(self, message: bytes) -> bytes:
        """Return a message in MessagePack with the texts in it masked, as :meth:`values` does."""
        if not any(secret in message for secret in self._bytes):
            return message
        return msgspec.msgpack.encode(self.values(msgspec.msgpack.decode(message)))

    def values(self, value: Any) -> Any:
        """Return lists and mappings of values with the texts in them masked.

        What is the secret and nothing else remains: it is the name of a database, say, that is
        called like the password of its owner.
        """
        match value:
            case str():
                return value if value in self._secrets else self.text(value)
            case dict():
                return {name: self.values(one) for name, one in value.items()}
            case list():
                return [self.values(one) for one in value]
            case _:
                return value
