"""Which server a command uses, determined before there is one."""

import pytest

from dbdyno.errors import DbdynoError
from dbdyno.run.options import RunOptions, TargetOptions
from dbdyno.run.plan import refuse_contradictions
from dbdyno.run.refusals import refuse_too_many, refuse_unknown_mode
from dbdyno.run.target import is_passing, open_server, protocol_of
from dbdyno.targets.base import FreeConnections


@pytest.mark.parametrize(
    ("options", "protocol"),
    [
        (TargetOptions(), "postgresql"),
        (TargetOptions(server="postgres:17,jit=off"), "postgresql"),
        (TargetOptions(server="mariadb"), "mysql"),
        (TargetOptions(server="mysql:/opt/mysql"), "mysql"),
        (TargetOptions(target="mysql://u@h/d"), "mysql"),
        (TargetOptions(target="MariaDB://u@h/d"), "mysql"),
        (TargetOptions(target="postgres://u@h/d"), "postgresql"),
        (TargetOptions(target="host=h user=u"), "postgresql"),
    ],
)
def test_the_protocol_is_known_beforehand(options: TargetOptions, protocol: str) -> None:
    assert protocol_of(options) == protocol
    assert is_passing(options) == (options.target is None)


def test_a_kept_server_must_be_there(home) -> None:
    with pytest.raises(DbdynoError, match="no server is named 'bench'"):
        protocol_of(TargetOptions(server="bench"))


@pytest.mark.parametrize(
    "given", [{"durability": "none"}, {"settings": (("fsync", "off"),)}], ids=["promise", "setting"]
)
def test_a_running_server_is_not_set(given) -> None:
    with pytest.raises(DbdynoError, match="which is already running"):
        open_server(TargetOptions(server="bench", **given), clients=1)


@pytest.mark.parametrize("target", ["mysql://u:hush@h/d", "host=h user=u password=hush"])
def test_a_running_server_is_not_placed_and_its_password_is_not_shown(target: str) -> None:
    with pytest.raises(DbdynoError, match="cannot be placed") as caught:
        open_server(RunOptions(target=target, server_cores=1.0), clients=1)
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize("scheme", ["postgresql", "mysql", "odbc"])
def test_a_url_in_the_place_of_a_server_is_not_quoted(scheme: str) -> None:
    with pytest.raises(DbdynoError, match="--server does not take a URL") as caught:
        protocol_of(TargetOptions(server=f"{scheme}://u:hush@h/d"))
    assert "hush" not in str(caught.value)


def test_durability_levels_are_only_for_private_servers() -> None:
    with pytest.raises(DbdynoError, match="is only for private servers"):
        refuse_contradictions(RunOptions(target="postgresql://h/d", durability="none"))


def test_the_extended_protocol_is_postgresqls() -> None:
    refuse_unknown_mode("extended", "postgresql")
    refuse_unknown_mode("prepared", "mysql")
    with pytest.raises(DbdynoError, match="-M extended is not available"):
        refuse_unknown_mode("extended", "mysql")


def test_connections_that_were_just_closed_are_waited_for() -> None:
    """Sessions that were closed a moment ago are still counted, including our own."""
    counts = iter([6, 7, 8])
    refuse_too_many(8, lambda: FreeConnections(next(counts), "", ""))
    assert next(counts, None) is None
