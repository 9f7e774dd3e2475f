"""Conclusions about a table's size, from runs and loads with known laws."""

import itertools

import msgspec
import numpy as np
import pytest
from msgspec.structs import replace

from dbdyno.answers.answering import all_answers
from dbdyno.model.study import DataLoad
from tests.answers.costed import costed, facts
from tests.answers.made import factor, spec, study
from tests.support.recordings import MadeRun

ROWS = factor("rows", 10_000, 100_000, 1_000_000)
OPERATION = factor("operation", "select", "update")
VACUUMED = "pg_stat_user_tables"


def answered(name, trials, **options):
    return all_answers()[name].answer(trials, {"over": "rows", **options})


def plain(text):
    return text.replace("\u202f", " ")


def of_sizes(tps, **shape):
    return study(spec(ROWS, OPERATION, repeats=3), tps, **shape)


def test_a_decline_with_the_rows_is_stated_per_tenfold_growth():
    trials = of_sizes(lambda at: 1e5 * 0.9 ** len(at["rows"]), noise=0.005)
    (verdict,) = answered("size-effect", trials, by="operation").claims
    assert verdict.is_decided
    assert verdict.effect == pytest.approx(0.9, abs=0.01)
    assert verdict.evidence["update"]["per_tenfold"] == pytest.approx(0.9, abs=0.01)
    assert "; −10 % with each tenfold" in plain(verdict.sentence)
    assert "3 sizes" in verdict.doubt


def test_unchanged_throughput_is_reported_as_unchanged():
    (verdict,) = answered(
        "size-effect", of_sizes(lambda _: 5e4, noise=0.005), by="operation"
    ).claims
    assert verdict.is_decided
    assert "within ±3 % with each tenfold" in plain(verdict.sentence)


def test_drift_from_block_to_block_is_not_taken_for_noise():
    speeds = itertools.chain.from_iterable([speed] * 6 for speed in (1.0, 0.4, 0.7))

    def tps(at):
        return next(speeds) * 1e5 * 0.9 ** len(at["rows"])

    (verdict,) = answered("size-effect", of_sizes(tps, noise=0.005), by="operation").claims
    assert verdict.is_decided
    assert verdict.effect == pytest.approx(0.9, abs=0.01)
    assert 0.88 < verdict.low < verdict.high < 0.92


def test_noise_is_not_taken_for_a_fall():
    (verdict,) = answered("size-effect", of_sizes(lambda _: 5e4, noise=0.5), by="operation").claims
    assert not verdict.is_decided
    assert "not distinguishable from no change" in verdict.sentence
    assert "more pairs" in verdict.doubt
    assert verdict.low > 1  # by chance, in one of two loads
    assert "no change (p = 0.06" in plain(verdict.sentence)
    assert " after Holm correction). Update: " in verdict.sentence


def test_cpu_time_decides_where_throughput_cannot():
    trials = costed(
        of_sizes(lambda _: 5e4, noise=0.5), lambda at: {"server_cpu_us": 10 * len(at["rows"])}
    )
    verdict, processor = answered("size-effect", trials, by="operation").claims
    assert not verdict.is_decided
    assert processor.is_decided
    assert "server CPU per transaction 50" in processor.sentence


def test_points_and_the_line_through_them_are_drawn_over_a_log_axis():
    throughput, response = answered("size-effect", of_sizes(lambda _: 5e4), by="operation").shown
    assert throughput.x_axis == "log"
    labels = [series.label for series in throughput.series]
    assert labels[1::2] == [f"{label}, fitted" for label in labels[::2]]  # of the same colour
    assert [series.fitted for series in throughput.series] == [False, True, False, True]
    assert response.y_title == "95th percentile, ms"


