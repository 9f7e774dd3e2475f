"""Conclusions about two engines, from runs with known differences."""

import itertools
import math

import msgspec
import numpy as np
import pytest

from dbdyno.analysis.compare.metrics import like_blocks
from dbdyno.answers.answering import all_answers
from dbdyno.report.pages.study.page import status_text
from dbdyno.report.pages.study.published import measured_table
from dbdyno.study.file import catalogue
from dbdyno.study.spec import read_study
from tests.answers.costed import changed, costed, facts
from tests.answers.made import factor, spec, study
from tests.support.recordings import MadeRun

ENGINE = factor("engine", "postgres", "mariadb")
LOADS = ("oltp_update_index", "oltp_update_non_index", "oltp_write_only")
LOAD = factor("workload", *LOADS)
# MariaDB's throughput divided by PostgreSQL's.
ADVANTAGE = {"oltp_update_index": 1.5, "oltp_update_non_index": 0.8, "oltp_write_only": 1.0}


def answered(name, trials, **options):
    return all_answers()[name].answer(trials, options)


def plain(text):
    return text.replace("\u202f", " ")


def of_engines(*, noise=0.005, clients=(4, 64), repeats=3, **shape):
    def tps(at):
        return 10_000.0 * (ADVANTAGE[at["workload"]] if at["engine"] == "mariadb" else 1)

    made = spec(ENGINE, LOAD, factor("clients", *clients), repeats=repeats)
    return study(made, tps, noise=noise, **shape)


def duel(trials):
    return answered("engine-duel", trials, factor="engine", by="workload", over="clients")


def test_the_verdict_names_the_leader_under_each_load():
    verdict, *claims = duel(of_engines()).claims
    assert verdict.is_decided
    assert plain(verdict.sentence).startswith(
        "In throughput, on average over clients, mariadb leads in oltp_update_index, 1.5"
    )
    assert "postgres leads in oltp_update_non_index, 1.2" in plain(verdict.sentence)
    assert verdict.sentence.endswith("in oltp_write_only.")
    assert claims[0].effect == pytest.approx(1.5, rel=0.02)


def test_a_verdict_that_leaves_loads_open_names_them():
    """Of a throughput that varies much in one load, three blocks decide nothing."""
    noise = np.random.default_rng(1).normal(0, 0.3, 100)

    def tps(at):
        advantage = ADVANTAGE[at["workload"]] if at["engine"] == "mariadb" else 1.0
        is_noisy = at["workload"] == "oltp_write_only"
        return 10_000.0 * advantage * math.exp(next(luck) if is_noisy else 0.0)

    luck = iter(noise.tolist())
    made = spec(ENGINE, LOAD, factor("clients", 4, 64), repeats=3)
    verdict, *_ = duel(study(made, tps, noise=0.005)).claims
    assert verdict.undecided == "oltp_write_only"
    assert status_text(verdict) == "Decided by the data, but for oltp_write_only"


def test_variants_that_are_the_same_are_reported_as_such():
    verdict, *claims = duel(of_engines(noise=0.005, repeats=5)).claims
    same = "postgres and mariadb are the same within ±3 % in oltp_write_only."
    assert plain(verdict.sentence).endswith(same)
    assert "oltp_write_only: both are the same within ±3 %" in plain(claims[2].sentence)
    assert (claims[2].is_decided, claims[2].doubt) == (True, "")


def test_response_times_have_claims_of_their_own():
    *_, index, non_index, _writes = duel(of_engines()).claims
    assert "mariadb's 95th percentile is 33" in plain(index.sentence)
    assert "lower" in index.sentence
    assert "higher" in non_index.sentence


def test_a_lead_that_changes_with_the_clients_is_reported():
    def tps(at):
        few = at["clients"] == "4"
        return 10_000.0 * ((1.5 if few else 0.7) if at["engine"] == "mariadb" else 1)

    made = spec(ENGINE, LOAD, factor("clients", 4, 64), repeats=3)
    _, claim, *_ = duel(study(made, tps, noise=0.005)).claims
    assert "The lead changes with clients: 0.7" in claim.doubt
    assert "times at 64" in claim.doubt


def test_a_mean_that_is_the_same_names_levels_that_are_not():
    """0.96 times at one number of clients and 1.04 at another are no difference on average."""

    def tps(at):
        is_faster = (at["engine"] == "mariadb") == (at["clients"] == "64")
        return 1000 * (1.0 if is_faster else 0.96)

    made = spec(ENGINE, LOAD, factor("clients", 4, 64), repeats=4)
    verdict, claim, *_ = duel(study(made, tps, noise=0.015, seed=3)).claims
    assert "on average over clients, postgres and mariadb are the same within" in plain(
        verdict.sentence
    )
    assert claim.is_decided
    assert "Only the mean over clients is the same: 0.9" in claim.doubt


