import pytest

from dbdyno.analysis.waits.wait_kinds import kind_of
from dbdyno.databases.postgresql.database import WAIT_KINDS
from dbdyno.servers.base import Server


@pytest.mark.parametrize(
    ("wait_type", "wait_event", "kind"),
    [
        ("", "", "cpu"),
        ("Lock", "transactionid", "lock"),
        ("LWLock", "WALWrite", "wal"),
        ("LWLock", "WALWriteLock", "wal"),
        ("IO", "WalSync", "wal"),
        ("IPC", "BufferIO", "io"),
        ("LWLock", "buffer_io", "io"),
        ("LWLock", "BufferMapping", "lwlock"),
        ("LWLock", "AioUringCompletion", "io"),
        ("IPC", "ProcarrayGroupUpdate", "lwlock"),
        ("IPC", "XactGroupUpdate", "lwlock"),
        ("IPC", "ClogGroupUpdate", "lwlock"),
        ("Timeout", "SpinDelay", "lwlock"),
        ("Timeout", "PgSleep", "other_wait"),
        ("IPC", "SyncRep", "other_wait"),
        ("Client", "ClientRead", "client_or_network"),
    ],
)
def test_what_a_wait_means(wait_type: str, wait_event: str, kind: str) -> None:
    assert kind_of(WAIT_KINDS, wait_type, wait_event) == kind


def test_all_waits_for_reads_and_writes_that_the_newest_server_has_are_known(
    embedded_server: Server,
) -> None:
    with embedded_server.connect() as connection:
        events = connection.execute("select type, name from pg_wait_events").fetchall()
    aio = [(kind, name) for kind, name in events if "Aio" in name]
    assert len(aio) >= 3
    kinds = {kind_of(WAIT_KINDS, *event) for event in aio}
    assert kinds <= {"io"}
