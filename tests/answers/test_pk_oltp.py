"""Conclusions about one-row transactions, from runs with known effects."""

import itertools

import msgspec
import numpy as np
import pytest

from dbdyno.answers.answering import all_answers
from tests.answers.costed import changed, costed, facts
from tests.answers.made import contrast, factor, spec, study
from tests.support.recordings import MadeRun

FPW = factor("full_page_writes", "on", "off")


def answered(name, trials, **options):
    return all_answers()[name].answer(trials, options)


def of_full_page_writes(*, noise, repeats=3, **changes):
    """Images are nine tenths of the WAL and cost a tenth of the throughput."""
    made = spec(FPW, repeats=repeats, **changes)
    trials = study(
        made, lambda at: 9000.0 if at["full_page_writes"] == "on" else 10_000.0, noise=noise
    )
    return costed(
        trials,
        lambda at: (
            {"wal_bytes": 2000, "wal_full_page_bytes": 1800, "full_page_images": 0.25}
            if at["full_page_writes"] == "on"
            else {"wal_bytes": 200, "full_page_images": 0}
        ),
    )


def test_bytes_show_the_effect_where_throughput_cannot():
    found = answered("full-page-writes", of_full_page_writes(noise=0.3))
    (claim,) = found.claims
    assert claim.is_decided
    assert claim.effect == pytest.approx(10)
    assert "although throughput is inconclusive" in claim.sentence
    assert "0.25 full-page images per transaction were counted" in claim.sentence
    assert "more pairs" in claim.doubt


def test_a_significant_throughput_effect_is_reported_as_well():
    (claim,) = answered("full-page-writes", of_full_page_writes(noise=0.001)).claims
    assert "although" not in claim.sentence
    assert "worse" in claim.doubt


def test_repeats_that_would_decide_are_those_of_the_contrast():
    """Holm over its three metrics: more repeats than throughput alone would need."""
    metrics = ("wal_bytes", "throughput_tps", "response_p95_ms")
    trials = of_full_page_writes(
        noise=0.3, contrasts=(contrast(FPW.name, "off", "on", metrics=metrics),)
    )
    (claim,) = answered("full-page-writes", trials).claims
    (_, throughput, _) = answered("contrasts", trials).claims
    assert claim.doubt.partition("(")[2] == throughput.sentence.partition("(")[2]


def test_that_images_were_counted_does_not_decide_how_much_they_add():
    trials = costed(
        study(spec(FPW, repeats=2), lambda _: 9000.0, noise=0.3),
        lambda at: (
            {"wal_bytes": 2000, "full_page_images": 0.25}
            if at["full_page_writes"] == "on"
            else {"wal_bytes": 200}
        ),
    )
    noisy = changed(trials, lambda trial: {"costs": _grown(trial.record.costs, trial.block)})
    (claim,) = answered("full-page-writes", noisy).claims
    assert claim.low < 1 < claim.high
    assert not claim.is_decided
    assert "counted, in every run with it on and in none with it off" in claim.sentence
    assert claim.doubt.startswith("wal_bytes cannot be told apart at this sample size")


def _grown(costs, block):
    """In the second block, images are a quarter of those in the first, and so is the WAL."""
    share = 1 if block == 1 or len(costs) == 1 else 0.25
    return [msgspec.structs.replace(cost, value=cost.value * share) for cost in costs]


def test_images_are_never_more_than_what_was_written():
    trials = costed(
        study(spec(FPW, repeats=2), lambda _: 9000.0),
        lambda _: {"wal_bytes": 2000, "wal_full_page_bytes": 2100},
    )
    (table,) = answered("full-page-writes", trials).shown
    assert table.rows[0][3:5] == ("0\u202fB", table.rows[0][2].split(" (")[0])


def test_a_single_pair_decides_nothing():
    (claim,) = answered("full-page-writes", of_full_page_writes(noise=0.0, repeats=1)).claims
    assert not claim.is_decided


