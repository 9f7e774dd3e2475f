"""The search finds a server's highest rate in few steps, wherever it lies."""

import pytest
from hypothesis import given, strategies as st

from dbdyno.analysis.search.objective import Objective
from dbdyno.analysis.search.rate_search import RATES_MAX, RESOLUTION, Search, Trial, next_rate
from dbdyno.analysis.search.sequential import SequentialResult
from dbdyno.analysis.statistics.estimate import IntervalEstimate
from tests.store import synthetic
from tests.support.numbers import throughput


def search(capacity, rate_max=None):
    return Search(
        search_id="s",
        objectives=[Objective(measure="p99", limit=10.0)],
        error=0.05,
        rate_max_tps=rate_max,
        probe=synthetic.record(throughput_tps=throughput(capacity)),
    )


def trial(rate, judgement):
    results = SequentialResult(judgement, IntervalEstimate(0.01, None, None), 10, 10.0)
    return Trial(rate_tps=rate, runs=[synthetic.record()], results=[results])


def run(found, outcome_at):
    """Tries rates until the search is over."""
    while rate := next_rate(found):
        tried = [*found.trials, trial(rate, outcome_at(rate))]
        found = type(found)(
            **{name: getattr(found, name) for name in found.__struct_fields__} | {"trials": tried}
        )
    return found


@given(
    capacity=st.floats(10, 1e6),
    share=st.floats(0.02, 0.99),
    otherwise=st.sampled_from(["missed", "open"]),
)
def test_the_highest_rate_is_found_within_the_resolution(capacity, share, otherwise):
    best = capacity * share
    found = run(search(capacity), lambda rate: "met" if rate <= best else otherwise)
    assert len(found.trials) <= RATES_MAX
    assert found.met_tps <= best <= found.upper_tps
    # Rates are rounded to three digits: at most half a percent on either side.
    assert found.upper_tps / found.met_tps <= (1 + RESOLUTION) * 1.01


def test_if_no_rate_is_met_the_search_ends_at_a_hundredth_of_the_capacity():
    found = run(search(5000.0), lambda _: "missed")
    assert found.met_tps is None
    assert 50 <= found.not_met.rate_tps < 100
    assert len(found.trials) <= RATES_MAX


@pytest.mark.parametrize(("best", "met"), [(1e9, 800.0), (790.0, 780.0)])
def test_the_highest_requested_rate_is_tried_and_never_exceeded(best, met):
    found = run(search(5000.0, rate_max=800.0), lambda rate: "met" if rate <= best else "missed")
    assert [trial.rate_tps for trial in found.trials][:3] == [200.0, 400.0, 600.0]
    assert max(trial.rate_tps for trial in found.trials) == 800.0
    assert found.met_tps == pytest.approx(met, rel=RESOLUTION)


def test_a_highest_rate_beyond_the_capacity_changes_nothing():
    assert next_rate(search(1000.0, rate_max=9000.0)) == next_rate(search(1000.0)) == 250.0


def test_all_objectives_have_to_be_met():
    results = [
        SequentialResult(word, IntervalEstimate(0.01, None, None), 10, 10.0)
        for word in ("met", "open", "missed")
    ]
    outcomes = [
        Trial(rate_tps=1.0, runs=[], results=some).outcome
        for some in (results[:1], results[:2], results)
    ]
    assert outcomes == ["met", "open", "missed"]
