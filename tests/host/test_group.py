"""Sums of processes that come and go: nothing known is lost, nothing falls."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dbdyno.host import processes
from dbdyno.host.group import ProcessGroup
from dbdyno.host.processes import TICK_US, Process, ProcessTable
from tests.host.proc import io, stat, status


def read(its: ProcessGroup, root: Path) -> dict[str, float]:
    return its.read(ProcessTable(root))


def end(root: Path, pid: int) -> None:
    for path in (root / f"proc/{pid}").iterdir():
        path.unlink()
    (root / f"proc/{pid}").rmdir()


def process(pid: int, line: str, voluntary: int, queued_ns: int = 0) -> dict[str, str]:
    folder = f"proc/{pid}"
    return {
        f"{folder}/stat": line,
        f"{folder}/status": status(voluntary, 1, private_kb=4, shared_kb=100 + pid),
        f"{folder}/schedstat": f"5 {queued_ns} 6",
        f"{folder}/io": io(pid),
    }


def test_the_sums_of_a_server(tree):
    root = tree(
        process(10, stat(1, 1, buried=2, faults=(1, 2, 3, 4)), 100, 1000)
        | process(11, stat(10, 4, 8, state="R"), 200, 2000)
        | process(12, stat(10, state="D"), 400, 4000)
        | process(13, stat(10, state="T"), 800, 8000)
        | {"proc/self/schedstat": ""}
    )
    assert read(ProcessGroup(10), root) == {
        "cpu_us": pytest.approx(15 * TICK_US, abs=1),
        "user_us": 7 * TICK_US,
        "system_us": 8 * TICK_US,
        "minor_faults": 3,
        "major_faults": 7,
        "voluntary_switches": 1500,
        "involuntary_switches": 4,
        "run_queue_us": 15,
        "count": 4,
        "running": 1,
        "waiting_for_disk": 1,
        "stopped": 1,
        "memory_bytes": (4 * 4 + 113) * 1024,
    }


def test_cpu_time_is_not_rounded_to_the_ticks_of_each_process(tree):
    root = tree(
        process(10, stat(1, 3, buried=2), 1)
        | process(11, stat(10, 1), 1)
        | process(12, stat(10, 1, threads=2), 1)
        | {"proc/11/schedstat": f"{1_900 * TICK_US} 0 1", "proc/self/schedstat": ""}
    )
    assert read(ProcessGroup(10), root)["cpu_us"] == (3 + 2 + 1.9 + 1) * TICK_US


def test_the_bytes_that_a_server_reads(tree):
    root = tree(process(10, stat(1), 1) | process(11, stat(10), 1) | {"proc/12/stat": stat(10)})
    table = ProcessTable(root)
    assert ProcessGroup(10).bytes_read(table) == {"read_bytes": 21}
    assert ProcessGroup(12).bytes_read(table) == {}  # it has ended since it was listed
    assert ProcessGroup(99).bytes_read(table) == {}


def test_a_backend_that_died_stays_in_the_sums(tree):
    root = tree(process(10, stat(1), 100) | process(11, stat(10, user=6), 50))
    server = ProcessGroup(10)
    read(server, root)
    end(root, 11)
    tree(process(10, stat(1, buried=9), 100) | process(12, stat(10, user=1), 3))
    after = read(server, root)
    assert after["user_us"] == 10 * TICK_US
    # What it did after the last reading is not known.
    assert after["voluntary_switches"] == 153
    assert after["count"] == 2


def test_a_backend_buried_while_the_others_are_read_is_not_missed(tree, monkeypatch):
    root = tree(process(10, stat(1), 0) | process(11, stat(10, user=6), 0))
    table = ProcessTable(root)
    table.listed()
    read_process = processes.read_process

    def burying(root: Path, pid: int) -> Process | None:
        if pid == 11:
            end(root, 11)
            tree(process(10, stat(1, buried=8), 0))
        return read_process(root, pid)

    monkeypatch.setattr(processes, "read_process", burying)
    assert ProcessGroup(10).read(table)["user_us"] == 8 * TICK_US


def test_a_sum_that_falls_for_a_moment_is_held(tree):
    root = tree(process(10, stat(1, user=5), 1))
    server = ProcessGroup(10)
    read(server, root)
    tree(process(10, stat(1, user=3), 1))
    assert read(server, root)["user_us"] == 5 * TICK_US


def test_another_process_of_the_same_number_is_not_the_server(tree):
    root = tree(process(10, stat(1), 1))
    server = ProcessGroup(10)
    read(server, root)
    tree(process(10, stat(1, started=78), 1))
    assert read(server, root) == {}


def test_a_group_of_several_lasts_as_long_as_one_of_them(tree):
    root = tree(process(10, stat(1, user=5, buried=2), 100) | process(20, stat(1, user=1), 10))
    tree(process(21, stat(20, user=1), 10))
    engines = ProcessGroup(10, 20)
    assert read(engines, root)["user_us"] == 9 * TICK_US
    end(root, 10)
    tree(process(20, stat(1, user=4), 10))
    after = read(engines, root)
    assert (after["user_us"], after["voluntary_switches"]) == (12 * TICK_US, 120)
    assert [its.pid for its in engines.members(ProcessTable(root))] == [20, 21]
    end(root, 20)
    assert read(engines, root) == {}
    assert engines.was_seen


def test_one_of_several_that_is_below_another_counts_once(tree):
    """Also when it has ended: the other one has waited for it."""
    root = tree(process(10, stat(1, user=1), 1) | process(11, stat(10, user=5), 1))
    engines = ProcessGroup(11, 10)
    assert (read(engines, root)["user_us"], read(engines, root)["count"]) == (6 * TICK_US, 2)
    end(root, 11)
    tree(process(10, stat(1, user=1, buried=6), 1))
    assert read(engines, root)["user_us"] == 7 * TICK_US


def test_beside_one_alone_others_count_with_their_descendants(tree):
    processes = {
        **process(10, stat(1, user=1, buried=50), 1),
        **process(11, stat(10, user=2), 1),
        **process(12, stat(10, user=4, buried=8), 1),
        **process(13, stat(12, user=16), 1),
    }
    root = tree(processes)
    own = ProcessGroup(10, 12, alone=True)
    assert (read(own, root)["user_us"], read(own, root)["count"]) == (29 * TICK_US, 3)
    end(root, 12)
    assert read(own, root)["user_us"] == 29 * TICK_US  # who waited for it counts alone


def test_the_one_alone_counts_neither_children_nor_what_it_buried(tree):
    root = tree(process(10, stat(1, user=1, buried=50), 1) | process(11, stat(10, user=2), 1))
    alone = read(ProcessGroup(10, alone=True), root)
    assert (alone["user_us"], alone["count"]) == (TICK_US, 1)


def test_all_threads_of_an_engine(tree):
    threads = {
        f"proc/10/task/{number}/status": status(number, 0, private_kb=4) for number in (10, 20)
    }
    root = tree({"proc/10/stat": stat(1, threads=2)} | threads)
    numbers = read(ProcessGroup(10), root)
    assert numbers["voluntary_switches"] == 30
    assert numbers["memory_bytes"] == 4096
    assert "run_queue_us" not in numbers  # the kernel does not report it


def test_cpu_time_of_reaped_children_remains_counted():
    own = ProcessGroup(os.getpid())
    before = own.read(ProcessTable())
    code = "import time\nwhile time.process_time() < 0.1: pass"
    subprocess.run([sys.executable, "-c", code], check=True)
    after = own.read(ProcessTable())
    used_us = sum(after[name] - before[name] for name in ("user_us", "system_us"))
    assert used_us >= 80_000
    assert after["minor_faults"] - before["minor_faults"] > 100
