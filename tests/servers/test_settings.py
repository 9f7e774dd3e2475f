"""Which setting wins, for every kind of server."""

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from dbdyno.servers import groups, settings
from dbdyno.servers.settings import (
    GIB,
    Machine,
    Setting,
    choose_settings,
    connections_max,
    size_bytes,
    this_machine,
    unknown_setting,
)

DEFAULTS = [Setting("fsync", "on", "default"), Setting("jit", "on", "default")]


def test_a_durability_level_replaces_defaults_and_the_user_replaces_both() -> None:
    promised = [Setting("fsync", "off", "promised")]
    assert choose_settings(DEFAULTS, promised, {"jit": "off"}) == (
        Setting("fsync", "off", "promised"),
        Setting("jit", "off", "asked for"),
    )
    assert choose_settings(DEFAULTS, promised, {"fsync": "on"}) == (
        Setting("jit", "on", "default"),
        Setting("fsync", "on", "asked for"),
    )


def test_a_setting_has_one_spelling() -> None:
    """Rules about a setting must find it however it is written."""
    assert choose_settings(DEFAULTS, [], {"JIT": "off", "innodb-page-size": "8k"}) == (
        Setting("fsync", "on", "default"),
        Setting("jit", "off", "asked for"),
        Setting("innodb_page_size", "8k", "asked for"),
    )


def test_memory_is_the_tightest_of_all_that_limits_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(groups, "memory_limit_bytes", lambda: 2**20)
    assert this_machine(tmp_path).memory_bytes == 2**20
    assert this_machine(tmp_path, 2**19).memory_bytes == 2**19
    monkeypatch.setattr(groups, "memory_limit_bytes", lambda: None)
    assert this_machine(tmp_path).memory_bytes > 2**20


def test_the_servers_of_one_command_get_the_same_log_whatever_the_first_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "_FREE_BYTES", {})
    for free_gib in (90, 30):
        free = SimpleNamespace(free=free_gib * GIB)
        monkeypatch.setattr(shutil, "disk_usage", lambda _folder, free=free: free)
        assert this_machine(tmp_path).log_bytes(least=GIB, most=16 * GIB) == 8 * GIB


@pytest.mark.parametrize(
    ("free_gib", "log_gib"),
    [(0, 1), (19, 1), (20, 2), (59, 4), (61, 4), (159, 8), (160, 16), (900, 16)],
)
def test_logs_have_few_sizes(free_gib: int, log_gib: int) -> None:
    machine = Machine(memory_bytes=GIB, disk_free_bytes=free_gib * GIB)
    assert machine.log_bytes(least=GIB, most=16 * GIB) == log_gib * GIB


def test_every_client_finds_a_connection() -> None:
    assert connections_max(8, least=100).value == "100"
    assert connections_max(500, least=100).value == "520"


@pytest.mark.parametrize(
    ("written", "size"),
    [
        ("4GB", 4 << 30),
        ("64M", 64 << 20),
        ("64m", 64 << 20),
        ("1.5 kB", 1536),
        ("134217728B", 1 << 27),
        ("16384", 1 << 27),
        ("half", 0),
    ],
)
def test_sizes_are_read_as_servers_read_them(written: str, size: int) -> None:
    assert size_bytes(written, bare_unit_bytes=8192) == size


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("shared_bufers", "did you mean shared_buffers?"),
        ("fsink", "did you mean fsync?"),
        ("full_page_writes", "server --help lists them all"),
    ],
)
def test_only_a_setting_of_a_really_similar_name_is_suggested(name: str, hint: str) -> None:
    known = ["fsync", "shared_buffers", "slave_parallel_workers"]
    assert unknown_setting("The server", name, known, "server --help").hint == hint
