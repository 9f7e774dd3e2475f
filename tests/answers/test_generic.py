"""Contrasts, tables, curves and the scaling law on studies with known numbers."""

import pytest
from msgspec.structs import replace

from dbdyno.analysis.statistics.effect import holm
from dbdyno.answers.kinds import contrasts, curve, scaling_law, table
from dbdyno.answers.level_contrasts import comparisons
from dbdyno.formatting import THIN_SPACE
from tests.answers import made

CLIENTS = made.factor("clients", 1, 4, 10, 20, 100)
ORDER = made.factor("order", "as-written", "other", title="statement order")


def two_orders(change, **more):
    """``other`` has ``change`` times the throughput from 10 clients on."""
    spec = made.spec(
        CLIENTS, ORDER, repeats=5, contrasts=(made.contrast("order", "as-written", "other"),)
    )
    return made.study(
        spec,
        lambda levels: (
            1000.0
            * (change if levels["order"] == "other" and int(levels["clients"]) >= 10 else 1.0)
        ),
        **more,
    )


def usl(clients):
    return 800 * clients / (1 + 0.3 * (clients - 1) + 0.001 * clients * (clients - 1))


def law_of(tps, *levels, repeats=4):
    spec = made.spec(made.factor("clients", *levels), repeats=repeats)
    return scaling_law.answer(made.study(spec, tps), {"over": "clients"})


def plain(text):
    return text.replace(THIN_SPACE, " ")


def test_a_contrast_is_made_at_each_combination_of_the_other_factors():
    found = comparisons(two_orders(0.8))
    assert [one.before for one in found] == [
        f"as-written (clients {level})" for level in (1, 4, 10, 20, 100)
    ]
    assert [one.metrics[0].verdict for one in found][2:] == ["worse"] * 3


def test_only_factors_by_which_combinations_differ_are_named():
    spec = made.spec(
        made.factor("engine", "postgres"),
        made.factor("clients", 4, 20),
        made.factor("order", "as-written", "other"),
        repeats=3,
        contrasts=(made.contrast("order", "as-written", "other"),),
    )
    slow = made.study(spec, lambda levels: 800.0 if levels["order"] == "other" else 1000.0)
    (claim,) = contrasts.answer(slow, {}).claims
    assert "throughput got worse at clients 4, 20 (" in claim.sentence
    two = replace(spec, factors=(made.factor("engine", "a", "b"), *spec.factors[1:]))
    faster = made.study(two, lambda levels: 1500.0 if levels["order"] == "other" else 1000.0)
    (claim,) = contrasts.answer(faster, {}).claims
    assert "better at engine/clients a/4, a/20, b/4, b/20 (" in claim.sentence


def test_levels_compared_with_one_reference_are_corrected_together():
    """Two levels compared with a third: each alone would seem more certain than both together."""
    orders = made.factor("order", "as-written", "first", "last", title="statement order")
    against = tuple(made.contrast("order", "as-written", after) for after in ("first", "last"))
    spec = made.spec(
        made.factor("clients", 4, 20),
        orders,
        repeats=4,
        contrasts=against,
        metrics=("throughput_tps", "response_p95_ms"),
    )
    trials = made.study(spec, lambda levels: 900.0 if levels["order"] == "last" else 1000.0)
    found = comparisons(trials)
    for place in ("clients 4", "clients 20"):
        here = [metric for one in found if place in one.before for metric in one.metrics]
        assert [one.p_adjusted for one in here] == holm([one.p for one in here])
        assert len(here) == 4


def test_the_name_of_a_setting_is_written_as_the_server_has_it():
    factor = made.factor("full_page_writes", "off", "on")
    spec = made.spec(factor, repeats=3, contrasts=(made.contrast("full_page_writes", "off", "on"),))
    (claim,) = contrasts.answer(made.study(spec, lambda _levels: 1000.0), {}).claims
    assert claim.sentence.startswith("full_page_writes on against off: throughput ")


def test_several_combinations_have_one_sentence_with_the_verdict_at_each():
    (claim,) = contrasts.answer(two_orders(0.8), {}).claims
    assert claim.is_decided
    assert "worse at clients 10, 20, 100 (−2" in claim.sentence
    sentence = plain(claim.sentence)
    assert sentence.startswith("Statement order other against as-written: throughput got worse at")
    assert "; stayed the same within ±3 % at clients 1, 4 (" in sentence
    assert set(claim.evidence) == {f"clients {level}" for level in (1, 4, 10, 20, 100)}


