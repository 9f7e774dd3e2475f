"""Metadata locks of MySQL: which modes conflict, and that a wait for one is a wait for a lock."""

import pytest

from dbdyno.databases.mysql.telemetry.locks import conflicts
from dbdyno.databases.mysql.telemetry.sessions import sessions_of

MODES = (
    "SHARED_READ", "SHARED_WRITE", "SHARED_UPGRADABLE", "SHARED_READ_ONLY", "SHARED_NO_WRITE",
    "SHARED_NO_READ_WRITE", "EXCLUSIVE",
)  # fmt: skip


@pytest.mark.parametrize(
    ("held", "waiting"),
    [
        ("SHARED_READ", MODES[5:]),
        ("SHARED_WRITE", MODES[3:]),
        ("SHARED_UPGRADABLE", ("SHARED_UPGRADABLE", *MODES[4:])),
        ("SHARED_READ_ONLY", ("SHARED_WRITE", *MODES[5:])),
        ("SHARED_NO_WRITE", ("SHARED_WRITE", "SHARED_UPGRADABLE", *MODES[4:])),
        ("EXCLUSIVE", MODES),
    ],
)
def test_modes_conflict_as_in_the_servers_matrix(held: str, waiting: tuple[str, ...]) -> None:
    assert tuple(mode for mode in MODES if conflicts(held, mode)) == waiting


def test_a_wait_for_a_table_definition_is_one_for_a_lock_however_the_server_waits() -> None:
    """The instrument of the wait is on by default, or with all of them."""
    stage = "Waiting for table metadata lock"
    listed = [(1, "Query", stage, "update t set v = 1", 11, 21)]
    recorded = [(21, 5, "wait/lock/metadata/sql/mdl", "metadata lock")]
    (alone,) = sessions_of(listed, [], [])
    (beside,) = sessions_of(listed, [], recorded)
    assert alone.wait_type == "Lock"
    assert (beside.wait_type, beside.wait_event) == (alone.wait_type, alone.wait_event)