def looking_up(at):
    """Two index pages for each lookup, three in the largest table."""
    depth = 3 if at["rows"] == "1000000" else 2
    run = MadeRun(1000, seconds=10, warmup=0)
    run.counters(VACUUMED, {"idx_scan": 1000}, of="test")
    pages = {"idx_blks_hit": 1000 * depth, "heap_blks_hit": 900, "heap_blks_read": 100}
    run.counters("pg_statio_user_tables", pages | {"idx_blks_read": 0}, of="test")
    return run.facts(facts("test", rows=float(at["rows"])))


def test_depth_and_pages_of_a_lookup_are_counted():
    trials = of_sizes(lambda _: 1000.0, run_of=looking_up)
    found = answered("lookup-cost", trials)
    (claim,) = found.claims
    sentence = plain(claim.sentence)
    assert "touches 3 pages at 10 000 rows (2 of the index) and 4 at 1 million (3)" in sentence
    assert "the index is 1 level deeper" in sentence
    assert found.shown[0].rows[0][2:5] == ("2", "1", "3")


def updating(at):
    """A thousand dead rows a second; two vacuums remove up to a tenth of them, 20 000 a second."""
    run = MadeRun(1000, seconds=10, warmup=0)
    run.counters(VACUUMED, {"n_tup_upd": 1000, "n_tup_del": 0}, of="test")
    run.levels(VACUUMED, {"n_dead_tup": 0, "n_live_tup": float(at["rows"])}, of="test")
    for time_s in (3.0, 3.4):  # so close together that the run counts one event
        took_s = float(at["rows"]) / 1e6 * 0.025
        values = {"table": "test", "removed": took_s * 20_000, "elapsed_s": took_s}
        run.log(time_s, "autovacuum", **values)
    run.log(5.0, "autovacuum", table="pg_catalog.pg_statistic", removed=1e6, elapsed_s=9.0)
    return run.facts(facts("test", rows=float(at["rows"])))


def of_updates():
    return of_sizes(lambda _: 1000.0, run_of=updating, duration_s=10.0)


def test_the_pace_of_vacuum_is_that_while_at_work():
    (claim,) = answered("vacuum-pace", of_updates()).claims
    sentence = plain(claim.sentence)
    assert "left 1 000 dead rows per second, 100 of them to vacuum" in sentence
    assert "removed 20 000 per second while running, 0.5 % of the time: it keeps up" in sentence
    assert claim.is_decided


def vacuumed(*, at_work, dead):
    """Passes of a second, as many as fill this share of the time; each removes 500 rows."""

    def run_of(_at):
        run = MadeRun(1000, seconds=10, warmup=0)
        run.counters(VACUUMED, {"n_tup_upd": 1000, "n_tup_del": 0}, of="test")
        run.levels(VACUUMED, {"n_dead_tup": dead, "n_live_tup": 1e6}, of="test")
        for number in range(round(at_work * 10)):
            run.log(number + 1.0, "autovacuum", table="test", removed=500.0, elapsed_s=1.0)
        return run.facts(facts("test"))

    trials = of_sizes(lambda _: 1000.0, run_of=run_of, duration_s=10.0)
    (claim,) = answered("vacuum-pace", trials).claims
    return plain(claim.sentence)


def test_a_vacuum_with_time_left_keeps_up_however_few_rows_a_pass_removes():
    """It is left 550 rows a second, and removes 500 in each second of work."""
    sentence = vacuumed(at_work=0.4, dead=600.0)
    assert "removed 500 per second while running, 40 % of the time: it keeps up" in sentence


def test_a_vacuum_without_time_left_does_not_keep_up():
    assert vacuumed(at_work=1.0, dead=0.0).endswith("not keep up, because it has no time left.")


