"""``--durability``: one durability level, implemented by each kind of server with its settings.

Only for private servers; the durability of other servers is not changed.
"""

from collections.abc import Iterator

from dbdyno.databases.durability import MEANING
from dbdyno.databases.known import startable
from dbdyno.model.database import Database, Promise
from dbdyno.servers.product import product_of
from dbdyno.servers.settings import Setting


def promised_settings(database: Database, promise: Promise | None) -> list[Setting]:
    """Return the settings for a durability level; none if none was requested."""
    if promise is None:
        return []
    source = f"durability {promise}"
    return [Setting(name, value, source) for name, value in database.durability[promise].items()]


def settings_by_level(promise: Promise) -> list[str]:
    """Describe the level, and the settings of each kind of server for it."""
    return [f"durability {promise}: {MEANING[promise]}", *_lines(promise)]


def _lines(promise: Promise) -> Iterator[str]:
    titles: dict[str, list[str]] = {}
    for kind in startable():
        database = product_of(kind).database
        settings = database.durability[promise]
        text = ", ".join(f"{name}={value}" for name, value in settings.items())
        titles.setdefault(text, []).append(database.title)
    width = max(len(" and ".join(names)) for names in titles.values())
    for text, names in titles.items():
        yield f"  {' and '.join(names):{width}}  {text}"
