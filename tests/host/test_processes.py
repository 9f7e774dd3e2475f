"""The table of processes: which exist, their parents and children, and what they used."""

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


def test_two_readers_at_the_same_time_share_one_list(tree):
    root = tree({"proc/10/stat": stat(1)})
    now = [100.0]
    table = ProcessTable(root, lambda: now[0])
    assert set(table.listed()) == {10}
    tree({"proc/11/stat": stat(10)})
    assert set(table.listed()) == {10}
    assert set(table.listed(fresh=True)) == {10, 11}
    tree({"proc/12/stat": stat(10)})
    now[0] += 1
    assert set(table.listed()) == {10, 11, 12}


def test_processes_are_read_again_on_request(tree):
    root = tree({f"proc/{pid}/stat": stat(1) for pid in (10, 11, 12)})
    table = ProcessTable(root)
    listed = list(table.listed().values())
    (root / "proc/11/stat").unlink()
    tree({"proc/10/stat": stat(1, user=3), "proc/12/stat": stat(1, started=78)})
    # One has ended, and the number of another has been reused.
    assert [(its.pid, its.used.user_us) for its in table.again(listed)] == [(10, 3 * TICK_US)]
    assert [its.started for its in table.listed().values()] == [77, 78]
