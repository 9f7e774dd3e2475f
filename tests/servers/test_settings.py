import pytest

from dbdyno.errors import DbdynoError
from dbdyno.servers.binaries import embedded_binaries
from dbdyno.servers.settings import (
    GIB,
    Machine,
    Setting,
    check_settings,
    choose_settings,
    configuration_text,
    known_settings,
)

MACHINE = Machine(memory_bytes=32 * GIB, disk_free_bytes=500 * GIB)


def as_dict(settings: tuple[Setting, ...]) -> dict[str, str]:
    return {setting.name: setting.value for setting in settings}


def test_settings_follow_the_machine() -> None:
    chosen = as_dict(choose_settings(MACHINE, connections=8, overrides={}))
    assert chosen["shared_buffers"] == "8192MB"
    assert chosen["max_wal_size"] == "16GB"
    assert chosen["max_connections"] == "100"


def test_a_small_disk_bounds_the_log() -> None:
    small = Machine(memory_bytes=GIB, disk_free_bytes=30 * GIB)
    assert as_dict(choose_settings(small, 8, {}))["max_wal_size"] == "3GB"


def test_every_client_finds_a_connection() -> None:
    assert as_dict(choose_settings(MACHINE, 500, {}))["max_connections"] == "520"


def test_what_was_asked_for_replaces_ours() -> None:
    chosen = choose_settings(MACHINE, 8, {"shared_buffers": "1GB"})
    values = [setting for setting in chosen if setting.name == "shared_buffers"]
    assert values == [Setting("shared_buffers", "1GB", "asked for")]


def test_durability_is_left_alone() -> None:
    chosen = as_dict(choose_settings(MACHINE, 8, {}))
    assert not {"fsync", "synchronous_commit", "full_page_writes", "wal_level"} & chosen.keys()


def test_the_log_can_be_read_and_costs_nothing_while_nothing_happens() -> None:
    chosen = as_dict(choose_settings(MACHINE, 8, {}))
    assert chosen["log_checkpoints"] == "on"
    assert (chosen["log_line_prefix"], chosen["log_timezone"]) == ("%m [%p] ", "UTC")
    assert chosen["lc_messages"] == "C"
    assert not {"log_statement", "log_duration", "log_lock_waits"} & chosen.keys()


def test_an_unknown_setting_names_the_nearest() -> None:
    postgres = embedded_binaries()[0].postgres
    with pytest.raises(DbdynoError) as caught:
        check_settings(postgres, (Setting("shared_bufers", "1GB", ""),))
    assert caught.value.code == "unknown_setting"
    assert "shared_buffers" in caught.value.hint


def test_a_bad_value_is_told_in_the_servers_words() -> None:
    postgres = embedded_binaries()[0].postgres
    with pytest.raises(DbdynoError, match='"shared_buffers": "banana"'):
        check_settings(postgres, (Setting("shared_buffers", "banana", ""),))


def test_settings_for_developers_and_extensions_pass() -> None:
    """The documented list lacks them; the server itself knows better."""
    values = {"zero_damaged_pages": "on", "auto_explain.log_min_duration": "5"}
    postgres = embedded_binaries()[0].postgres
    assert "zero_damaged_pages" not in known_settings(postgres)
    check_settings(postgres, tuple(Setting(name, value, "") for name, value in values.items()))


def test_values_cannot_break_out_of_the_configuration() -> None:
    text = configuration_text((Setting("cluster_name", "it's\nfsync = off", "why"),))
    assert text == "cluster_name = 'it''s\\nfsync = off'  # why\n"
