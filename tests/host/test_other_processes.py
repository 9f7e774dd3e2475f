"""Other busy processes."""

from dbdyno.host.observed_host import OtherProcesses
from dbdyno.host.processes import ProcessTable
from tests.host.proc import stat


def test_only_seconds_of_more_than_a_twentieth_of_a_processor_count(tree):
    now = [0.0]
    others = OtherProcesses(lambda: now[0])

    def busy(ticks: int, *, second: float) -> dict[str, int]:
        now[0] = second
        root = tree({"proc/11/stat": stat(1, user=ticks, name="backup")})
        return others.read(ProcessTable(root).listed().values())

    # A tick is a hundredth of a second.
    assert busy(1000, second=1) == {"backup/11": 0}
    assert busy(1020, second=2) == {"backup/11": 200_000}
    assert busy(1024, second=3) == {"backup/11": 200_000}
    assert busy(1084, second=4) == {"backup/11": 800_000}


def test_a_process_that_has_just_begun_counts_at_once(tree):
    now = [0.0]
    others = OtherProcesses(lambda: now[0])
    others.read(ProcessTable(tree({"proc/10/stat": stat(1)})).listed().values())
    now[0] = 1.0
    root = tree({"proc/11/stat": stat(10, user=30, name="cc1")})
    assert others.read(ProcessTable(root).listed().values()) == {"x/10": 0, "cc1/11": 300_000}
