"""A server that says nothing is checked for its presence: one that works, one that is frozen."""

from collections.abc import Iterator
from functools import partial

import pytest

from dbdyno.databases.connecting import open_connection
from dbdyno.databases.postgresql.server.binaries import local_binaries
from dbdyno.databases.postgresql.server_errors import understood
from dbdyno.errors import DbdynoError
from dbdyno.run.silence import Presence
from dbdyno.workloads.loading import LoadProgress
from tests.engine.postgres import Postgres
from tests.support.patience import wait_until

SOON_S = 0.2


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    server = Postgres(local_binaries()[0].folder)
    yield server
    server.remove()


@pytest.fixture
def connect(server: Postgres):
    """Opens control connections; libpq's shortest timeout is two seconds."""
    url = f"postgresql://postgres@/postgres?host={server.folder}&port={server.port}"
    return partial(open_connection, f"{url}&connect_timeout=2")


def filled(rows: int) -> LoadProgress:
    return LoadProgress("fill", rows, 10, 1.0, None)


def test_a_server_that_works_is_waited_for(connect):
    with connect() as control, Presence(connect, control, SOON_S):
        assert control.execute("select pg_sleep(5 * 0.2), 'done'").fetchone()[1] == "done"


def test_one_without_room_is_there_all_the_same(connect):
    def refused():
        raise DbdynoError("too_many_connections", "sorry, too many clients already")

    with connect() as control, Presence(refused, control, SOON_S):
        assert control.execute("select pg_sleep(5 * 0.2), 'done'").fetchone()[1] == "done"


@pytest.fixture
def frozen(server: Postgres, connect):
    """A control connection to a server that has been frozen since."""
    with connect() as control:
        server.freeze()
        yield control
        server.thaw()


def asking(connect, control):
    with Presence(connect, control, SOON_S), understood("vacuum"):
        control.execute("select 1")


def loading(connect, control):
    with Presence(connect, control, SOON_S) as presence:
        wait_until(lambda: presence.loading(filled(rows=5)), "the end of the load")


def test_a_question_to_a_frozen_server_ends(connect, frozen):
    with pytest.raises(DbdynoError, match="stopped responding") as caught:
        asking(connect, frozen)
    assert caught.value.code == "server_silent"
    assert "--replace" in caught.value.hint


def test_a_load_that_a_frozen_server_takes_no_more_of_ends(connect, frozen):
    with pytest.raises(DbdynoError, match="stopped responding"):
        loading(connect, frozen)


def test_a_server_that_receives_rows_is_not_queried(connect):
    queries = []

    def query():
        queries.append(1)
        return connect()

    # Longer than any row takes on a busy machine, and shorter than all of them together.
    with connect() as control, Presence(query, control, 2.0) as presence:
        for rows in range(25):
            presence.loading(filled(rows))
            control.execute("select pg_sleep(0.1)")
    assert queries == []
