"""The CPU time of the server's tasks that serve our connection, whomever they served before."""

from pathlib import Path

from dbdyno.telemetry.server_cpu_time import ServerCpuTime


def used(root: Path, task: int, ns: int) -> None:
    folder = root / "proc" / str(task)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "schedstat").write_text(f"{ns} 1000 3\n")


def test_nothing_is_reported_before_a_task_was_seen(tmp_path: Path):
    served = ServerCpuTime(tmp_path)
    assert served.read_ns() is None
    served.begin(None)
    assert served.read_ns() is None
    served.begin(7)
    assert served.read_ns() is None


def test_cpu_time_of_a_thread_before_our_session_is_not_counted(tmp_path: Path):
    served = ServerCpuTime(tmp_path)
    used(tmp_path, 7, 5000)
    served.begin(7)
    assert served.read_ns() == 0
    used(tmp_path, 7, 5030)
    assert served.read_ns() == 30


def test_after_a_reconnect_both_tasks_count(tmp_path: Path):
    """The second task has served other sessions for long; the first serves another from now on."""
    served = ServerCpuTime(tmp_path)
    used(tmp_path, 7, 100)
    used(tmp_path, 8, 100_000)
    served.begin(7)
    used(tmp_path, 7, 140)
    assert served.read_ns() == 40
    served.begin(8)
    assert served.read_ns() == 40
    used(tmp_path, 7, 900)
    used(tmp_path, 8, 100_002)
    assert served.read_ns() == 42


def test_cpu_time_of_an_ended_task_remains_counted(tmp_path: Path):
    served = ServerCpuTime(tmp_path)
    used(tmp_path, 7, 100)
    served.begin(7)
    used(tmp_path, 7, 140)
    served.read_ns()
    (tmp_path / "proc/7/schedstat").unlink()
    assert served.read_ns() == 40
    served.begin(None)
    assert served.read_ns() == 40


def test_the_same_thread_may_serve_us_again_after_somebody_else(tmp_path: Path):
    served = ServerCpuTime(tmp_path)
    used(tmp_path, 7, 100)
    served.begin(7)
    used(tmp_path, 7, 110)
    served.read_ns()
    used(tmp_path, 7, 9000)
    served.begin(7)
    used(tmp_path, 7, 9005)
    assert served.read_ns() == 15
