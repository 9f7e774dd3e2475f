"""Runs grouped: pairs, levels in the order of the file, means with intervals."""

import msgspec
import pytest

from dbdyno.analysis.statistics.estimate import Ratio
from dbdyno.answers.curves import curve_through
from dbdyno.answers.grouping import by_level, chosen, pairs, varied
from dbdyno.answers.intervals import interval_text, times_of
from dbdyno.answers.measuring import over_runs, ratio_of, throughput
from tests.answers.made import factor, spec, study


@pytest.fixture
def trials():
    made = spec(factor("clients", 16, 4), factor("engine", "a", "b"), repeats=3)
    return study(made, lambda at: 1000.0 * (2 if at["engine"] == "b" else 1), noise=0.0)


def test_levels_come_in_the_order_of_the_file(trials):
    assert list(by_level(trials, trials.trials, "clients")) == ["16", "4"]
    assert list(by_level(trials, chosen(trials, {"clients": 4}), "clients")) == ["4"]


def test_runs_come_in_the_order_of_the_points_and_then_of_the_blocks(trials):
    """They were made in another: at random within each block."""
    made_at_random = msgspec.structs.replace(
        trials, trials=sorted(trials.trials, key=lambda one: (one.block, one.record.run_id[::-1]))
    )
    found = [
        (one.point["clients"], one.point["engine"], one.block) for one in chosen(made_at_random)
    ]
    points = [("16", "a"), ("16", "b"), ("4", "a"), ("4", "b")]
    assert found == [(*point, block) for point in points for block in (1, 2, 3)]


def test_a_factor_that_stands_still_is_not_varied(trials):
    assert varied(trials, trials.trials) == ["clients", "engine"]
    assert varied(trials, chosen(trials, {"clients": "4"})) == ["engine"]


def test_pairs_are_of_one_block_and_equal_elsewhere(trials):
    found = pairs(trials.trials, "engine", "a", "b")
    assert len(found) == 6
    for before, after in found:
        assert (before.block, before.point["clients"]) == (after.block, after.point["clients"])


def test_a_run_whose_counterpart_failed_is_in_no_pair(trials):
    assert len(pairs(trials.trials[1:], "engine", "a", "b")) == 5


def test_a_ratio_is_over_pairs_that_know_the_number(trials):
    assert ratio_of(pairs(trials.trials, "engine", "a", "b"), throughput).value == pytest.approx(2)
    assert ratio_of(pairs(trials.trials, "engine", "a", "b"), lambda _: None) is None


def test_means_over_runs_have_the_interval_between_runs():
    found = over_runs([1.0, 4.0], lambda value: value)
    assert found.value == pytest.approx(2)
    assert found.low < 1


def test_uninformative_intervals_are_not_printed():
    assert interval_text(Ratio(5.0, 4.0, 6.0)) == "5 (4 to 6)"
    assert interval_text(Ratio(5.0, 0.01, 9000.0)) == "5 (?)"


def test_a_curve_has_no_uninformative_interval():
    """It would set the axis, on which nothing else could be seen."""
    drawn = curve_through("p95", {1.0: Ratio(5.0, 0.01, 9e13), 2.0: Ratio(6.0, 5.0, 7.0)})
    assert list(zip(drawn.low, drawn.high, strict=True)) == [(None, None), (5.0, 7.0)]
    assert interval_text(Ratio(5.0, None, None)) == "5"
    assert times_of(Ratio(5.0, None, None)) == "5 times (one pair, no interval)"
