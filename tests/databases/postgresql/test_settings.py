import pytest

from dbdyno.databases.durability import UNLOGGED_TABLES, lost_max_ms, promise_of
from dbdyno.databases.postgresql.database import DATABASE
from dbdyno.databases.postgresql.server.binaries import embedded_binaries
from dbdyno.databases.postgresql.server.settings import (
    check_settings,
    choose_settings,
    configuration_text,
    known_settings,
)
from dbdyno.errors import DbdynoError
from dbdyno.servers.settings import GIB, Machine, Setting

MACHINE = Machine(memory_bytes=32 * GIB, disk_free_bytes=500 * GIB)


def chosen(machine: Machine = MACHINE, connections: int = 8) -> dict[str, str]:
    settings = choose_settings(machine, connections, embedded_binaries()[0])
    return {setting.name: setting.value for setting in settings}


def test_settings_follow_the_machine() -> None:
    settings = chosen()
    assert settings["shared_buffers"] == "8192MB"
    assert settings["max_wal_size"] == "16GB"
    assert settings["max_connections"] == "100"


def test_a_small_disk_bounds_the_log() -> None:
    small = Machine(memory_bytes=GIB, disk_free_bytes=30 * GIB)
    assert chosen(small)["max_wal_size"] == "2GB"


def test_every_client_finds_a_connection() -> None:
    assert chosen(connections=500)["max_connections"] == "520"


def test_durability_is_left_alone() -> None:
    assert not {"fsync", "synchronous_commit", "full_page_writes", "wal_level"} & chosen().keys()


def test_the_log_can_be_read_and_costs_nothing_while_nothing_happens() -> None:
    settings = chosen()
    assert settings["log_checkpoints"] == "on"
    assert (settings["log_line_prefix"], settings["log_timezone"]) == ("%m [%p] ", "UTC")
    assert settings["lc_messages"] == "C"
    assert not {"log_statement", "log_duration", "log_lock_waits"} & settings.keys()


def test_an_unknown_setting_names_the_nearest() -> None:
    with pytest.raises(DbdynoError) as caught:
        check_settings(embedded_binaries()[0], (Setting("shared_bufers", "1GB", ""),))
    assert caught.value.code == "unknown_setting"
    assert "shared_buffers" in caught.value.hint


def test_a_bad_value_is_reported_in_the_servers_words() -> None:
    with pytest.raises(DbdynoError, match='"shared_buffers": "banana"'):
        check_settings(embedded_binaries()[0], (Setting("shared_buffers", "banana", ""),))


@pytest.mark.parametrize("name", ["listen_addresses", "port", "data_directory"])
def test_where_a_private_server_is_cannot_be_set(name: str) -> None:
    """Once it was accepted and recorded, but the server listened where it always does."""
    with pytest.raises(DbdynoError, match=f"{name} cannot be set") as caught:
        check_settings(embedded_binaries()[0], (Setting(name, "127.0.0.1", ""),))
    assert caught.value.code == "bad_setting"
    assert "--target" in caught.value.hint


def test_settings_for_developers_and_extensions_pass() -> None:
    """The documented list lacks them, but the server itself knows them."""
    values = {"zero_damaged_pages": "on", "auto_explain.log_min_duration": "5"}
    assert "zero_damaged_pages" not in known_settings(embedded_binaries()[0].server)
    check_settings(
        embedded_binaries()[0], tuple(Setting(name, value, "") for name, value in values.items())
    )


def test_values_cannot_break_out_of_the_configuration() -> None:
    text = configuration_text((Setting("cluster_name", "it's\nfsync = off", "why"),))
    assert text == "cluster_name = 'it''s\\nfsync = off'  # why\n"


@pytest.mark.parametrize(
    ("value", "promise"),
    [
        ("on", "full"),
        ("local", "full"),
        ("remote_write", "full"),
        ("remote_apply", "full"),
        ("off", "relaxed"),
    ],
)
def test_waiting_for_more_or_less_than_the_own_disk_is_as_durable_there(
    value: str, promise: str
) -> None:
    settings = {"fsync": "on", "synchronous_commit": value, "full_page_writes": "on"}
    assert promise_of(DATABASE, settings) == promise
    assert promise_of(DATABASE, {**settings, **UNLOGGED_TABLES}) == "none"
    assert promise_of(DATABASE, {**settings, "full_page_writes": "off"}) == "none"


@pytest.mark.parametrize(("delay_ms", "lost_ms"), [("200", 1000), ("10000", 30_400), ("", 1000)])
def test_what_may_be_lost_is_three_delays_and_a_moment(delay_ms: str, lost_ms: float) -> None:
    assert lost_max_ms(DATABASE, "relaxed", {"wal_writer_delay": delay_ms}) == lost_ms


def test_each_level_has_the_settings_by_which_it_is_set() -> None:
    for promise, settings in DATABASE.durability.items():
        assert promise_of(DATABASE, settings) == promise
