"""The cost of a session sample: CPU time if the kernel reports it, else the fastest answers."""

import time

import pytest

from dbdyno.telemetry.pace import Costs
from dbdyno.telemetry.sample_cost import SampleCost

MS_NS = 10**6


class Used:
    """The CPU time of our thread and of the server's side so far."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.own_ms = self.served_ms = 100
        monkeypatch.setattr(time, "thread_time_ns", lambda: self.own_ms * MS_NS)

    def served_ns(self) -> int:
        return self.served_ms * MS_NS


@pytest.fixture
def used(monkeypatch: pytest.MonkeyPatch) -> Used:
    return Used(monkeypatch)


def look(cost: SampleCost, used: Used, own_ms: int, served_ms: int, *, with_locks: bool) -> None:
    used.own_ms += own_ms
    used.served_ms += served_ms
    cost.add(400 * MS_NS, with_locks=with_locks)


def costs_ms(cost: SampleCost) -> tuple[float, float]:
    sessions_ns, locks_ns = cost.of_each
    return sessions_ns / MS_NS, locks_ns / MS_NS


def test_answers_of_a_server_elsewhere_cost_what_the_quickest_took():
    cost = SampleCost(lambda: None)
    assert cost.of_each == Costs(0, 0)
    for answer_ms in (30, 2, 30):
        cost.add(answer_ms * MS_NS, with_locks=False)
    assert costs_ms(cost) == (2, 0)
    for answer_ms in (30, 9, 30):
        cost.add(answer_ms * MS_NS, with_locks=True)
    assert costs_ms(cost) == (2, 7)
    for _ in range(8):
        cost.add(5 * MS_NS, with_locks=False)
    assert costs_ms(cost) == (5, 4)


def test_a_local_session_costs_its_cpu_time_and_that_of_telemetry(used: Used):
    cost = SampleCost(used.served_ns)
    look(cost, used, 50, 50, with_locks=False)
    assert costs_ms(cost) == (0, 0)  # nothing is known of the first one
    look(cost, used, 1, 2, with_locks=False)
    look(cost, used, 2, 4, with_locks=False)
    assert costs_ms(cost) == (4.5, 0)
    look(cost, used, 3, 9, with_locks=True)
    assert costs_ms(cost) == (4.5, 7.5)


def test_an_old_expensive_sample_costs_no_more_than_those_with_locks(used: Used):
    """The first one without locks finds the CPU caches empty, and may be the last."""
    cost = SampleCost(used.served_ns)
    for took_ms in (1, 9):
        look(cost, used, took_ms, 0, with_locks=False)
    assert costs_ms(cost) == (9, 0)
    look(cost, used, 2, 0, with_locks=True)
    assert costs_ms(cost) == (2, 0)


def test_where_none_is_without_locks_all_is_one(used: Used):
    cost = SampleCost(used.served_ns)
    for _ in range(3):
        look(cost, used, 1, 5, with_locks=True)
    assert costs_ms(cost) == (6, 0)


def test_the_cost_of_joining_is_shared_by_all_samples_of_a_second(used: Used):
    cost = SampleCost(used.served_ns)
    for _ in range(3):
        for _ in range(20):
            look(cost, used, 1, 0, with_locks=False)
        used.own_ms += 40
        cost.add_joined(20)
    assert costs_ms(cost) == (3, 0)


def test_looks_of_long_ago_are_forgotten(used: Used):
    cost = SampleCost(used.served_ns)
    for took_ms in [9] * 50 + [1] * 8:
        look(cost, used, took_ms, 0, with_locks=False)
    assert costs_ms(cost) == (1, 0)
