"""Updates of a part of a large table, each with a read of all of it."""

import pytest

from dbdyno.servers.base import Server
from tests.workloads.test_runs import run

CHANGED = "select count(*), max(id) from test where crt_time > (select min(crt_time) from test)"


@pytest.mark.parametrize("kind", ["postgres_server", "mariadb_server"])
def test_updates_keep_to_the_hot_rows(
    request: pytest.FixtureRequest, new_database, kind: str
) -> None:
    server: Server = new_database(request.getfixturevalue(kind))
    words = ("-D", "rows=2000", "-D", "operation=update", "-D", "hot_rows=5")
    record = run(server, "volume", *words)
    assert record["transactions"]["ok"] == 160
    assert record["failures"] == []
    with server.connect() as connection:
        assert connection.execute(CHANGED).fetchone() == (5, 5)
