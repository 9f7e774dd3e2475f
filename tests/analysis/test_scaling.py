"""The scaling law for runs that follow it, runs that do not, and published figures."""

import numpy as np
import pytest
from scipy.optimize import least_squares

from dbdyno.analysis.growth.connections import advise_connections
from dbdyno.analysis.growth.scaling import Measurement, Usl, fit, scaling

LEVELS = [1, 2, 4, 8, 16, 32, 64, 128]
PEAKED = Usl(800, 0.03, 0.0005)
RISING = Usl(800, 0.03, 0)
NOISE = 0.03


def runs(throughput, levels=LEVELS, *, chance, blocks=3, noise=NOISE):
    """Runs at each level in each block; each block has a drift of its own."""
    drift = chance.normal(0, noise, blocks)
    return [
        Measurement(level, float(throughput(level) * np.exp(drift[block] + own)), block)
        for block in range(blocks)
        for level, own in zip(levels, chance.normal(0, noise, len(levels)), strict=True)
    ]


def law_runs(law, levels=LEVELS, **how):
    return runs(law.tps_at, levels, **how)


@pytest.mark.parametrize("law", [PEAKED, RISING])
def test_the_fit_is_the_least_squares_of_logarithms(law):
    """A general solver finds the same fit, a hundred times more slowly."""
    chance = np.random.default_rng(1)
    clients = np.array(LEVELS * 2, dtype=float)
    logarithms = np.log(law.tps(clients)) + chance.normal(0, NOISE, (5, len(clients)))
    scale = np.array([800, 0.01, 0.001])

    def missed(unknowns, row):
        return np.log(Usl(*(unknowns * scale)).tps(clients)) - row

    for found, row in zip(fit(clients, logarithms), logarithms, strict=True):
        solved = least_squares(missed, [1, 1, 1], args=(row,), bounds=(0, np.inf), xtol=1e-12)
        squares = (missed(np.array([*_unknowns(found)]) / scale, row) ** 2).sum()
        assert squares == pytest.approx(2 * solved.cost, rel=1e-6)


def _unknowns(law):
    return law.one_client_tps, law.contention, law.crosstalk


def test_contention_is_never_more_than_all_of_the_work():
    """Throughput that falls from the first client on would need σ > 1 by an unbounded fit."""
    clients = np.array(LEVELS, dtype=float)
    (found,) = fit(clients, np.log(Usl(800, 1.6, 0.0005).tps(clients))[None])
    assert found.contention == pytest.approx(1)
    assert found.peak_clients == 1


@pytest.fixture(scope="module")
def fitting():
    """The fits of a hundred sets of runs that follow one law."""
    chance = np.random.default_rng(2)
    return [scaling(law_runs(PEAKED, chance=chance)) for _ in range(100)]


def test_intervals_hold_the_truth_as_often_as_they_say(fitting):
    """95 % of 100, less three standard deviations."""
    assert sum(one.contention.low <= 0.03 <= one.contention.high for one in fitting) >= 88
    assert sum(one.crosstalk.low <= 0.0005 <= one.crosstalk.high for one in fitting) >= 88
    assert sum(one.peak.low <= PEAKED.peak_clients <= one.peak.high for one in fitting) >= 88


def test_no_peak_is_claimed_where_there_is_none():
    chance = np.random.default_rng(3)
    found = [scaling(law_runs(RISING, chance=chance)) for _ in range(100)]
    assert sum(one.peak is not None for one in found) <= 5


def test_no_peak_is_claimed_beyond_what_was_measured():
    assert PEAKED.peak_clients == pytest.approx(44.05, abs=0.01)
    found = scaling(law_runs(PEAKED, LEVELS[:5], chance=np.random.default_rng(4), noise=0.001))
    assert found.crosstalk.low > 0
    assert found.peak is None


def test_no_peak_is_claimed_of_runs_that_hardly_agree():
    """Three blocks on a machine that others use: no resample yields NaN."""
    measured = {
        1: (1540, 2688, 3359),
        4: (3950, 3654, 3124),
        20: (2942, 2486, 845),
        100: (1592, 1509, 1332),
    }
    found = scaling(
        [
            Measurement(clients, tps, block)
            for clients, of_blocks in measured.items()
            for block, tps in enumerate(of_blocks)
        ]
    )
    assert found.peak is None
    assert found.knee.low < found.knee.value < found.knee.high
    assert "The peak" not in advise_connections(found).text


def test_a_law_that_does_not_fit_is_reported_as_such_and_the_knee_is_measured():
    """Throughput that grows up to the fourth client and then stays flat does not follow the law."""
    flat = runs(lambda clients: 1000 * min(clients, 4), chance=np.random.default_rng(5), noise=0.01)
    found = scaling(flat)
    assert found.is_structured
    assert found.peak is None
    assert (found.knee.low, found.knee.value, found.knee.high) == (4, 4, 4)
    advice = advise_connections(found)
    assert advice.limit == 4
    assert "misses the means" in advice.doubt


def test_a_law_that_fits_is_rarely_rejected(fitting):
    assert sum(one.is_structured for one in fitting) <= 10


def test_the_knee_of_the_law_lies_below_its_peak():
    found = scaling(law_runs(PEAKED, chance=np.random.default_rng(7)))
    assert PEAKED.tps_at(found.knee.value) == pytest.approx(
        0.95 * PEAKED.tps_at(PEAKED.peak_clients), rel=0.02
    )
    text = advise_connections(found).text
    assert text.startswith(f"{round(found.knee.value)} connections (")
    assert "The peak is at " in text
    assert "With 128 clients " in text


def test_published_figures_of_hot_rows():
    """PostgreSQL 9.4, TPC-B at scale 1 on two cores: the knee is where the cores are used up."""
    published = {1: 793, 4: 1460, 10: 1517, 20: 1500, 100: 1175, 500: 414}
    found = scaling([Measurement(clients, tps) for clients, tps in published.items()])
    assert found.is_structured is None
    assert found.best == Measurement(10, pytest.approx(1517))
    assert found.knee.value == 4
    advice = advise_connections(found)
    assert advice.text.endswith("With 500 clients throughput is 27.3\u202f% of the maximum.")
    assert "measured once" in advice.doubt


def test_one_client_alone_may_do_most():
    found = scaling(runs(lambda clients: 1000 / clients, chance=np.random.default_rng(9)))
    assert advise_connections(found).text.startswith("1 connection: ")


def test_no_limit_is_advised_while_throughput_rises():
    found = scaling(law_runs(RISING, LEVELS[:5], chance=np.random.default_rng(8)))
    assert found.still_rises
    assert advise_connections(found).limit is None


def test_three_numbers_of_clients_are_no_curve():
    assert scaling(law_runs(PEAKED, LEVELS[:3], chance=np.random.default_rng(9))) is None
    failed = [*law_runs(PEAKED, LEVELS[:3], chance=np.random.default_rng(9)), Measurement(8, 0.0)]
    assert scaling(failed) is None
