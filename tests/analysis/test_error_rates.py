"""How often comparisons are wrong, by simulation: false alarms, power, and predicted repeats.

A variant is compared with itself a thousand times for each kind of noise and number of runs: at
most 65 of 1000 may be told apart (5 %, plus two standard deviations). The margin is 0, so that
no alarm is called *the same*.
"""

import math

import numpy as np
import pytest

from dbdyno.analysis.compare.compare import compare
from dbdyno.analysis.compare.verdicts import verdict_of
from dbdyno.analysis.statistics.effect import holm, paired_effect, simes, unpaired_effect
from dbdyno.analysis.statistics.statistical_power import (
    Spread,
    detectable,
    more_repeats,
    repeats_for,
)
from tests.analysis.records import record

TIMES = 1000
ALARMS_MAX = 65
NAMES = ["throughput_tps", "response_p95_ms", "server_cpu_us", "wal_bytes"]


def normal(chance, shape):
    """The logarithm of what a run measures is normal."""
    return chance.normal(0, 0.05, shape)


def heavy_tails(chance, shape):
    """Now and then a run is far from all others."""
    return 0.05 * chance.standard_t(3, shape)


def stalls(chance, shape):
    """Runs are never much better than usual, but some are much worse."""
    return -chance.exponential(0.1, shape)


def drift(chance, shape):
    """The machine's speed drifts over hours by more than the runs of a pair differ."""
    pairs = shape[-2]
    walk = np.cumsum(chance.normal(0, 0.1, (*shape[:-2], pairs, 1)), axis=-2)
    return walk + chance.normal(0, 0.03, shape)


LAWS = [normal, heavy_tails, stalls, drift]


def alarms_of_pairs(noise):
    """How many of the sets of pairs (times × pairs × 2) show a significant difference."""
    differences = noise[..., 1] - noise[..., 0]
    return sum(paired_effect(pairs).p < 0.05 for pairs in differences)


@pytest.mark.parametrize("pairs", [3, 5, 10, 20])
@pytest.mark.parametrize("law", LAWS)
def test_pairs_of_one_variant_raise_no_more_false_alarms_than_stated(law, pairs):
    noise = law(np.random.default_rng(pairs), (TIMES, pairs, 2))
    assert alarms_of_pairs(noise) <= ALARMS_MAX


@pytest.mark.parametrize(("pilot", "alarms_max"), [(3, 140), (5, 125)])
def test_continuing_after_an_interim_look_raises_no_more_false_alarms_than_documented(
    pilot, alarms_max
):
    chance = np.random.default_rng(pilot)
    alarms = sum(is_alarm_of_two_looks(pilot, chance) for _ in range(TIMES))
    assert ALARMS_MAX < alarms <= alarms_max


def is_alarm_of_two_looks(pilot, chance):
    """Whether two looks raise an alarm; the second adds as many pairs as advised, at most ten."""
    first = chance.normal(0, 0.07, pilot)
    effect = paired_effect(first)
    if effect.p < 0.05:
        return True
    wanted = max(abs(effect.value), math.log1p(0.03))
    more = min(more_repeats(wanted, effect.spread, pilot, 0.05).more, 10)
    return paired_effect(np.append(first, chance.normal(0, 0.07, more))).p < 0.05


def test_a_percentile_bootstrap_of_five_pairs_would_not_do():
    chance = np.random.default_rng(1)
    differences = normal(chance, (TIMES, 5))
    drawn = chance.integers(0, 5, (999, 5))
    ends = np.quantile(differences[:, drawn].mean(axis=2), [0.025, 0.975], axis=1)
    assert ((ends[0] > 0) | (ends[1] < 0)).sum() > 2 * ALARMS_MAX


@pytest.mark.parametrize("runs", [3, 5, 10, 20])
@pytest.mark.parametrize("law", [normal, heavy_tails, stalls])
def test_sets_of_one_variant_raise_no_more_false_alarms_than_stated(law, runs):
    noise = law(np.random.default_rng(runs), (TIMES, 2, runs))
    alarms = sum(unpaired_effect(before, after).p < 0.05 for before, after in noise)
    assert alarms <= ALARMS_MAX


def test_sets_of_unlike_noise_and_size_raise_no_more_false_alarms_than_stated():
    chance = np.random.default_rng(2)
    sides = zip(chance.normal(0, 0.1, (TIMES, 4)), chance.normal(0, 0.02, (TIMES, 12)), strict=True)
    assert sum(unpaired_effect(few, many).p < 0.05 for few, many in sides) <= ALARMS_MAX


def test_one_run_against_many_of_the_same_raises_no_more_false_alarms_than_stated():
    noise = normal(np.random.default_rng(3), (TIMES, 11))
    assert sum(unpaired_effect(one[:10], one[10:]).p < 0.05 for one in noise) <= ALARMS_MAX


