"""The parts of a response over time, of made-up runs with known shares."""

import numpy as np
import pytest

from dbdyno.analysis.waits.response_parts import response_parts
from dbdyno.analysis.waits.wait_bands import statement_sessions
from dbdyno.model.telemetry import WaitCount
from tests.support.recordings import MadeRun

READ, WRITE, RARE = 0, 1, 2


def made(locked=lambda _second: 1):
    """Four clients at READ, on a CPU; four at WRITE, of which some wait for a lock."""
    run = MadeRun(100, seconds=60, warmup=0, clients=8)
    run.latency(READ, 2.0, count=100).latency(WRITE, 4.0, count=100).latency(RARE, 1.0, count=5)
    for half in range(120):
        waiting = locked(half // 2)
        states = [
            (READ, "", "", 4),
            (WRITE, "Lock", "transactionid", waiting),
            (WRITE, "IO", "WalSync", 4 - waiting),
        ]
        run.look(
            (half + 1) / 2,
            [
                WaitCount("client", statement, "asking", "active", *wait, count)
                for statement, *wait, count in states
                if count
            ],
        )
    return run


def test_a_statements_time_is_split_as_its_samples_are():
    parts = response_parts(made().loaded()).statements
    np.testing.assert_allclose(parts[READ].working_ms, 2.0)
    np.testing.assert_allclose(parts[READ].lock_ms, 0.0)
    np.testing.assert_allclose(parts[WRITE].lock_ms, 1.0)
    np.testing.assert_allclose(parts[WRITE].other_wait_ms, 3.0)


def test_what_no_sample_saw_is_a_part_of_its_own():
    rare = response_parts(made().loaded()).statements[RARE]
    np.testing.assert_allclose(rare.unseen_ms, 1.0)
    np.testing.assert_allclose(rare.working_ms + rare.lock_ms + rare.other_wait_ms, 0.0)


def test_the_parts_of_a_transaction_are_those_of_its_statements():
    whole = response_parts(made().loaded()).transaction
    np.testing.assert_allclose(whole.mean_ms, 6.05)
    np.testing.assert_allclose(whole.working_ms, 2.0)
    np.testing.assert_allclose(whole.unseen_ms, 0.05)
    parts = whole.working_ms + whole.other_wait_ms + whole.lock_ms + whole.unseen_ms
    np.testing.assert_allclose(parts, whole.mean_ms)


def test_a_queue_is_seen_when_it_was_there():
    found = response_parts(made(lambda second: 4 if 30 <= second < 40 else 0).loaded())
    inside = (found.begin_s >= 30) & (found.begin_s + found.seconds <= 40)
    lock_ms = found.statements[WRITE].lock_ms
    assert inside.any()
    np.testing.assert_allclose(lock_ms[inside], 4.0)
    np.testing.assert_allclose(lock_ms[(found.begin_s + found.seconds < 30)], 0.0)


def test_a_stretch_has_several_samples():
    found = response_parts(made().loaded())
    assert found.seconds.tolist() == [5.0] * 12


def test_without_samples_there_are_no_parts():
    run = MadeRun(100, seconds=20).latency(READ, 2.0)
    assert response_parts(run.loaded()) is None


def test_sessions_by_statement_add_up_to_the_bands():
    sessions = statement_sessions(made().loaded())
    assert sorted(sessions) == [READ, WRITE]
    assert np.nanmean(sessions[WRITE]["lock"]) == pytest.approx(1.0)
    assert np.nanmean(sessions[WRITE]["wal"]) == pytest.approx(3.0)
