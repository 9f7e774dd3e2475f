"""The durability levels, and the settings by which each database provides them.

A level says what survives, in the same words for every database. A database that can only provide
more than a level promises, provides more.
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
    # The binary log, if it is enabled, is as durable as the redo log.
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
    """Return the settings for a durability level."""
    return SETTINGS[protocol][promise]


def promise_of(protocol: str, settings: Mapping[str, str]) -> Promise | None:
    """Return the durability level of a server with these settings; None for a mixture.

    A database whose settings are not known here has no level. A setting that is missing does not
    count (for example that of a log which is not written).
    """
    for promise, wanted in SETTINGS.get(protocol, {}).items():
        if all(
            settings.get(name, value).lower() == value.lower() for name, value in wanted.items()
        ):
            return promise
    return None
