"""The table of processes: who there is, who belongs to whom, what they took."""

import subprocess
import sys

from dbdyno.host.processes import TICK_US, ProcessTable, cpu_us, read_process
from tests.host.proc import stat


def test_names_may_hold_blanks_and_brackets(tree):
    found = read_process(tree({"proc/10/stat": stat(1, 1, 2, name="post (gres) x")}), 10)
    assert found is not None
    assert (found.name, found.parent, found.threads, found.started) == ("post (gres) x", 1, 1, 77)
    assert found.used.user_us == TICK_US


def test_a_process_that_is_gone(tree):
    root = tree({"proc/12/stat": stat(1, 1, 1)})
    assert read_process(root, 10) is None
    assert cpu_us(10, root) is None


def test_a_server_all_below_it_and_those_that_ended(tree):
    root = tree(
        {
            "proc/10/stat": stat(1, 1, 2, buried=4),
            "proc/11/stat": stat(10, 8, 16),
            "proc/9/stat": stat(11, 32),
            "proc/12/stat": stat(99, 1000, 1000),
            "proc/version": "not a process",
        }
    )
    assert [process.pid for process in ProcessTable(root).tree(10)] == [10, 11, 9]
    assert cpu_us(10, root) == 63 * TICK_US


def test_two_who_ask_within_a_moment_share_one_reading(tree):
    root = tree({"proc/10/stat": stat(1)})
    now = [100.0]
    table = ProcessTable(root, lambda: now[0])
    assert set(table.now()) == {10}
    tree({"proc/11/stat": stat(10)})
    assert set(table.now()) == {10}
    assert set(table.now(fresh=True)) == {10, 11}
    tree({"proc/12/stat": stat(10)})
    now[0] += 1
    assert set(table.now()) == {10, 11, 12}


def test_a_real_process_that_works():
    code = "x = 0\nwhile True: x += 1"
    with subprocess.Popen([sys.executable, "-c", code]) as process:
        while (spent := cpu_us(process.pid)) == 0:
            pass
        process.kill()
    assert spent is not None
    assert spent > 0