def test_without_both_levels_the_missing_one_is_named():
    trials = study(spec(FPW, repeats=2), lambda _: 1000.0)
    assert "whose WAL was counted" in answered("full-page-writes", trials).missing


def checkpointed(levels, *, with_dip=True):
    """Ninety seconds with a checkpoint at second 40: half the throughput, ten times the WAL."""
    has_images = levels["full_page_writes"] == "on"
    after = np.zeros(90, dtype=bool)
    after[40:48] = with_dip
    ok = np.where(after, 500.0, 1000.0) + 3 * np.tile([1.0, -1.0], 45)
    run = MadeRun(ok, seconds=90, warmup=0)
    before = (np.arange(90) < 40) | (not has_images)
    wal, images = np.where(before, 200.0, 2000.0) * ok, np.where(before, 0.0, 0.25) * ok
    run.counters("pg_stat_wal", {"wal_bytes": wal, "wal_records": ok, "wal_fpi": images})
    run.counters("pg_stat_checkpointer", {"num_timed": (np.arange(90) == 40).astype(float)})
    run.log(40.0, "checkpoint_start", reason="time")
    run.log(60.0, "checkpoint_end", total_s=20.0, write_s=19.0, sync_s=0.5)
    return run


def of_checkpoints(**shape):
    trials = study(
        spec(FPW, repeats=2), lambda _: 1000.0, run_of=lambda levels: checkpointed(levels, **shape)
    )
    return costed(trials, lambda _: {"wal_bytes": 1000}, duration_s=90.0)


def test_checkpoints_are_described_by_wal_and_by_dip():
    length, wal, dip = answered("checkpoint-dips", of_checkpoints()).claims
    assert length.sentence == "4 of 4 runs contain a complete checkpoint."
    assert wal.is_decided
    assert wal.effect == pytest.approx(10, rel=0.01)
    assert wal.sentence.startswith("full_page_writes on: in the seconds after a checkpoint started")
    assert "full-page images per transaction: 0 before, 0.25 after" in wal.sentence
    assert dip.is_decided
    assert dip.effect == pytest.approx(-0.5, abs=0.01)
    assert dip.evidence["length_s"] == 8


def test_a_checkpoint_without_a_dip_is_not_given_one():
    *_, dip = answered("checkpoint-dips", of_checkpoints(with_dip=False)).claims
    assert not dip.is_decided
    assert "None of 4 checkpoints" in dip.sentence


def test_read_only_runs_need_no_checkpoints():
    trials = costed(of_checkpoints(), lambda _: {"wal_bytes": 0.1})
    assert answered("checkpoint-dips", trials).missing


def test_runs_without_a_checkpoint_are_reported_as_such():
    def bare(_levels):
        return MadeRun(1000, seconds=10).read("pg_stat_checkpointer")

    trials = study(spec(FPW, repeats=2), lambda _: 1000.0, run_of=bare)
    (length,) = answered("checkpoint-dips", costed(trials, lambda _: {"wal_bytes": 200})).claims
    assert length.sentence == "0 of 4 runs contain a complete checkpoint."
    assert "no checkpoint slows" in length.doubt


def test_a_checkpoint_that_was_cut_off_slows_its_run_all_the_same():
    """Of the four runs two have a checkpoint that ends, one has a start alone, and one has none."""
    begun = itertools.count()

    def run(_levels):
        made = MadeRun(1000, seconds=10, warmup=0).read("pg_stat_checkpointer")
        number = next(begun)
        if number < 3:
            made.log(4.0, "checkpoint_start", reason="time")
        if number < 2:
            made.log(7.0, "checkpoint_end", total_s=3.0, write_s=2.0, sync_s=0.5)
        return made

    trials = study(spec(FPW, repeats=2), lambda _: 1000.0, run_of=run)
    written = costed(trials, lambda _: {"wal_bytes": 200}, duration_s=10.0)
    length, *_ = answered("checkpoint-dips", written).claims
    assert length.sentence == (
        "2 of 4 runs contain a complete checkpoint; in 3 at least one started."
    )
    assert length.doubt.startswith(
        "1 run contains only a part of a checkpoint and 1 run measured a server that no checkpoint "
        "slows; "
    )