def test_of_a_vacuum_only_what_lies_in_the_measured_part_counts():
    """Of a vacuum of 100 s one second lies in it, of four others a second each."""

    def run_of(_at):
        run = MadeRun(1000, seconds=10, warmup=0)
        run.counters(VACUUMED, {"n_tup_upd": 1000, "n_tup_del": 0}, of="test")
        run.levels(VACUUMED, {"n_dead_tup": 0.0, "n_live_tup": 1e6}, of="test")
        run.log(1.0, "autovacuum", table="test", removed=500.0, elapsed_s=100.0)
        for number in range(4):
            run.log(number + 5.0, "autovacuum", table="test", removed=500.0, elapsed_s=1.0)
        return run.facts(facts("test"))

    trials = of_sizes(lambda _: 1000.0, run_of=run_of, duration_s=10.0)
    (claim,) = answered("vacuum-pace", trials).claims
    assert "while running, 50 % of the time: it keeps up" in plain(claim.sentence)


def test_a_vacuum_does_not_keep_up_if_the_dead_rows_grow_beyond_its_passes():
    sentence = vacuumed(at_work=0.4, dead=4000.0)
    assert "because 4 000 rows were dead at the end of a run" in sentence
    assert "no more than 1 100" in sentence


def test_few_vacuums_do_not_tell_whether_it_keeps_up():
    """Two have finished, of a table whose dead rows are mostly those of passes under way."""

    def run_of(at):
        return updating(at).levels(VACUUMED, {"n_dead_tup": 9e4, "n_live_tup": 1e8}, of="test")

    trials = of_sizes(lambda _: 1000.0, run_of=run_of, duration_s=10.0)
    few = [one for one in trials.trials if one.point["rows"] == "1000000"][:1]
    (claim,) = answered("vacuum-pace", replace(trials, trials=few)).claims
    assert not claim.is_decided
    assert "too few vacuums finished to tell whether it keeps up" in claim.sentence


def test_without_a_vacuum_its_pace_is_not_known():
    def never(at):
        return (
            MadeRun(1000, seconds=10)
            .counters(VACUUMED, {"n_tup_upd": 1000, "n_tup_del": 0}, of="test")
            .levels(VACUUMED, {"n_dead_tup": 5, "n_live_tup": float(at["rows"])}, of="test")
            .facts(facts("test"))
        )

    trials = of_sizes(lambda _: 1000.0, run_of=never, duration_s=10.0)
    (claim,) = answered("vacuum-pace", trials).claims
    assert not claim.is_decided
    assert "not known" in claim.sentence


def loaded(trials, seconds_of):
    """Loads whose phases take ``seconds_of`` their number of rows."""
    loads = {
        point.key: DataLoad(
            rows=int(point.levels["rows"]),
            rows_per_s=5e5,
            phases_s=seconds_of(float(point.levels["rows"])),
        )
        for point in trials.study.points
    }
    return msgspec.structs.replace(trials, study=msgspec.structs.replace(trials.study, loads=loads))


def test_the_loading_rate_is_reported_for_each_size():
    trials = loaded(of_sizes(lambda _: 1.0), lambda rows: {"fill": rows / 1e6, "keys": rows / 2e6})
    found = answered("load-rate", trials)
    assert "500 000 rows per second at 10 000" in plain(found.claims[0].sentence)
    assert found.shown[0].columns == ("rows", "rows per second", "fill", "keys")


def test_advice_is_where_the_first_upkeep_takes_too_long():
    # A rewrite takes 11 µs a row, an index build 10 µs, a vacuum 25 ns.
    trials = loaded(of_updates(), lambda rows: {"keys": rows / 1e5, "fill": 0.1 * rows / 1e5})
    advice = answered("partition-advice", trials, wait_s=360).claims[0]
    assert advice.effect == pytest.approx(36e6 / 1.1, rel=0.01)
    assert "the rewrite" in advice.sentence
    assert "extrapolated by 1.5 decades" in advice.doubt
    assert advice.is_decided


def test_sizes_that_were_timed_often_are_drawn_by_their_means():
    found = answered(
        "partition-advice", loaded(of_updates(), lambda rows: {"keys": rows / 1e6}), wait_s=36
    )
    vacuum = found.shown[1].series[0]
    assert list(vacuum.x) == [1e4, 1e5, 1e6]
    assert vacuum.y[-1] == pytest.approx(0.025)


