"""What a look costs: processor time where the kernel tells it, else the quickest answers."""

import time

from dbdyno.telemetry.look_cost import LookCost

MS_NS = 10**6


def test_answers_of_a_server_elsewhere_cost_what_the_quickest_took():
    cost = LookCost(lambda: None)
    assert cost.ns == 0
    for answer_ms in (30, 2, 30):
        cost.add(answer_ms * MS_NS)
    assert cost.ns == 2 * MS_NS
    for _ in range(8):
        cost.add(5 * MS_NS)
    assert cost.ns == 5 * MS_NS


def test_a_session_here_costs_its_processor_time_and_ours(monkeypatch):
    ours_ms, served_ms = iter((10, 11, 13)), iter((100, 102, 106))
    monkeypatch.setattr(time, "thread_time_ns", lambda: next(ours_ms) * MS_NS)
    cost = LookCost(lambda: next(served_ms) * MS_NS)
    cost.add(400 * MS_NS)
    assert cost.ns == 0  # of the first alone nothing is known
    for _ in range(2):
        cost.add(400 * MS_NS)
    assert cost.ns == (6 + 3) / 2 * MS_NS


def test_what_is_made_of_looks_once_a_second_is_shared_by_all(monkeypatch):
    now_ms, ours_ms = [0], [0]
    monkeypatch.setattr(time, "monotonic_ns", lambda: now_ms[0] * MS_NS)
    monkeypatch.setattr(time, "thread_time_ns", lambda: ours_ms[0] * MS_NS)
    cost, found_ms = LookCost(lambda: 0), set()
    for number in range(1, 100):
        now_ms[0] += 50
        ours_ms[0] += 1 + (20 if number % 20 == 0 else 0)
        cost.add(5 * MS_NS)
        if number > 45:
            found_ms.add(round(cost.ns / MS_NS, 1))
    assert found_ms == {2.0}


def test_looks_of_long_ago_are_forgotten(monkeypatch):
    now_ms, ours_ms = [0], [0]
    monkeypatch.setattr(time, "monotonic_ns", lambda: now_ms[0] * MS_NS)
    monkeypatch.setattr(time, "thread_time_ns", lambda: ours_ms[0] * MS_NS)
    cost = LookCost(lambda: 0)
    for took_ms in [9] * 50 + [1] * 60:
        now_ms[0] += 50
        ours_ms[0] += took_ms
        cost.add(5 * MS_NS)
    assert cost.ns == MS_NS
