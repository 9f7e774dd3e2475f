"""How durable a server is: three promises, and the settings by which each database keeps them.

The promise is what survives, in the same words for every database. Where one of them can only
keep more than is promised, it keeps more.
"""

from collections.abc import Mapping
from typing import Literal

Promise = Literal["full", "relaxed", "none"]

MEANING: dict[Promise, str] = {
    "full": "committed transactions survive a crash of the host",
    "relaxed": "a crash of the host may lose the last second of commits, but corrupts nothing",
    "none": "a crash of the host may lose all data",
}

SETTINGS: dict[str, dict[Promise, dict[str, str]]] = {
    "postgresql": {
        "full": {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"},
        "relaxed": {"fsync": "on", "synchronous_commit": "off", "full_page_writes": "on"},
        "none": {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"},
    },
    # The binary log, where there is one, is as durable as the redo log.
    "mysql": {
        "full": {
            "innodb_flush_log_at_trx_commit": "1",
            "sync_binlog": "1",
            "innodb_doublewrite": "ON",
        },
        "relaxed": {
            "innodb_flush_log_at_trx_commit": "2",
            "sync_binlog": "0",
            "innodb_doublewrite": "ON",
        },
        "none": {
            "innodb_flush_log_at_trx_commit": "0",
            "sync_binlog": "0",
            "innodb_doublewrite": "OFF",
        },
    },
}


def settings_of(protocol: str, promise: Promise) -> dict[str, str]:
    """What keeps the promise."""
    return SETTINGS[protocol][promise]


def promise_of(protocol: str, settings: Mapping[str, str]) -> Promise | None:
    """The promise that a server with these settings keeps; None for a mixture.

    A database whose settings are not known here keeps none that we could name.
    A setting that is not among them has no say there (that of a log which is not written).
    """
    for promise, wanted in SETTINGS.get(protocol, {}).items():
        if all(
            settings.get(name, value).lower() == value.lower() for name, value in wanted.items()
        ):
            return promise
    return None