def test_far_beyond_what_was_measured_advice_is_a_guess():
    trials = loaded(of_updates(), lambda rows: {"keys": rows / 1e5})
    advice = answered("partition-advice", trials, wait_s=360_000).claims[0]
    assert not advice.is_decided
    assert "by rough extrapolation" in advice.sentence


def test_upkeep_too_short_to_show_how_it_grows_is_taken_in_proportion():
    trials = loaded(of_sizes(lambda _: 1.0), lambda _: {"keys": 0.01, "fill": 0.02})
    found = answered("partition-advice", trials, wait_s=36)
    advice = found.claims[0]
    assert advice.effect == pytest.approx(1e6 * 36 / 0.03)
    assert "in proportion" in advice.doubt
    assert not any(claim.is_decided for claim in found.claims)


def test_setting_up_is_not_taken_for_growth_where_it_took_long_enough_to_be_counted():
    """A rewrite includes the index build, so fewer rows than with the build alone take an hour."""
    fill = {1e4: 0.25, 1e5: 0.14, 1e6: 1.7}
    keys = {1e4: 0.016, 1e5: 0.03, 1e6: 11.2}
    trials = loaded(of_sizes(lambda _: 1.0), lambda rows: {"keys": keys[rows], "fill": fill[rows]})
    advice, build, rewrite = answered("partition-advice", trials, wait_s=3600).claims
    assert rewrite.effect == pytest.approx(1e6 * 3600 / 12.9)
    assert rewrite.effect < build.effect
    assert advice.effect == rewrite.effect


def test_maintenance_too_long_at_the_fewest_rows_is_not_reported_as_never_too_long():
    trials = loaded(of_sizes(lambda _: 1.0), lambda rows: {"keys": rows / 1e4})
    found = answered("partition-advice", trials, wait_s=0.5)
    advice, build, _ = found.claims
    assert advice.is_decided
    assert advice.effect == 1e4
    assert "takes 0.5 s or more already at 10 000 rows" in plain(advice.sentence)
    assert plain(build.sentence) == "The index build takes 0.5 s or more already at 10 000 rows."
    assert plain(found.shown[0].rows[0][-1]) == "10 000 rows or fewer"


def test_one_measurement_beyond_the_wait_is_reported_with_its_doubt():
    def only_large(rows):
        return {"keys": 30.0} if rows == 1e6 else {}

    advice = answered(
        "partition-advice", loaded(of_sizes(lambda _: 1.0), only_large), wait_s=10
    ).claims[0]
    assert not advice.is_decided
    assert advice.effect == 1e6
    assert "already at 1 million" in plain(advice.sentence)
    assert "may take as long with fewer" in advice.doubt


def test_an_interval_that_bounds_nothing_is_no_advice():
    """Three loads, each timed once, whose noise leaves the growth open."""
    noise = {1e4: 1.0, 1e5: 1.15, 1e6: 1.0}
    trials = loaded(of_sizes(lambda _: 1.0), lambda rows: {"keys": rows / 1e4 * noise[rows]})
    advice = answered("partition-advice", trials, wait_s=2000).claims[0]
    assert advice.high / advice.low > 100
    assert not advice.is_decided
    assert "by rough extrapolation" in advice.sentence


def test_a_limit_within_what_was_measured_is_advice_and_never_a_promise_of_no_need():
    chance = np.random.default_rng(1)
    trials = loaded(
        of_sizes(lambda _: 1.0), lambda rows: {"keys": rows / 1e4 * chance.lognormal(0, 0.5)}
    )
    advice = answered("partition-advice", trials, wait_s=20).claims[0]
    assert 1e4 < advice.effect < 1e6
    assert "partition above about" in advice.sentence
