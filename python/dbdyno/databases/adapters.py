"""Finds how each database is reached.

Over a protocol, by its ``over_PROTOCOL.py``, which ends in ``ADAPTER``; a database without one is
reached as the one that it is built from, or as one that is not known.
"""

from functools import cache

from dbdyno.databases.adapter import Adapter
from dbdyno.databases.known import UNKNOWN, files, lineage, module_of, native_database
from dbdyno.model.database import Database
from dbdyno.model.plan import Protocol


def adapter_of(database: Database, protocol: Protocol) -> Adapter:
    """Return how it is reached, without importing other adapters: each needs its own driver."""
    for name in (*(one.name for one in lineage(database)), UNKNOWN):
        if files(f"{name}/over_{protocol}.py"):
            found: Adapter = module_of(name, f"over_{protocol}").ADAPTER
            return found
    raise AssertionError(f"{UNKNOWN} has an adapter for each protocol, and none for {protocol}")


def native_adapter(protocol: Protocol) -> Adapter:
    """Return how the database that a protocol was made for is reached over it."""
    return adapter_of(native_database(protocol), protocol)


@cache
def all_adapters() -> dict[str, Adapter]:
    """Return all adapters by name."""
    found = files("*/over_*.py")
    adapters: list[Adapter] = [module_of(file.parent.name, file.stem).ADAPTER for file in found]
    return {adapter.name: adapter for adapter in sorted(adapters, key=lambda one: one.name)}
