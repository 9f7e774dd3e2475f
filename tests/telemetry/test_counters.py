"""Each counter that analyses and rules read is one that a source reports, by that name."""

import pytest

from dbdyno.host.observed_host import all_sources
from dbdyno.model.counters import (
    COUNTERS,
    PgIo,
    PgStatements,
    PgUserTables,
    PgWal,
    Progress,
    Replication,
)
from dbdyno.run.connected_server import connect_to
from dbdyno.servers.base import Server
from dbdyno.store.run import RunFolder
from tests.explain.make_golden import GOLDEN

NOT_YET = {PgWal.wal_fpi_bytes, Progress.total, Replication.lag_bytes, Replication.replay_lag_s}
"""Of PostgreSQL 19; of a vacuum that lasts for longer than those of the golden runs; and of
standbys, which these runs do not have."""
NEWER = {PgUserTables.n_tup_newpage_upd} | {
    counter for counter in COUNTERS if counter.source in {PgIo.source, PgStatements.source}
}
"""What the PostgreSQL of the golden runs lacks: younger views, and an extension."""


def test_a_server_or_a_host_has_reported_it():
    declared = {
        (source.name, name) for source in all_sources().values() for name in source.counters
    }
    reported = declared | {
        (source, name)
        for folder in GOLDEN.iterdir()
        for table in (RunFolder(folder).columns("counters"), RunFolder(folder).columns("levels"))
        for source, name in zip(table["source"].tolist(), table["name"].tolist(), strict=True)
    }
    assert len(COUNTERS) > 100
    assert {tuple(counter) for counter in COUNTERS} - reported == NEWER | NOT_YET


@pytest.mark.parametrize("counter", sorted(NEWER), ids=".".join)
def test_the_newest_server_has_it(counter, embedded_server: Server):
    with connect_to(embedded_server) as connected:
        connection = connected.control
        if counter.source == PgStatements.source:
            connection.execute("create extension if not exists pg_stat_statements")
        row = connection.execute(
            "select count(*) from pg_attribute where attrelid = to_regclass(%s) and attname = %s",
            counter,
        ).fetchone()
    assert row == (1,)
