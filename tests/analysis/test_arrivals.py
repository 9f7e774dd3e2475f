"""When a queue of arrivals grows without end, and when it comes and goes."""

import numpy as np
import pytest

from dbdyno.analysis.waits.arrivals import Arrivals, arrivals
from tests.support.recordings import MadeRun, changed

RUNS = 1000


def came(due, waiting, usual):
    return Arrivals(due=due, waiting=waiting, waiting_usual=usual, duration_s=60)


@pytest.mark.parametrize(
    ("due", "waiting", "usual", "overran"),
    [
        (0, 0, 0, False),
        (60_000, 0, 0, False),  # a closed loop, or a rate that the server sustains
        (60_000, 3_000, 2_250, False),  # exactly one in twenty
        (60_000, 3_001, 2_250, True),
        (60_000, 20_000, 900, False),  # a stall near the end
        (100, 30, 22, False),  # chance, with so few
        (100, 50, 37, True),
    ],
)
def test_a_queue_that_grows(due, waiting, usual, overran):
    assert came(due, waiting, usual).overran is overran


def ends(rate, capacity, seconds, rng):
    """The queue at the end of each second, with random arrivals and service; and all arrivals."""
    arrived = rng.poisson(rate, (RUNS, seconds))
    queue, levels = np.zeros(RUNS), []
    for second in range(seconds):
        queue = np.maximum(queue + arrived[:, second] - rng.poisson(capacity, RUNS), 0)
        levels.append(queue)
    return np.array(levels).T, arrived.sum(axis=1)


def overruns(rate, capacity, seconds):
    levels, due = ends(rate, capacity, seconds, np.random.default_rng(7))
    return sum(
        Arrivals(
            due=int(due[run]),
            waiting=int(levels[run, -1]),
            waiting_usual=float(np.median(levels[run, seconds // 2 :])),
            duration_s=seconds,
        ).overran
        for run in range(RUNS)
    )


@pytest.mark.parametrize(("rate", "seconds"), [(5, 10), (20, 30), (100, 10), (1000, 60)])
def test_a_load_that_is_just_carried_is_hardly_ever_taken_for_more(rate, seconds):
    assert overruns(rate, rate / 0.95, seconds) <= RUNS // 200


@pytest.mark.parametrize(("rate", "seconds"), [(100, 30), (1000, 10)])
def test_a_fifth_more_than_can_be_done_is_seen(rate, seconds):
    assert overruns(rate, rate / 1.2, seconds) >= RUNS * 0.95


def stood_still(seconds, begin, end, *, waiting, ok=500, **named):
    """500 arrivals per second at a server that did nothing between ``begin`` and ``end``."""
    done = np.full(seconds + 3, float(ok))
    done[begin + 3 : end + 3] = 0
    levels = np.zeros(seconds + 3)
    levels[begin + 3 : end + 3] = np.cumsum(np.full(end - begin, 500.0))
    levels[end + 3 :] = waiting
    return MadeRun(done, seconds=seconds, waiting=levels, is_open=True, response_ms=5, **named)


def test_arrivals_during_a_stall_are_not_attributed_to_the_rate():
    at_the_end = arrivals(stood_still(8, 1, 8, waiting=0).loaded())
    assert (at_the_end.waiting, at_the_end.still_s, at_the_end.overran) == (3500, 7, False)
    assert at_the_end.waited_for_moments
    before = arrivals(stood_still(20, 2, 12, waiting=4000).loaded())
    assert (before.due_while_still, before.still_s, before.overran) == (5000, 10, False)
    # More are waiting than became due in the meantime.
    more = arrivals(stood_still(20, 2, 12, waiting=9000).loaded())
    assert (more.overran, more.waited_for_moments) == (True, False)


def test_a_client_with_rare_completions_is_not_stalled():
    seldom = arrivals(stood_still(30, 5, 15, ok=1, waiting=0).loaded())
    assert (seldom.still_s, seldom.due_while_still) == (0, 0)


def still_s(done, response_ms, *, think_ms=0, **named):
    """Seconds without progress, of a run without warm-up."""
    made = MadeRun(done, seconds=len(done), warmup=0, response_ms=response_ms, **named).loaded()
    if not named:
        think = {"law": "constant", "mean_ns": think_ms * 1_000_000}
        made = changed(made, plan={"arrivals": {"closed": {"think": think}}})
    return arrivals(made).still_s


@pytest.mark.parametrize(
    ("in_step", "took_ms"), [([32, 0, 0, 0], 4000), ([8, 0, 0], 3000), ([100, 0], 2000)]
)
def test_clients_in_step_are_at_work_for_longer_than_an_interval(in_step, took_ms):
    assert still_s(in_step * 20, took_ms) == 0
    assert still_s(in_step * 20, 1, think_ms=took_ms) == 0


def test_a_stage_in_which_little_is_due_is_not_one_of_silence():
    slow = [1, 0, 0, 2, 0, 1, 0, 0, 0, 1]
    assert still_s([1000] * 60 + slow, 1, is_open=True) == 0


def test_a_stall_is_reported_even_if_the_transactions_it_delayed_took_as_long():
    """The transactions held up make the run's p99 as long as the stall."""
    done, took_ms = np.full(20, 500.0), np.full(20, 5.0)
    done[8:12], took_ms[12] = 0, 4000
    assert still_s(done, took_ms, clients=200) == 4


def test_the_silence_that_ended_a_run_is_reported_with_its_end():
    recording = stood_still(8, 1, 8, waiting=0).loaded()
    done = {**recording.as_recorded.engine["done"], "end": "stalled"}
    recording = changed(recording, engine={"done": done})
    found = arrivals(recording)
    assert (found.due_while_still, found.still_s, found.overran) == (3500, 0, False)
    assert found.waited_for_moments


def test_the_queue_is_read_at_the_ends_of_measured_intervals():
    level = np.concatenate([np.zeros(3), np.arange(20.0) * 50 + 50])
    found = arrivals(MadeRun(100, seconds=20, waiting=level).loaded())
    assert found == Arrivals(
        due=3000,
        waiting=1000,
        waiting_mean=525,
        waiting_usual=775,
        waiting_at_work=525,
        duration_s=20,
    )
    assert found.lag_s == pytest.approx(525 / 150)
