"""One durability level, with its settings on every kind of server side by side."""

from inline_snapshot import snapshot

from dbdyno.databases.postgresql.database import DATABASE
from dbdyno.servers.product import promised_settings, settings_by_level
from dbdyno.servers.settings import Setting


def test_the_durability_level_is_reported_for_every_kind() -> None:
    assert "\n".join(settings_by_level("relaxed")) == snapshot(
        """\
durability relaxed: a crash of the host may lose the last second of commits, but corrupts nothing
  MariaDB and MySQL  innodb_flush_log_at_trx_commit=2, sync_binlog=0, innodb_doublewrite=ON
                     after a crash of the host, a binary log may end before InnoDB's log
  PostgreSQL         fsync=on, synchronous_commit=off, full_page_writes=on\
"""
    )


def test_nothing_is_set_unasked() -> None:
    assert promised_settings(DATABASE, None) == []
    assert Setting("fsync", "off", "durability none") in promised_settings(DATABASE, "none")
