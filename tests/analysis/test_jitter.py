"""Variation from second to second, with intervals of any length."""

import numpy as np
import pytest

from dbdyno.analysis.series.steadiness import jitter, seconds_of
from dbdyno.analysis.series.timeline import timeline
from tests.support.recordings import MadeRun


def of(ok, **shape):
    return timeline(MadeRun(ok, warmup=0, **shape).loaded())


def test_a_curve_that_never_moves_has_none():
    assert jitter(of(1000, seconds=10)) == 0


def test_it_is_deviation_over_mean():
    over_time = of(1000 + 100 * np.tile([1.0, -1.0], 30), seconds=60)
    assert jitter(over_time) == pytest.approx(0.1, rel=0.02)


def test_short_intervals_are_brought_together_to_seconds():
    quarters = np.tile([50.0, 150.0, 100.0, 100.0], 10)
    over_time = of(quarters, seconds=10, interval_s=0.25)
    assert seconds_of(over_time).tolist() == [400.0] * 10
    assert jitter(over_time) == 0


def test_few_seconds_yield_no_estimate():
    assert jitter(of(1000, seconds=2)) is None


def test_long_intervals_yield_no_estimate_for_seconds():
    assert jitter(of(1000, seconds=60, interval_s=10.0)) is None
