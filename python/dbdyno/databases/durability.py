"""The durability levels; what each setting contributes is in each ``database.py``.

A level says what survives, in the same words for every database. A server has the weakest of the
levels that its settings permit; one that can only provide more than a level promises, provides
more.
"""

import math
from collections.abc import Mapping

from dbdyno.model.database import Database, Promise

_MEANING: dict[Promise, str] = {
    "full": "committed transactions survive a crash of the host",
    "relaxed": "a crash of the host may lose the last {window} of commits, but corrupts nothing",
    "none": "a crash of the host may lose all data",
}

LOST_MAX_MS: dict[Promise, float] = {"full": 0.0, "relaxed": 1000.0, "none": math.inf}
"""For how long before a crash of the host acknowledged commits may be lost, unless settings of the
server say otherwise."""

UNLOGGED_TABLES = {"tables": "unlogged"}
"""What else decides, among the settings: the server empties such tables after each crash."""


def meaning(promise: Promise, window: str = "second") -> str:
    """Return what a level promises; ``window`` is what ``relaxed`` may lose on the server meant."""
    return _MEANING[promise].format(window=window)


def promise_of(database: Database, settings: Mapping[str, str]) -> Promise | None:
    """Return the weakest of the levels that these settings permit; None if one is not known.

    A database whose settings are not known here has no level. A setting that is missing does not
    count (for example that of a log which is not written).
    """
    permitted = [
        _permitted(database, name, settings[name]) for name in _deciding(database, settings)
    ]
    weakest_first: tuple[Promise, ...] = ("none", "relaxed", "full")
    if not permitted or None in permitted:
        return None
    return next(level for level in weakest_first if level in permitted)


def why_no_promise(database: Database, settings: Mapping[str, str]) -> str:
    """Return why settings are no durability level; empty if they are one, or none decides."""
    unknown = [
        f"{name}={settings[name]}"
        for name in _deciding(database, settings)
        if _permitted(database, name, settings[name]) is None
    ]
    return f"it is not known what {' and '.join(unknown)} promises" if unknown else ""


def lost_max_ms(database: Database, promise: Promise | None, settings: Mapping[str, str]) -> float:
    """Return for how long before a crash of the host acknowledged commits may be lost.

    It is infinite if nothing is promised. How much ``relaxed`` may lose is a setting of the server.
    """
    if promise is None:
        return math.inf
    window = database.loss_window
    known = settings.get(window.setting, "") if window else ""
    if promise != "relaxed" or window is None or not known.isdigit():
        return LOST_MAX_MS[promise]
    return int(known) * window.unit_ms + window.more_ms


def _deciding(database: Database, settings: Mapping[str, str]) -> list[str]:
    return [name for name in settings if name in database.levels_permitted]


def _permitted(database: Database, name: str, value: str) -> Promise | None:
    levels = database.levels_permitted[name]
    return levels.get(value.lower(), levels.get("other"))