def test_who_is_ahead_stands_in_the_columns_of_the_published_comparison():
    found = duel(of_engines(noise=0.005, repeats=5))
    published = read_study(catalogue()["engines"], "full").published[0]
    table = measured_table(published, [(None, found)])
    assert table is not None
    assert [row[:2] for row in table.rows] == [
        ("oltp_update_index", "mariadb"),
        ("oltp_update_non_index", "postgres"),
        ("oltp_write_only", "–"),
    ]
    assert table.rows[0][2].startswith("5")
    assert table.rows[0][3].startswith("postgres ")


def test_a_lead_that_noise_may_have_changed_is_not_reported():
    trials = of_engines(noise=0.6)
    assert all("lead changes" not in claim.doubt for claim in duel(trials).claims)


def test_curves_are_summed_up_with_their_units():
    found = duel(of_engines(noise=0))
    rate, time, *_ = (shown for shown in found.shown if hasattr(shown, "summary"))
    assert plain(rate.summary) == (
        "postgres from 10 000 TPS to 10 000 TPS; mariadb from 15 000 TPS to 15 000 TPS."
    )
    assert plain(time.summary).startswith("postgres from 2.4 ms")


def test_an_undecided_result_names_the_repeats_that_would_decide_it():
    verdict, *_ = duel(of_engines(noise=0.6)).claims
    assert not verdict.is_decided
    assert "more repeats" in verdict.doubt


def test_a_load_decided_only_when_tested_alone_explains_the_correction():
    """Three blocks with ratios of 1.2, 1.3 and 1.4: p is 0.02 alone, 0.06 of three loads."""
    luck = itertools.cycle([1.2, 1.3, 1.4])

    def tps(at):
        is_first = (at["engine"], at["workload"]) == ("mariadb", LOADS[0])
        return 10_000.0 * (next(luck) if is_first else 1)

    made = spec(ENGINE, LOAD, factor("clients", 4), repeats=3)
    verdict, claim, *_ = duel(study(made, tps, noise=0)).claims
    assert not claim.is_decided
    assert claim.low > 1
    assert "over all loads, p = 0.0" in claim.doubt
    assert "after Holm correction. About 1 more repeat (" in claim.doubt
    assert claim.doubt in verdict.doubt


def test_a_single_block_decides_nothing():
    verdict, *_ = duel(of_engines(repeats=1)).claims
    assert not verdict.is_decided
    assert "single block" in verdict.doubt


def test_a_run_that_failed_makes_its_block_no_other_than_the_rest():
    """The ratio is 1.5 at 4 clients and 0.7 at 64; one block lacks the latter."""

    def tps(at):
        few = at["clients"] == "4"
        return 10_000.0 * ((1.5 if few else 0.7) if at["engine"] == "mariadb" else 1)

    made = spec(ENGINE, LOAD, factor("clients", 4, 64), repeats=5)
    trials = study(made, tps, noise=0.005)
    failed = {"engine": "mariadb", "workload": LOADS[0], "clients": "64"}
    kept = [one for one in trials.trials if (one.block, one.point) != (2, failed)]
    _, claim, *_ = duel(msgspec.structs.replace(trials, trials=kept)).claims
    assert claim.effect == pytest.approx((1.5 * 0.7) ** 0.5, rel=0.01)
    assert "1 pair is left out" in claim.doubt


def test_levels_missing_in_few_blocks_are_kept_instead_of_those_blocks():
    """One of four blocks was stopped after its first level."""
    whole = {"4": 0.1, "16": 0.2, "64": 0.3}
    assert like_blocks({1: whole, 2: whole, 3: whole, 4: {"4": 0.1}}) == [[0.1, 0.2, 0.3]] * 3
    assert like_blocks({1: whole, 2: {"4": 0.4}}) == [[0.1], [0.4]]
    assert like_blocks({}) == []


def test_curves_and_rows_are_there_for_each_load_and_level():
    _, table, *curves = duel(of_engines()).shown
    assert len(table.rows) == 6
    assert len(curves) == 6
    assert [series.label for series in curves[0].series] == ["postgres", "mariadb"]
    assert list(curves[0].series[0].x) == [4, 64]


def test_one_number_of_clients_makes_no_curve():
    assert len(duel(of_engines(clients=(4,))).shown) == 2


def counted(at):
    """PostgreSQL counts its updates; nine in ten of those of an unindexed column are HOT."""
    run = MadeRun(100, seconds=10, warmup=0)
    if at["engine"] == "mariadb":
        return run
    hot = 0 if at["workload"] == "oltp_update_index" else 90
    return run.counters(
        "pg_stat_user_tables", {"n_tup_upd": 100, "n_tup_hot_upd": hot}, of="sbtest1"
    )


def log_records(at):
    is_index = at["workload"] == "oltp_update_index"
    if at["engine"] == "mariadb":
        return {"buffers_hit": 18.0 if is_index else 10.0}
    return {"wal_records": 5.0 if is_index else 3.0, "buffers_hit": 11.0 if is_index else 5.0}