def test_a_change_at_one_of_many_combinations_is_not_taken_for_more_than_chance():
    """Nothing differs; of ten tests at 5 % each, one alarms in two studies of five."""
    spec = made.spec(
        made.factor("clients", *range(1, 11)),
        ORDER,
        repeats=5,
        contrasts=(made.contrast("order", "as-written", "other"),),
    )
    claims = [
        contrasts.answer(made.study(spec, lambda _: 1000.0, noise=0.2, seed=seed), {}).claims[0]
        for seed in range(20)
    ]
    alarmed = [claim for claim in claims if "got " in claim.sentence]
    assert len(alarmed) > 4
    assert sum(claim.is_decided for claim in claims) <= 3
    undecided = [claim for claim in alarmed if not claim.is_decided]
    assert all("among 10 points may be due to chance" in claim.doubt for claim in undecided)


def test_moderate_changes_at_every_combination_decide_together():
    """Three repeats of a noisy load: none of the four points is significant among four alone."""
    spec = made.spec(
        made.factor("clients", 10, 20, 100, 500),
        ORDER,
        repeats=3,
        contrasts=(made.contrast("order", "as-written", "other"),),
    )
    claims = [
        contrasts.answer(
            made.study(
                spec,
                lambda levels: 600.0 if levels["order"] == "other" else 1000.0,
                noise=0.08,
                seed=seed,
            ),
            {},
        ).claims[0]
        for seed in range(20)
    ]
    worse = "got worse at clients 10, 20, 100, 500"
    everywhere = [claim for claim in claims if worse in claim.sentence]
    assert everywhere
    assert all(claim.is_decided and "chance" not in claim.doubt for claim in everywhere)


def test_unequal_durability_is_reported_beside_the_verdict():
    trials = two_orders(0.8)
    promise_less = {"durability": {"fsync": "off"}}
    for trial in trials.trials:
        if trial.point["order"] == "other":
            trial.record = replace(trial.record, server=promise_less)
        else:
            trial.record = replace(trial.record, server={"durability": {"fsync": "on"}})
    (claim,) = contrasts.answer(trials, {}).claims
    assert claim.doubt.startswith("Unequal durability: fsync is on in as-written")


@pytest.mark.parametrize("option", [{"set": {"fsync": "off"}}, {"durability": "none"}])
def test_what_a_contrast_varies_on_purpose_is_no_inequality(option):
    trials = two_orders(0.8)
    for point in trials.study.points:
        if point.levels["order"] == "other":
            point.options.update(option)
    for trial in trials.trials:
        is_other = trial.point["order"] == "other"
        durability = {"fsync": "off" if is_other else "on"}
        promise = None if is_other else "relaxed"
        trial.record = replace(trial.record, server={"durability": durability, "promise": promise})
    (claim,) = contrasts.answer(trials, {}).claims
    assert "Unequal durability" not in claim.doubt


def test_an_undecided_contrast_names_the_further_repeats_needed():
    spec = made.spec(ORDER, repeats=3, contrasts=(made.contrast("order", "as-written", "other"),))
    trials = made.study(spec, lambda _levels: 1000.0, noise=0.1)
    (claim,) = contrasts.answer(trials, {}).claims
    assert not claim.is_decided
    assert "cannot be told apart at this sample size" in claim.sentence
    assert "more pairs" in claim.sentence


def test_the_suggested_command_requests_all_repeats_not_just_the_further_ones():
    spec = made.spec(ORDER, repeats=3, contrasts=(made.contrast("order", "as-written", "other"),))
    trials = made.study(spec, lambda _levels: 1000.0, noise=0.1)
    (found,) = comparisons(trials)
    repeats = 3 + found.metrics[0].repeats.more
    goes_on = f"dbdyno study resume {trials.study.study_id} --repeats {repeats}"
    assert found.decide_with == goes_on


def test_metrics_that_were_not_measured_are_named_instead_of_a_verdict():
    unmeasured = replace(made.contrast("order", "as-written", "other"), metrics=("wal_bytes",))
    spec = made.spec(ORDER, repeats=3, contrasts=(unmeasured,))
    found = contrasts.answer(made.study(spec, lambda _levels: 1000.0), {})
    assert not found.claims
    assert not found.shown
    assert found.missing.startswith("no metric can be compared: wal_bytes was not measured")


