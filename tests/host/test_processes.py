"""The table of processes: who there is, who belongs to whom, what they took."""

from dbdyno.host.processes import TICK_US, ProcessTable, read_process
from tests.host.proc import stat


def test_names_may_hold_blanks_and_brackets(tree):
    found = read_process(tree({"proc/10/stat": stat(1, 1, 2, name="post (gres) x")}), 10)
    assert found is not None
    assert (found.name, found.parent, found.threads, found.started) == ("post (gres) x", 1, 1, 77)
    assert found.used.user_us == TICK_US


def test_a_process_that_is_gone(tree):
    root = tree({"proc/12/stat": stat(1, 1, 1)})
    assert read_process(root, 10) is None
    assert ProcessTable(root).tree(10) == []


def test_a_server_and_all_below_it(tree):
    root = tree(
        {
            "proc/10/stat": stat(1),
            "proc/11/stat": stat(10),
            "proc/9/stat": stat(11),
            "proc/12/stat": stat(99),
            "proc/version": "not a process",
        }
    )
    assert [process.pid for process in ProcessTable(root).tree(10)] == [10, 11, 9]


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
