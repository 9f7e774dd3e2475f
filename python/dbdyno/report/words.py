"""The words of the report: numbers as :mod:`dbdyno.words` writes them, and names of servers."""

from collections.abc import Mapping
from typing import Any

from dbdyno.words import (
    NOTHING,
    THIN_SPACE,
    count,
    milliseconds,
    percent,
    seconds,
    significant,
    size,
    tps,
)

__all__ = [
    "NOTHING",
    "THIN_SPACE",
    "count",
    "milliseconds",
    "percent",
    "seconds",
    "significant",
    "size",
    "tps",
    "where",
]

DATABASES = {"postgresql": "PostgreSQL"}


def where(target: str, server: Mapping[str, Any]) -> str:
    """Which server a run was on: its address, or what it is when it was there for us alone.

    The address of a private server is a socket that is gone when the report is read.
    """
    database = DATABASES.get(target.partition("://")[0])
    kind, version = server.get("kind"), str(server.get("version", "")).partition(" ")[0]
    if database is None or kind not in ("private", "kept"):
        return target
    return f"{database} {version}, {kind}"
