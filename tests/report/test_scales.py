import pytest

from dbdyno.report.charts.scales import (
    Scale,
    linear_ticks,
    log_scale,
    log_ticks,
    tail_scale,
    time_ticks,
)


def test_each_nine_takes_the_same_room():
    scale = tail_scale(0.9999, 0, 400)
    assert [scale(share) for share in (0, 0.9, 0.99, 0.999, 0.9999)] == pytest.approx(
        [0, 100, 200, 300, 400]
    )


def test_a_place_never_leaves_the_drawing():
    scale = Scale(0, 10, 100, 0)
    assert (scale(-5), scale(5), scale(50)) == (100, 50, 0)


def test_a_logarithmic_scale_takes_zero_and_a_single_value():
    assert log_scale(0, 5, 0, 1)(5) == 1
    assert log_scale(5, 5, 0, 1)(5) == 0


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0.5, 12, [0.5, 1, 2, 5, 10]),
        (0.001, 1000, [0.001, 0.01, 0.1, 1, 10, 100, 1000]),
        (14, 21, [14, 16, 18, 20]),
        (5.5, 9.5, [6, 7, 8, 9]),
    ],
)
def test_logarithmic_ticks(low, high, ticks):
    assert log_ticks(low, high) == pytest.approx(ticks)


def test_linear_ticks_are_round():
    assert linear_ticks(1.38, 6) == [0, 0.5, 1]
    assert linear_ticks(0) == [0]


def test_long_times_are_marked_at_whole_minutes_and_hours():
    assert time_ticks(300, 6) == [0, 60, 120, 180, 240, 300]
    assert time_ticks(28_800, 8) == [hour * 3600 for hour in range(9)]
    assert time_ticks(60, 6) == [0, 10, 20, 30, 40, 50, 60]
