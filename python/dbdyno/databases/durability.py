"""The durability levels; the settings for them are in each ``database.py``.

A level says what survives, in the same words for every database. A database that can only provide
more than a level promises, provides more.
"""

import math
from collections.abc import Mapping

from dbdyno.model.database import Database, Promise

MEANING: dict[Promise, str] = {
    "full": "committed transactions survive a crash of the host",
    "relaxed": "a crash of the host may lose the last second of commits, but corrupts nothing",
    "none": "a crash of the host may lose all data",
}


LOST_MAX_MS: dict[Promise, float] = {"full": 0.0, "relaxed": 1000.0, "none": math.inf}
"""For how long before a crash of the host acknowledged commits may be lost."""


def promise_of(database: Database, settings: Mapping[str, str]) -> Promise | None:
    """Return the durability level of a server with these settings; None for a mixture.

    A database whose settings are not known here has no level. A setting that is missing does not
    count (for example that of a log which is not written).
    """
    known = {name: _as_durable(database, name, value) for name, value in settings.items()}
    for promise, wanted in database.durability.items():
        if all(known.get(name, value.lower()) == value.lower() for name, value in wanted.items()):
            return promise
    return None


def why_no_promise(database: Database, settings: Mapping[str, str]) -> str:
    """Return why settings are no durability level, and what would make each of them one.

    It is empty if they are one, or if it is not known which settings decide.
    """
    if not settings or not database.durability or promise_of(database, settings):
        return ""
    deciding = {name for wanted in database.durability.values() for name in wanted}
    told = ", ".join(f"{name}={settings[name]}" for name in settings if name in deciding)
    ways = [
        f"{promise} with {' and '.join(_changes(database, settings, wanted))}"
        for promise, wanted in database.durability.items()
    ]
    return f"{told} together promise nothing; they would be durability {'; '.join(ways)}"


def _changes(
    database: Database, settings: Mapping[str, str], wanted: Mapping[str, str]
) -> list[str]:
    return [
        f"{name}={value}"
        for name, value in wanted.items()
        if name in settings and _as_durable(database, name, settings[name]) != value.lower()
    ]


def _as_durable(database: Database, name: str, value: str) -> str:
    known = value.lower()
    return database.as_durable.get(name, {}).get(known, known)
