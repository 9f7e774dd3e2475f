"""What the bench reports about the cost of telemetry."""

import pytest

from bench.ratio import Ratio
from bench.telemetry import Effect


def _effect(low: float, high: float, *, words_share: float = 0.0) -> Effect:
    return Effect(Ratio((low + high) / 2, low, high), 0.02, words_share, 12.3, 3.2)


def test_transactions_that_the_engine_reports_lost_count_as_lost():
    tps = _effect(0.975, 0.985, words_share=0.01).tps
    assert (tps.low, tps.value, tps.high) == pytest.approx((0.96525, 0.9702, 0.97515))


@pytest.mark.parametrize(
    ("effect", "doubt"),
    [
        (_effect(0.972, 0.992), ""),
        (_effect(0.952, 0.962), ""),
        (_effect(0.965, 0.985), " (cannot tell whether it is at least 0.97)"),
        (_effect(0.972, 0.992, words_share=0.01), " (cannot tell whether it is at least 0.97)"),
    ],
)
def test_an_interval_on_both_sides_of_the_bound_is_undecided(effect: Effect, doubt: str):
    summary = effect.summary(0.97)
    interval = f"({effect.tps.low:.3f} to {effect.tps.high:.3f})"
    assert (
        f"with / without {effect.tps.value:.3f} {interval}{doubt}; took 2.0% of all CPU" in summary
    )
    assert summary.endswith("12 session samples a second, 3 with locks")
