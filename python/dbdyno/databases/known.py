"""Finds the databases, one folder each, whose ``database.py`` ends in ``DATABASE``.

Imports no driver, and nothing of how they are reached: lists of runs only name them.
"""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from dbdyno import databases
from dbdyno.model.database import Database
from dbdyno.model.plan import Protocol

UNKNOWN = "unknown"


@cache
def all_databases() -> dict[str, Database]:
    """Return all databases by name."""
    names = sorted(file.parent.name for file in files("*/database.py"))
    return {name: module_of(name, "database").DATABASE for name in names}


def native_database(protocol: Protocol) -> Database:
    """Return the database that a protocol was made for; ODBC was made for none."""
    return all_databases().get(protocol) or all_databases()[UNKNOWN]


def lineage(database: Database) -> list[Database]:
    """Return the database, the one that it is built from, and so on."""
    base = all_databases().get(database.base)
    return [database, *(lineage(base) if base else [])]


@cache
def startable() -> dict[str, str]:
    """Return the databases that dbdyno can start: their folders, by their word in ``--server``."""
    return {
        database.product: name
        for name, database in all_databases().items()
        if files(f"{name}/server/product.py")
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


def files(pattern: str) -> list[Path]:
    """Return the files of databases whose path in this package is like that."""
    return [file for place in databases.__path__ for file in Path(place).glob(pattern)]


def module_of(folder: str, module: str) -> Any:
    """Import a module of a database."""
    return import_module(f"{databases.__name__}.{folder}.{module}")