def index_update_cost(trials):
    return answered(
        "index-update-cost",
        trials,
        factor="workload",
        plain="oltp_update_non_index",
        indexed="oltp_update_index",
        within="engine",
    )


def test_without_record_or_buffer_counters_the_rate_is_reported_as_a_rate():
    postgres, mariadb = index_update_cost(costed(of_engines(), lambda _: {})).claims
    for claim in (postgres, mariadb):
        assert "the load that updates an indexed column runs at" in claim.sentence
        assert "takes" not in claim.sentence


def test_levels_of_one_block_are_one_sample_of_what_an_index_costs():
    """The ratio is 1 at 4 clients and 0.5 at 64, in each of three blocks."""

    def tps(at):
        is_expensive = at["workload"] == "oltp_update_index" and at["clients"] == "64"
        return 5_000.0 if is_expensive else 10_000.0

    made = spec(ENGINE, LOAD, factor("clients", 4, 64), repeats=3)
    postgres, _ = index_update_cost(costed(study(made, tps, noise=0.001), lambda _: {})).claims
    assert postgres.effect == pytest.approx(0.5**0.5, rel=0.01)
    assert 0.7 < postgres.low < postgres.high < 0.715
    assert "3 pairs" in postgres.doubt


def test_lost_hot_updates_are_detected_by_log_records():
    found = index_update_cost(costed(of_engines(run_of=counted), log_records))
    postgres, mariadb = found.claims
    assert postgres.is_decided
    assert postgres.effect == pytest.approx(5 / 3)
    assert "90 % of the updates of a plain column were HOT, 0 % of those" in plain(
        postgres.sentence
    )
    assert mariadb.effect == pytest.approx(1.8)
    assert "HOT" not in mariadb.sentence


def test_bytes_written_are_counted_for_each_changed_row():
    def costs(at):
        if at["engine"] == "mariadb":
            return {"rows_written": 2, "wal_bytes": 600, "buffers_written": 0.1,
                    "doublewrite_pages": 0.1}  # fmt: skip
        return {"rows_written": 2, "wal_bytes": 400, "buffers_written": 0.1}

    def run(_levels):
        return MadeRun(100, seconds=10).facts(facts(row_bytes=200.0))

    trials = costed(of_engines(run_of=run, clients=(4, 64)), costs)
    found = answered("write-costs", trials, factor="engine", by="workload")
    sentence = plain(found.claims[0].sentence)
    # (400 + 0.1 · 8192) / 2 = 610 bytes, three times the row of 200
    assert "postgres writes 610 B per changed row (200 B of log, 410 B of pages; 3.0" in sentence


def test_jitter_is_compared_over_all_loads():
    def wavy(at):
        height = 0.2 if at["engine"] == "postgres" else 0.1
        return MadeRun(1000 * (1 + height * np.tile([1.0, -1.0], 10)), seconds=20, warmup=0)

    (claim,) = answered("jitter", of_engines(run_of=wavy), factor="engine").claims
    assert claim.is_decided
    assert claim.effect == pytest.approx(0.5, rel=0.01)
    assert "0.5 times" in claim.sentence


def test_loads_of_one_block_are_one_sample_of_jitter():
    """Their ratios differ by load; three blocks of three loads are three samples, not nine."""

    def wavy(at):
        height = 0.2 if at["engine"] == "postgres" else 0.2 * ADVANTAGE[at["workload"]]
        return MadeRun(1000 * (1 + height * np.tile([1.0, -1.0], 10)), seconds=20, warmup=0)

    (claim,) = answered("jitter", of_engines(run_of=wavy), factor="engine").claims
    assert claim.effect == pytest.approx(1.2 ** (1 / 3), rel=0.001)
    assert claim.high - claim.low < 0.001


def promising(**promises):
    def server(trial):
        recorded = {"version": "1", "durability": {"fsync": "on"}}
        return {"server": {"promise": promises[trial.point["engine"]], **recorded}}

    return answered("equal-promise", changed(of_engines(repeats=1), server), factor="engine")


def test_equal_durability_is_reported_as_equal():
    found = promising(postgres="full", mariadb="full")
    assert found.claims[0].sentence == "All variants have the same durability: full."
    assert found.shown[0].rows[0] == ("postgres", "1", "full", "fsync=on")


def test_a_durability_that_is_no_level_is_not_called_different():
    (claim,) = promising(postgres=None, mariadb=None).claims
    assert "is not known (postgres –, mariadb –)" in claim.sentence
    assert not claim.is_decided


def test_an_unequal_promise_comes_before_any_winner():
    (claim,) = promising(postgres="full", mariadb="relaxed").claims
    assert "differ in durability" in claim.sentence
    assert "postgres full, mariadb relaxed" in claim.sentence
    assert "--durability full" in claim.doubt
