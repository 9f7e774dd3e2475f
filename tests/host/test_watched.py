"""The real machine: what a child does is seen by its name, in its group, under its quota."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dbdyno.host.sources import busiest, control_group, processes
from dbdyno.host.watched import watch

QUOTAS = Path("/sys/fs/cgroup/cpu")
BURN = "while True: pass"


@contextmanager
def burning() -> Iterator[int]:
    with subprocess.Popen([sys.executable, "-c", BURN]) as child:
        try:
            yield child.pid
        finally:
            child.kill()


def cpu_us(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) * 1_000_000 // os.sysconf("SC_CLK_TCK")


def wait_until_burnt(pid: int, us: int) -> None:
    """However busy the machine is: the child has had so much processor time."""
    wanted = cpu_us(pid) + us
    while cpu_us(pid) < wanted:
        time.sleep(0.02)


def test_a_burner_is_seen_as_the_server_it_is_said_to_be_or_as_somebody_else():
    with burning() as pid:
        stranger, server = watch(None, None, []), watch(pid, None, [])
        name = f"{Path(f'/proc/{pid}/comm').read_text().strip()}/{pid}"
        before = busiest.read(stranger)[name]["cpu_us"]
        used = processes.read(server)["server"]
        assert name not in busiest.read(server)
        wait_until_burnt(pid, 200_000)
        assert busiest.read(stranger)[name]["cpu_us"] - before >= 190_000
        grown = processes.read(server)["server"]["user_us"] - used["user_us"]
        assert 190_000 <= grown <= cpu_us(pid)


def test_a_stopped_server_is_seen_to_stand():
    with burning() as pid:
        server = watch(pid, None, [])
        os.kill(pid, 19)
        deadline = time.monotonic() + 5
        while not processes.read(server)["server"]["stopped"]:
            assert time.monotonic() < deadline


@contextmanager
def quota(cores: float) -> Iterator[Path]:
    folder = QUOTAS / f"dbdyno-test-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError:
        pytest.skip("control groups of version 1 cannot be made here; made-up ones are tested")
    try:
        (folder / "cpu.cfs_quota_us").write_text(str(int(cores * 100_000)))
        yield folder
    finally:
        while (folder / "cgroup.procs").read_text():
            time.sleep(0.01)
        folder.rmdir()


def test_a_server_cut_short_by_a_quota_is_seen():
    with quota(0.2) as folder, burning() as pid:
        server = watch(pid, None, [])
        (folder / "cgroup.procs").write_text(str(pid))
        before = control_group.read(server)["server"]
        time.sleep(0.35)
        after = control_group.read(server)["server"]
    assert after["limit_cores"] == 0.2
    assert after["throttled_periods"] - before["throttled_periods"] >= 2
    assert after["throttled_us"] - before["throttled_us"] > 50_000
    assert after["usage_us"] > before["usage_us"]