def test_a_weakness_of_all_metrics_of_a_contrast_is_reported_once():
    metrics = ("throughput_tps", "response_p95_ms")
    contrast = replace(made.contrast("order", "as-written", "other"), metrics=metrics)
    spec = made.spec(ORDER, repeats=3, contrasts=(contrast,))
    trials = made.study(spec, lambda _levels: 1000.0, noise=0.1)
    for trial in trials.trials:
        trial.record = replace(trial.record, doubts=["Too short: 3.0 s measured."])
    first, second = contrasts.answer(trials, {}).claims
    assert "Too short" in first.doubt
    assert "Too short" not in second.doubt
    assert second.doubt.startswith("3 pairs detect a change of ")


def test_noise_too_large_to_find_any_effect_is_described_in_words():
    spec = made.spec(ORDER, repeats=2, contrasts=(made.contrast("order", "as-written", "other"),))
    (claim,) = contrasts.answer(made.study(spec, lambda _levels: 1000.0, noise=0.3), {}).claims
    assert claim.doubt == "2 pairs as noisy as these do not detect even a factor of 10"


def test_a_contrast_of_runs_that_are_not_there_is_missing():
    spec = made.spec(ORDER, contrasts=())
    assert contrasts.answer(made.study(spec, lambda _levels: 1.0), {}).missing


def test_the_table_has_mean_and_range_over_runs():
    spec = made.spec(made.factor("clients", 4), repeats=3)
    trials = made.study(spec, lambda _levels: 1000.0, noise=0.2)
    (shown,) = table.answer(trials, {}).shown
    values = sorted(trial.record.throughput_tps.value for trial in trials.trials)
    (row,) = shown.rows
    assert row[:2] == ("4", "3")
    assert [plain(cell).replace(" ", "") for cell in row[3:5]] == [
        f"{values[0]:.0f}",
        f"{values[-1]:.0f}",
    ]


def test_a_single_run_has_the_range_of_its_intervals():
    spec = made.spec(made.factor("clients", 4), repeats=1)
    (shown,) = table.answer(made.study(spec, lambda _: 500.0, noise=0), {}).shown
    assert shown.rows[0][2:] == ("500", "450", "550")


def test_a_curve_has_a_line_for_each_level_and_intervals_over_blocks():
    (shown,) = curve.answer(two_orders(0.5), {"over": "clients", "by": "order"}).shown
    assert [series.label for series in shown.series] == ["as-written", "other"]
    assert list(shown.series[0].x) == [1, 4, 10, 20, 100]
    assert all(low < y < high for low, y, high in zip(*_interval(shown.series[0]), strict=True))
    assert shown.x_axis == "log"
    assert shown.y_axis == "linear"


def _interval(series):
    return series.low, series.y, series.high


def test_a_curve_over_words_is_refused():
    assert curve.answer(two_orders(1.0), {"over": "order"}).missing


def test_the_law_finds_its_own_peak_and_the_knee_before_it():
    found = law_of(lambda levels: usl(int(levels["clients"])), 1, 2, 4, 8, 16, 32, 64, 128, 256)
    advice, peak, _ = found.claims
    assert peak.is_decided
    assert peak.effect == pytest.approx(26.5, rel=0.1)  # √((1 − 0.3) / 0.001)
    assert peak.low < 26.5 < peak.high
    assert advice.effect < peak.effect
    assert "connections" in advice.sentence


def test_no_peak_is_claimed_of_what_still_rises():
    found = law_of(lambda levels: 100.0 * int(levels["clients"]) ** 0.9, 1, 2, 4, 8, 16)
    advice, peak, _ = found.claims
    assert not advice.is_decided
    assert not peak.is_decided
    assert peak.sentence.startswith("No peak is claimed")


def test_one_run_at_each_level_cannot_judge_the_law():
    found = law_of(lambda levels: usl(int(levels["clients"])), 1, 4, 16, 64, repeats=1)
    assert not found.claims[-1].is_decided
    assert "cannot be judged" in found.claims[-1].doubt


def test_no_peak_is_claimed_at_the_fewest_clients_that_were_measured():
    """σ is 1 and κ 0.01: all work is serial, and more clients only disturb each other."""
    found = law_of(lambda at: 1000 / (1 + 0.01 * (int(at["clients"]) - 1)), 1, 4, 10, 20, 100)
    peak = found.claims[1]
    assert not peak.is_decided
    assert peak.sentence == (
        "No peak is claimed: throughput may fall from 1 client on, the fewest that were measured"
    )
