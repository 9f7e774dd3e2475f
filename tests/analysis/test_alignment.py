import numpy as np
import pytest

from dbdyno.analysis.series.alignment import (
    as_if_read,
    measured_intervals,
    over_intervals,
    whole_load,
)
from dbdyno.analysis.series.readings import Growth
from tests.support.recordings import MadeRun


@pytest.fixture
def intervals():
    return measured_intervals(MadeRun(np.arange(12), seconds=10, warmup=2).loaded())


def reading(time_s, delta, seconds=1.0):
    times = np.asarray(time_s, dtype=float)
    lengths = np.broadcast_to(np.asarray(seconds), times.shape)
    return Growth(times, lengths, np.asarray(delta, dtype=float))


def test_only_measured_intervals_count_and_none_that_was_cut_short(intervals):
    assert intervals.begin_s.tolist() == list(range(10))
    assert intervals.committed.tolist() == list(range(2, 12))
    recording = MadeRun(1, seconds=10, warmup=0).loaded()
    recording.intervals.seconds[-1] = 0.05
    assert len(measured_intervals(recording).begin_s) == 9


def test_a_reading_between_two_intervals_is_shared_by_them(intervals):
    amounts = over_intervals(reading(np.arange(0, 10) + 0.25, [0, 0, 0, 8, *[0] * 6]), intervals)
    assert amounts[1:5].tolist() == [0, 6, 2, 0]


def test_intervals_that_readings_do_not_cover_are_unknown(intervals):
    with_gap = reading([1, 2, 3, 6, 7], [1] * 5)
    known = ~np.isnan(over_intervals(with_gap, intervals))
    assert np.flatnonzero(known).tolist() == [0, 1, 2, 5, 6]
    assert np.isnan(over_intervals(reading([], []), intervals)).all()


def test_a_last_reading_a_little_before_the_end_stands_for_the_whole_interval(intervals):
    just_before = reading([*range(1, 10), 9.95], [*[1] * 9, 1.9], [*[1.0] * 9, 0.95])
    assert over_intervals(just_before, intervals)[-2:].tolist() == pytest.approx([1, 2])
    too_soon = reading([*range(1, 10), 9.85], [*[1] * 9, 1.7], [*[1.0] * 9, 0.85])
    assert np.isnan(over_intervals(too_soon, intervals)[-1])


def test_readings_after_the_load_are_left_out(intervals):
    late = reading(np.arange(1, 12), [*[1] * 9, 1, 500])
    assert over_intervals(late, intervals).sum() == 10


def test_a_blurred_series_keeps_its_sum_and_loses_its_edges(intervals):
    series = np.array([0, 0, 0, 0, 10, 0, 0, 0, 0, 0.0])
    blurred = as_if_read(series, intervals, reading(np.arange(0, 10) + 0.5, [0] * 10))
    assert blurred[3:6].tolist() == [2.5, 5, 2.5]
    sharp = as_if_read(series, intervals, reading(np.arange(1, 11), [0] * 10))
    assert sharp.tolist() == series.tolist()


def load_of(**changes):
    made = MadeRun(np.arange(10), **{"seconds": 10, "warmup": 0} | changes).loaded()
    made.intervals.seconds[-1] = 0.05
    return made


def test_the_whole_load_is_one_interval_unless_a_warmup_came_first():
    load = whole_load(load_of())
    assert (load.begin_s.tolist(), load.end_s.tolist()) == ([0], [9.05])
    assert load.committed.tolist() == [45]
    assert load.of(np.arange(10)).tolist() == [45]
    assert whole_load(MadeRun(1, seconds=10, warmup=1).loaded()) is None


def test_the_growth_over_the_load_is_between_the_readings_around_it():
    load = whole_load(load_of())
    around = reading([0, 1, 5, 9, 9.4], [1, 2, 3, 4, 5], [0.1, 1, 4, 4, 0.4])
    assert over_intervals(around, load).tolist() == [15]


@pytest.mark.parametrize(
    "times",
    [
        pytest.param(([1, 9, 9.4], [0.9, 8, 0.4]), id="begins under load"),
        pytest.param(([0, 1, 9], [0.1, 1, 8]), id="ends under load"),
        pytest.param(([0, 1, 9.4], [0.1, 1, 0.4]), id="has a gap"),
        pytest.param(([], []), id="was not read"),
    ],
)
def test_the_growth_over_a_load_of_which_a_part_is_missing_is_not_known(times):
    time_s, seconds = times
    growth = reading(time_s, np.ones(len(time_s)), seconds)
    assert np.isnan(over_intervals(growth, whole_load(load_of()))).all()
