"""What a look costs: processor time where the kernel tells it, else the quickest answers."""

import time
from pathlib import Path

from dbdyno.telemetry.look_cost import LookCost

MS_NS = 10**6


def served(root: Path, pid: int, used_ms: float) -> None:
    folder = root / "proc" / str(pid)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "schedstat").write_text(f"{int(used_ms * MS_NS)} 1000 3\n")


def test_answers_of_a_server_elsewhere_cost_what_the_quickest_took(tmp_path: Path):
    cost = LookCost(tmp_path, lambda: None)
    assert cost.ns == 0
    for answer_ms in (30, 2, 30):
        cost.add(answer_ms * MS_NS)
    assert cost.ns == 2 * MS_NS
    for _ in range(8):
        cost.add(5 * MS_NS)
    assert cost.ns == 5 * MS_NS


def test_a_session_here_costs_its_processor_time_and_ours(tmp_path: Path, monkeypatch):
    ours_ms = iter((10, 11, 13))
    monkeypatch.setattr(time, "thread_time_ns", lambda: next(ours_ms) * MS_NS)
    cost = LookCost(tmp_path, lambda: 7)
    served(tmp_path, 7, 100)
    cost.add(400 * MS_NS)
    assert cost.ns == 0  # of the first alone nothing is known
    for used_ms in (102, 106):
        served(tmp_path, 7, used_ms)
        cost.add(400 * MS_NS)
    assert cost.ns == (6 + 3) / 2 * MS_NS


def test_another_session_is_not_held_against_the_one_before(tmp_path: Path):
    served(tmp_path, 7, 5000)
    served(tmp_path, 8, 1)
    pids = iter((7, 8))
    cost = LookCost(tmp_path, lambda: next(pids))
    cost.add(MS_NS)
    cost.add(MS_NS)
    assert cost.ns == 0
