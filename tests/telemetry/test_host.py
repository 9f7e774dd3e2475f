"""The host's numbers for a real server: nothing is lost of backends that have exited."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from dbdyno.host.cgroup import groups_of
from dbdyno.host.observed_host import observe
from dbdyno.host.sources import disk, process_io, processes
from dbdyno.model.source import Source
from dbdyno.servers.base import Server
from tests.support.patience import wait_until
from tests.support.rights import control_groups

BUSY = "select count(*) from generate_series(1, 2000000) n where n % 7 = 3"


def test_expensive_readings_are_spaced():
    source = Source[None](name="x", read=lambda _: {}, every_s=2.0)
    assert source.next_in_s(0.001) == 2.0
    assert source.next_in_s(0.03) == pytest.approx(0.03 / source.share_max)


def test_cpu_time_of_ended_backends_remains_counted(any_server: Server):
    assert any_server.process_id is not None
    assert any_server.data_directory is not None
    host = observe(any_server.process_id, [], [any_server.data_directory])
    before = processes.read(host)["server"]
    with any_server.connect() as connection:
        connection.execute(BUSY)
        backend = connection.info.backend_pid
        at_work = {
            process.pid for process in host.processes.tree(any_server.process_id, fresh=True)
        }
    assert backend in at_work
    wait_until(lambda: not host.processes.listed(fresh=True).get(backend), "the backend's end")
    after = processes.read(host)["server"]
    # The parent had reaped it before it was read.
    assert after["user_us"] - before["user_us"] > 20_000
    assert after["minor_faults"] - before["minor_faults"] > 100
    assert after["memory_bytes"] > 2**20


def test_the_disk_of_a_server_is_found_or_the_reason_reported(any_server: Server):
    assert any_server.data_directory is not None
    host = observe(any_server.process_id, [], [any_server.data_directory])
    assert disk.read(host) or disk.lack(host)
    assert "server" in process_io.read(host) or process_io.lack(host)


@contextmanager
def account_of(pid: int) -> Iterator[Path]:
    """Create a group in which the kernel adds up the CPU time of a process and all its descendants.

    It needs no controller: version 2 counts this for every group.
    """
    home = groups_of(Path("/"), pid).above("cpuacct")[0]
    folder = home / f"dbdyno-test-{os.getpid()}"
    folder.mkdir()
    try:
        move(folder, str(pid), *Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
        yield folder
    finally:
        while pids := (folder / "cgroup.procs").read_text().split():
            move(home, *pids)
        folder.rmdir()


def used_us(account: Path) -> float:
    with suppress(FileNotFoundError):
        return int((account / "cpuacct.usage").read_text()) / 1000
    used = dict(line.split() for line in (account / "cpu.stat").read_text().splitlines())
    return int(used["usage_usec"])


def move(group: Path, *pids: str) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):  # it has ended meanwhile
            (group / "cgroup.procs").write_text(pid)


@control_groups
def test_processor_time_agrees_with_the_kernels_account_while_backends_come_and_go(
    postgres_server: Server,
):
    assert postgres_server.process_id is not None
    host = observe(postgres_server.process_id, [], [])

    def own_us() -> float:
        return processes.read(host)["server"]["cpu_us"]

    with account_of(postgres_server.process_id) as account:
        kernels_before_us = used_us(account)
        before_us = own_us()
        for _ in range(12):
            with postgres_server.connect() as connection:
                connection.execute(BUSY.replace("2000000", "500000"))
        host.processes.listed(fresh=True)
        grown_us = own_us() - before_us
        kernels_us = used_us(account) - kernels_before_us
    assert grown_us == pytest.approx(kernels_us, rel=0.1, abs=50_000)