def test_events_are_drawn_into_the_curve():
    found = answered("throughput-over-time", of_checkpoints(), by="full_page_writes")
    on, off = found.shown
    assert on.title == "Throughput over time, full_page_writes on"
    assert [(span.kind, span.begin_s, span.end_s) for span in off.spans] == [("checkpoint", 40, 60)]
    assert len(on.series[0].x) == 90
    assert "1 checkpoint and 0 autovacuums" in on.summary


def test_hot_updates_and_growth_are_counted():
    def updating(_levels):
        run = MadeRun(100, seconds=10)
        updates = {"n_tup_upd": 100, "n_tup_hot_upd": 98, "autovacuum_count": 0}
        run.counters("pg_stat_user_tables", updates, of="tbl")
        return run.facts(facts(), facts(size=8_601_600))

    trials = study(spec(FPW, repeats=2), lambda _: 100.0, run_of=updating)
    on, _off = answered("hot-and-growth", trials).claims
    sentence = on.sentence.replace("\u202f", " ")
    assert sentence.startswith("full_page_writes on: 98 % of 2 000 updates were HOT")
    assert "(+5 %)" in sentence
    assert "indexes unchanged at 800 KiB" in sentence


def test_averages_stand_beside_the_lowest_and_highest_interval():
    trials = study(spec(FPW, repeats=2), lambda _: 1000.0, noise=0.0)
    found = answered("extremes", trials, by="full_page_writes")
    both, on, _off = found.claims
    assert both.sentence == (
        "transactions per second: on 1\u202f000 (95 %: 1\u202f000 to 1\u202f000), "
        "off 1\u202f000 (95 %: 1\u202f000 to 1\u202f000); "
        "the lowest measurement interval as a share of that: on 90\u202f%, off 90\u202f%."
    )
    assert "measurement intervals from 900 to 1\u202f100" in on.sentence
    (table,) = found.shown
    assert table.rows[0][-1] == "90\u202f%"


def test_tables_have_the_order_of_the_study_and_not_of_its_runs():
    trials = study(spec(FPW, repeats=2), lambda _: 1000.0)
    shuffled = msgspec.structs.replace(trials, trials=trials.trials[::-1])
    (table,) = answered("extremes", shuffled, by="full_page_writes").shown
    assert [row[0] for row in table.rows] == ["on", "off"]


def test_means_are_called_what_they_are():
    (table,) = answered("extremes", study(spec(FPW), lambda _: 1000.0), by=FPW.name).shown
    assert table.note.startswith("Averages are geometric means over runs")
    (table,) = answered("full-page-writes", of_full_page_writes(noise=0.01)).shown
    assert table.note.startswith("Geometric means over runs")


def test_smaller_scale_than_published_is_reported():
    def run(_levels):
        return MadeRun(1000, seconds=5, clients=4).facts(facts(checkpoint_timeout=30))

    trials = study(spec(FPW), lambda _: 1000.0, run_of=run, duration_s=5.0)
    found = answered(
        "scaled-down",
        trials,
        published={"rows": "50 million", "clients": "26", "checkpoint_timeout": "10 min"}
        | {"time": "5 s"},
    )
    (claim,) = found.claims
    sentence = claim.sentence.replace("\u202f", " ")
    assert "rows 1 000 000 (published: 50 million)" in sentence
    assert "clients 4 (published: 26)" in sentence
    assert "checkpoint_timeout 30 s (published: 10 min)" in sentence
    assert "time" not in sentence.replace("checkpoint_timeout", "")