def moving_together(law, chance, pairs):
    """Noise of four metrics (pairs × 2 × 4).

    Throughput and response time are negatively correlated, the costs less with either.
    """
    weights = np.array([1.0, -1.0, 0.5, 0.2])
    return weights * law(chance, (pairs, 2))[..., None] + 0.3 * np.moveaxis(
        law(chance, (4, pairs, 2)), 0, -1
    )


@pytest.mark.parametrize("pairs", [3, 5, 10, 20])
@pytest.mark.parametrize("law", LAWS)
def test_metrics_that_move_together_raise_no_more_false_alarms_than_one(law, pairs):
    chance, alarms = np.random.default_rng(pairs), 0
    for _ in range(TIMES):
        noise = moving_together(law, chance, pairs)
        chances = [paired_effect(metric).p for metric in (noise[:, 1] - noise[:, 0]).T]
        alarms += min(holm(chances)) < 0.05
    assert alarms <= ALARMS_MAX


@pytest.mark.parametrize("points", [4, 10])
@pytest.mark.parametrize("law", LAWS)
def test_points_of_one_base_together_raise_no_more_false_alarms_than_one(law, points):
    """Each point compares a level of its own with one reference, which all of them share."""
    chance, alarms = np.random.default_rng(points), 0
    for _ in range(TIMES):
        blocks = law(chance, (5, points + 1))
        differences = (blocks[:, 1:] - blocks[:, :1]).T
        alarms += simes([paired_effect(pairs).p for pairs in differences]) < 0.05
    assert alarms <= ALARMS_MAX


def made_run(logarithms):
    """A run with these four metrics, given as logarithms."""
    tps, p95_ms, cpu_us, wal_bytes = np.exp(logarithms)
    costs = {"server_cpu_us": 200 * cpu_us, "wal_bytes": 400 * wal_bytes}
    return record(1000 * tps, p95_ms=10 * p95_ms, costs=costs)


def test_verdicts_on_runs_raise_no_more_false_alarms_than_stated():
    """The same, from whole records to verdicts."""
    chance, alarms, times = np.random.default_rng(1), 0, 200
    for _ in range(times):
        noise = moving_together(normal, chance, 4)
        before, after = ([made_run(run) for run in noise[:, side]] for side in (0, 1))
        compared = compare(before, after, NAMES, paired=True, margin=0.0)
        alarms += any(one.verdict in ("better", "worse") for one in compared.metrics)
    assert alarms <= ALARMS_MAX * times / TIMES


def runs_alike(likeness, pairs, times=TIMES):
    """Noise of sets of pairs (times × pairs × 2), 2 % a run; ``likeness`` correlates each pair."""
    law = [[1, likeness], [likeness, 1]]
    return 0.02 * np.random.default_rng(pairs).multivariate_normal([0, 0], law, (times, pairs))


@pytest.mark.parametrize("pairs", [3, 5])
@pytest.mark.parametrize("likeness", [-0.9, 0.0, 0.9])
def test_verdicts_are_as_rarely_wrong_however_alike_the_runs_of_a_pair_are(likeness, pairs):
    """Checkpoints in every other run make a pair's runs differ, common seeds make them alike."""
    alarms = sum(
        wal_verdict(noise, ["wal_bytes"]) != "cannot tell"
        for noise in runs_alike(likeness, pairs, times=400)
    )
    assert alarms <= 400 * 0.05 + 2 * math.sqrt(400 * 0.05 * 0.95)


def wal_verdict(noise, names=None):
    """The verdict on the WAL of pairs (pairs × 2 logarithms) that are otherwise equal."""
    before, after = (
        [made_run([0, 0, 0, wal_bytes]) for wal_bytes in noise[:, side]] for side in (0, 1)
    )
    compared = compare(before, after, names, paired=True, margin=0.0).metrics
    return next(metric.verdict for metric in compared if metric.id == "wal_bytes")


@pytest.mark.parametrize("pairs", [3, 5])
def test_taking_runs_of_a_pair_for_independent_would_not_do(pairs):
    alarms = sum(unpaired_effect(*noise.T).p < 0.05 for noise in runs_alike(-0.9, pairs))
    assert alarms > 2 * ALARMS_MAX


@pytest.mark.parametrize(("likeness", "least", "most"), [(0.0, 0.4, 0.6), (0.9, 0.95, 1.0)])
def test_three_pairs_that_are_alike_find_a_seventh_more_wal_among_all_metrics(
    likeness, least, most
):
    times = 200
    more = np.array([0, math.log(8 / 7)])
    found = sum(wal_verdict(more + noise) == "worse" for noise in runs_alike(likeness, 3, times))
    assert least <= found / times <= most


