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
    known = {name: value.lower() for name, value in settings.items()}
    known |= {
        name: equals.get(known[name], known[name])
        for name, equals in database.as_durable.items()
        if name in known
    }
    for promise, wanted in database.durability.items():
        if all(known.get(name, value.lower()) == value.lower() for name, value in wanted.items()):
            return promise
    return None
