"""Which server a command uses, determined before there is one."""

from functools import partial

import pytest

from dbdyno.databases.adapter import FreeConnections
from dbdyno.errors import DbdynoError
from dbdyno.run.connected_server import refuse_too_many
from dbdyno.run.job import check
from dbdyno.run.options.grammar import WeightedName
from dbdyno.run.options.run_options import RunOptions
from dbdyno.run.plan import refuse_contradictions
from dbdyno.run.target import choose_server
from dbdyno.run.tools import engine_tools


@pytest.mark.parametrize(
    ("options", "protocol"),
    [
        (RunOptions(), "postgresql"),
        (RunOptions(server="postgres:17,jit=off"), "postgresql"),
        (RunOptions(server="mariadb"), "mysql"),
        (RunOptions(server="mysql:/opt/mysql"), "mysql"),
        (RunOptions(target="mysql://u@h/d"), "mysql"),
        (RunOptions(target="MariaDB://u@h/d"), "mysql"),
        (RunOptions(target="postgres://u@h/d"), "postgresql"),
        (RunOptions(target="host=h user=u"), "postgresql"),
    ],
)
def test_the_protocol_is_known_beforehand(options: RunOptions, protocol: str) -> None:
    server = choose_server(options)
    assert server.protocol == protocol
    assert server.is_passing == (options.target is None)


def test_a_kept_server_must_be_there(home) -> None:
    with pytest.raises(DbdynoError, match="no server is named 'bench'"):
        _ = choose_server(RunOptions(server="bench")).protocol


@pytest.mark.parametrize(
    "given", [{"durability": "none"}, {"settings": (("fsync", "off"),)}], ids=["promise", "setting"]
)
def test_a_running_server_is_not_set(given) -> None:
    with pytest.raises(DbdynoError, match="which is already running"):
        choose_server(RunOptions(server="bench", **given))


@pytest.mark.parametrize("target", ["mysql://u:hush@h/d", "host=h user=u password=hush"])
def test_a_running_server_is_not_placed_and_its_password_is_not_shown(target: str) -> None:
    with pytest.raises(DbdynoError, match="cannot be placed") as caught:
        choose_server(RunOptions(target=target, server_cores=1.0))
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize("scheme", ["postgresql", "mysql", "odbc"])
def test_a_url_in_the_place_of_a_server_is_not_quoted(scheme: str) -> None:
    with pytest.raises(DbdynoError, match="--server does not take a URL") as caught:
        choose_server(RunOptions(server=f"{scheme}://u:hush@h/d"))
    assert "hush" not in str(caught.value)


def test_durability_levels_are_only_for_private_servers() -> None:
    with pytest.raises(DbdynoError, match="is only for private servers"):
        refuse_contradictions(RunOptions(target="postgresql://h/d", durability="none"))


def test_the_extended_protocol_is_postgresqls() -> None:
    checked = partial(check, [WeightedName("select-only", 1)], tools=engine_tools(), say=print)
    checked(RunOptions(query_mode="extended"))
    checked(RunOptions(query_mode="prepared", server="mariadb"))
    with pytest.raises(DbdynoError, match="-M extended is not available"):
        checked(RunOptions(query_mode="extended", server="mariadb"))


def test_connections_that_were_just_closed_are_waited_for() -> None:
    """Sessions that were closed a moment ago are still counted, including our own."""
    counts = iter([6, 7, 8])
    refuse_too_many(8, lambda: FreeConnections(next(counts), "", ""))
    assert next(counts, None) is None