@pytest.mark.parametrize("pairs", [3, 10, 20])
def test_a_change_as_large_as_the_margin_is_called_the_same_no_more_often_than_stated(pairs):
    """The noise is so small that most pairs without a change are called the same."""
    chance, margin, noise = np.random.default_rng(pairs), 0.03, 0.008 * math.sqrt(pairs / 3)
    same = {0.0: 0, math.log1p(margin): 0}
    for change in same:
        for differences in chance.normal(change, noise, (TIMES, pairs)):
            effect = paired_effect(differences)
            same[change] += verdict_of(effect, effect.p, margin, "higher") == "same"
    assert same[math.log1p(margin)] <= ALARMS_MAX
    assert same[0.0] > TIMES / 2


@pytest.mark.parametrize("pairs", [3, 10, 20])
@pytest.mark.parametrize("law", [normal, heavy_tails, drift])
def test_intervals_hold_a_change_that_was_made_as_often_as_they_say(law, pairs):
    noise = law(np.random.default_rng(pairs), (TIMES, pairs, 2))
    effects = map(paired_effect, 0.1 + noise[..., 1] - noise[..., 0])
    assert sum(effect.low <= 0.1 <= effect.high for effect in effects) >= TIMES - ALARMS_MAX


@pytest.mark.parametrize("pairs", [3, 5, 10, 20])
def test_an_effect_of_the_stated_detectable_size_is_found_four_times_in_five(pairs):
    """With a known variance; the power may be off by a tenth."""
    effect = detectable(Spread(0.05**2, pairs - 1), pairs, 0.05)
    noise = np.random.default_rng(pairs).normal(effect, 0.05, (TIMES, pairs))
    found = sum(paired_effect(differences).p < 0.05 for differences in noise)
    assert found / TIMES == pytest.approx(0.8, rel=0.1)


@pytest.mark.parametrize(
    ("pairs", "named", "of_five"), [(3, 3.3, 7.3), (5, 1.7, 2.6), (8, 1.2, 1.6), (15, 0.8, 1.0)]
)
def test_so_many_noises_of_a_pair_are_detectable(pairs, named, of_five):
    """In standard deviations of a pair: for one metric, and for the first of five."""
    spread = Spread(1.0, pairs - 1)
    found = [round(detectable(spread, pairs, alpha), 1) for alpha in (0.05, 0.05 / 5)]
    assert found == [named, of_five]


@pytest.mark.parametrize("effect", [0.2, 0.1, 0.05, 0.03])
def test_the_predicted_number_of_pairs_is_right_within_a_tenth(effect):
    """Compared with the number found by simulation, with a tolerance of one pair."""
    deviation = 0.08
    predicted = repeats_for(effect, Spread(deviation**2, 2), 0.05)
    tried = tried_pairs(effect, deviation)
    assert abs(predicted - tried) <= max(0.1 * tried, 1)


def tried_pairs(effect, deviation):
    """The smallest number of pairs whose t-test finds the effect four times in five, simulated."""
    chance = np.random.default_rng(4)
    for pairs in range(2, 200):
        noise = chance.normal(effect, deviation, (4000, pairs))
        t = noise.mean(axis=1) / noise.std(axis=1, ddof=1) * math.sqrt(pairs)
        if (np.abs(t) > student_limit(pairs)).mean() >= 0.8:
            return pairs
    raise AssertionError("no number of pairs is enough")


def student_limit(pairs):
    from scipy.stats import t  # noqa: PLC0415 - another home of the same law

    return t.ppf(0.975, pairs - 1)


def test_sets_need_the_number_that_is_predicted():
    deviation, effect = 0.05, 0.06
    spread = Spread(2 * deviation**2, 4, 2.0)
    runs = repeats_for(effect, spread, 0.05)
    chance = np.random.default_rng(5)
    before = chance.normal(0, deviation, (TIMES, runs))
    after = chance.normal(effect, deviation, (TIMES, runs))
    found = sum(unpaired_effect(*sides).p < 0.05 for sides in zip(before, after, strict=True))
    assert found / TIMES == pytest.approx(0.8, rel=0.1)


@pytest.mark.parametrize("pilot", [3, 5, 10])
def test_the_interval_of_the_number_holds_the_true_one_as_often_as_it_says(pilot):
    """For 95 % of 300 pilots, less three standard deviations."""
    deviation, effect = 0.08, 0.05
    true = repeats_for(effect, Spread(deviation**2, 2), 0.05)
    chance, held = np.random.default_rng(pilot), 0
    for differences in chance.normal(0, deviation, (300, pilot)):
        spread = Spread(float(differences.var(ddof=1)), pilot - 1)
        found = more_repeats(effect, spread, pilot, 0.05)
        most = math.inf if found.high is None else found.high
        held += found.low <= true - pilot <= most
    assert held >= 300 * 0.95 - 3 * math.sqrt(300 * 0.05 * 0.95)
