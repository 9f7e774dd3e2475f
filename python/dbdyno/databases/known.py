"""Finds the databases, one folder each, and how each is reached.

A database is a folder whose ``database.py`` ends in ``DATABASE``. How it is reached over a protocol
is in its ``over_PROTOCOL.py``, which ends in ``ADAPTER``; a database without one is reached as the
one that it is built from, or as one that is not known.
"""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from dbdyno import databases
from dbdyno.databases.adapter import Adapter
from dbdyno.model.database import Database
from dbdyno.model.plan import Protocol

UNKNOWN = "unknown"


@cache
def all_databases() -> dict[str, Database]:
    """Return all databases by name."""
    names = sorted(file.parent.name for file in _files("*/database.py"))
    return {name: _module(name, "database").DATABASE for name in names}


def native_database(protocol: Protocol) -> Database:
    """Return the database that a protocol was made for; ODBC was made for none."""
    return all_databases().get(protocol) or all_databases()[UNKNOWN]


def lineage(database: Database) -> list[Database]:
    """Return the database, the one that it is built from, and so on."""
    base = all_databases().get(database.base)
    return [database, *(lineage(base) if base else [])]


def adapter_of(database: Database, protocol: Protocol) -> Adapter:
    """Return how it is reached, without importing other adapters: each needs its own driver."""
    for name in (*(one.name for one in lineage(database)), UNKNOWN):
        if _files(f"{name}/over_{protocol}.py"):
            found: Adapter = _module(name, f"over_{protocol}").ADAPTER
            return found
    raise AssertionError(f"{UNKNOWN} has an adapter for each protocol, and none for {protocol}")


def native_adapter(protocol: Protocol) -> Adapter:
    """Return how the database that a protocol was made for is reached over it."""
    return adapter_of(native_database(protocol), protocol)


@cache
def all_adapters() -> dict[str, Adapter]:
    """Return all adapters by name."""
    files = _files("*/over_*.py")
    adapters: list[Adapter] = [_module(file.parent.name, file.stem).ADAPTER for file in files]
    return {adapter.name: adapter for adapter in sorted(adapters, key=lambda one: one.name)}


@cache
def startable() -> dict[str, str]:
    """Return the databases that dbdyno can start: their folders, by their word in ``--server``."""
    return {
        database.product: name
        for name, database in all_databases().items()
        if _files(f"{name}/server/product.py")
    }


def recorded_database(server: Mapping[str, Any], protocol: Protocol) -> Database:
    """Return the database of a run, by the record of its server.

    Older records have only its product, or nothing if the server was not asked.
    """
    known = all_databases()
    if name := server.get("database"):
        return known.get(name, known[UNKNOWN])
    product = str(server.get("product", "")).lower()
    for database in known.values():
        if product and database.product and product.startswith(database.product):
            return database
    return native_database(protocol)


def recorded_title(server: Mapping[str, Any]) -> str:
    """Return the name of a run's database for people; older records have only its product."""
    product = server.get("product", "postgres")
    titles = {one.product: one.title for one in all_databases().values() if one.product}
    return str(server.get("title", titles.get(product, "")))


def _files(pattern: str) -> list[Path]:
    return [file for place in databases.__path__ for file in Path(place).glob(pattern)]


def _module(folder: str, module: str) -> Any:
    return import_module(f"{databases.__name__}.{folder}.{module}")
