"""The real host: what a child does appears under its name, in its group, under its quota."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dbdyno.host.observed_host import observe
from dbdyno.host.sources import busiest, control_group, processes
from dbdyno.servers.groups import make_groups, remove_groups
from tests.support.patience import wait_until
from tests.support.program import Program
from tests.support.rights import control_groups

BURN = "while True: pass"


@contextmanager
def burning() -> Iterator[int]:
    with Program([sys.executable, "-c", BURN]) as child:
        try:
            yield child.pid
        finally:
            child.kill()


def user_us(pid: int) -> int:
    """Return the user time, without system time, which is large at its start and on a slow host."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) * 1_000_000 // os.sysconf("SC_CLK_TCK")


def test_a_burner_counts_as_the_given_server_or_else_as_another_process():
    with burning() as pid:
        stranger, server = observe(None, [], []), observe(pid, [], [])
        name = f"{Path(f'/proc/{pid}/comm').read_text().strip()}/{pid}"
        before = busiest.read(stranger)[name]["cpu_us"]
        used = processes.read(server)["server"]
        assert name not in busiest.read(server)
        wanted_us = user_us(pid) + 200_000
        wait_until(lambda: user_us(pid) >= wanted_us, "200 ms of a processor")
        grown = processes.read(server)["server"]["user_us"] - used["user_us"]
        assert 190_000 <= grown <= user_us(pid)
        # Read repeatedly: among many other busy processes its 200 ms may take seconds.
        wait_until(
            lambda: busiest.read(stranger)[name]["cpu_us"] - before >= 190_000, "somebody else"
        )


def test_a_stopped_server_is_seen_to_stand():
    with burning() as pid:
        server = observe(pid, [], [])
        assert processes.read(server)["server"]["stopped"] == 0
        os.kill(pid, signal.SIGSTOP)
        wait_until(lambda: processes.read(server)["server"]["stopped"] == 1, "its stop")


@contextmanager
def quota(cores: float) -> Iterator[Path]:
    """Create a group with this limit, in the version that exists; yield its file of members."""
    (group,) = made = make_groups(cores, None)
    members = Path(group.folder, "cgroup.procs")
    try:
        yield members
    finally:
        wait_until(lambda: not members.read_text(), "the end of those in the group")
        remove_groups(made)


@control_groups
def test_a_server_cut_short_by_a_quota_is_seen():
    with quota(0.05) as members, burning() as pid:
        server = observe(pid, [], [])
        members.write_text(str(pid))
        before = control_group.read(server)["server"]

        def grown(name: str) -> float:
            return control_group.read(server)["server"][name] - before[name]

        assert before["limit_cores"] == 0.05
        wait_until(lambda: grown("throttled_periods") >= 3, "three throttled periods")
        assert grown("periods") >= 3
        assert grown("throttled_us") > 3000
        assert grown("usage_us") > 5000
