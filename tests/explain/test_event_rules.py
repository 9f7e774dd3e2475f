"""Checkpoints, autovacuum, settings, steadiness: each rule firing, quiet, and without data."""

import dataclasses

import numpy as np
import pytest
from msgspec.structs import replace

from dbdyno.analysis.summarize import full_record
from dbdyno.explain.registry import all_rules
from dbdyno.explain.rule import CouldNotLook, NotFound
from dbdyno.model.record import StatementRecord
from dbdyno.model.telemetry import PlanFacts, ServerFacts
from tests.explain.made import facts, made_run, table, with_looks
from tests.explain.rule_outcomes import outcome_of
from tests.support.recordings import MadeRun, changed

UPDATE = "UPDATE accounts SET balance = balance + :delta WHERE id = :id;"
THIN = "\u202f"
SECONDS, LEVEL = 240, 1000.0
EVENTS_S = (30, 90, 150, 210)
LONG_S = 10


def dipping(depth, *, seed=1):
    """A steady run whose throughput is lower by ``depth`` for ten seconds of every minute."""
    rng = np.random.default_rng(seed)
    ok = rng.normal(LEVEL, 15, SECONDS + 3)
    for begin in EVENTS_S:
        ok[3 + begin : 3 + begin + LONG_S] *= 1 - depth
    run = MadeRun(ok=np.round(ok), seconds=SECONDS)
    return run.statement(UPDATE).facts(facts(table()))


def with_checkpoints(run):
    for begin in EVENTS_S:
        run.log(begin, "checkpoint_start", reason="time")
        run.log(
            begin + LONG_S,
            "checkpoint_end",
            reason="time",
            write_s=9.0,
            sync_s=0.9,
            total_s=10.0,
            buffers_written=900,
        )
    return run.counters("pg_stat_checkpointer", {"buffers_written": 15})


def with_vacuums(run):
    for begin in EVENTS_S:
        run.log(begin + LONG_S, "autovacuum", table="accounts", elapsed_s=10.0, removed=9000)
    return run


def with_images(run, images_a_second):
    """500 bytes of WAL records per transaction, and images of 8 KiB."""
    images = np.broadcast_to(images_a_second, run.ok.shape)
    counted = {"wal_fpi": images, "wal_bytes": run.ok * 500 + images * 8192, "wal_records": run.ok}
    return run.counters("pg_stat_wal", counted)


def test_a_loss_around_checkpoints_is_attributed_to_them():
    found = outcome_of("checkpoint_io", with_checkpoints(dipping(0.6)))
    # 60 % for 40 of 240 s.
    assert found.evidence["share_of_run"] == pytest.approx(0.1, abs=0.02)
    assert found.severity == "minor"
    assert found.share > 0.9
    assert found.share_of == "lost throughput"
    assert found.certainty == "likely"
    assert found.evidence["sync_s"] == pytest.approx(3.6)


def test_one_checkpoint_that_has_not_ended_is_an_anecdote_of_unknown_length():
    """A step down in the middle of the run may be due to it, or to whatever else began then."""
    ok = np.random.default_rng(1).normal(LEVEL, 15, 63)
    ok[3 + 40 :] *= 0.5
    run = MadeRun(ok=np.round(ok), seconds=60).statement(UPDATE).facts(facts(table()))
    run.log(40, "checkpoint_start", reason="time")
    found = outcome_of(
        "checkpoint_io", run.counters("pg_stat_checkpointer", {"buffers_written": 15})
    )
    assert found.evidence["share_of_run"] > 0.15
    assert (found.severity, found.certainty) == ("minor", "hint")
    assert "none had finished" in found.seen[-1]


def test_checkpoints_that_cost_nothing_are_not_blamed():
    assert isinstance(outcome_of("checkpoint_io", with_checkpoints(dipping(0.0))), NotFound)
    without = dipping(0.6).read("pg_stat_checkpointer")
    assert isinstance(outcome_of("checkpoint_io", without), NotFound)


def test_a_loss_while_autovacuum_works_names_its_tables():
    found = outcome_of("autovacuum_interference", with_vacuums(dipping(0.6)))
    assert found.severity == "minor"
    assert "accounts" in found.summary
    assert isinstance(outcome_of("autovacuum_interference", with_vacuums(dipping(0.0))), NotFound)


def test_of_several_tables_the_one_with_the_longest_vacuums_comes_first():
    run = with_vacuums(dipping(0.6))
    run.log(35, "autovacuum", table="a_catalog", elapsed_s=0.0, removed=0)
    found = outcome_of("autovacuum_interference", run)
    assert "(autovacuum of accounts, autovacuum of a_catalog)" in found.summary
    assert found.seen[1].endswith(f"in total, the autovacuum of accounts for 40{THIN}s.")


def test_autovacuum_that_never_pauses_is_advised_to_pause():
    run = with_vacuums(dipping(0.6))
    found = outcome_of("autovacuum_interference", run)
    assert "raise autovacuum_vacuum_cost_delay" in found.advice[0]
    assert "ten times as long" in found.refute
    run.facts(facts(table(), autovacuum_vacuum_cost_delay="-1", vacuum_cost_delay="0"))
    found = outcome_of("autovacuum_interference", run)
    assert "autovacuum never pauses" in found.advice[0]
    assert "with autovacuum_vacuum_cost_delay = 20ms: the dips" in found.refute
    run.facts(facts(table(autovacuum={"autovacuum_vacuum_cost_delay": "2"}), vacuum_cost_delay="0"))
    assert "ten times as long" in outcome_of("autovacuum_interference", run).refute


def test_vacuums_that_did_not_lose_alike_are_no_share_of_the_losses():
    """All of the loss is in one of four: the interval of their sum includes none."""
    ok = np.random.default_rng(1).normal(LEVEL, 15, SECONDS + 3)
    ok[3 + EVENTS_S[0] : 3 + EVENTS_S[0] + LONG_S] *= 0.1
    run = MadeRun(ok=np.round(ok), seconds=SECONDS).statement(UPDATE).facts(facts(table()))
    found = outcome_of("autovacuum_interference", with_vacuums(run))
    assert (found.certainty, found.share, found.share_of) == ("hint", None, "")
    assert "of all lost throughput" not in found.seen[0]
    alike = outcome_of("autovacuum_interference", with_vacuums(dipping(0.6)))
    assert (alike.share_of, alike.certainty) == ("lost throughput", "likely")
    assert "of all lost throughput" in alike.seen[0]


def of_another_load(run, **plan):
    return changed(run.loaded(), plan=plan)


LOSING = pytest.mark.parametrize(
    ("rule", "run"),
    [
        ("checkpoint_io", with_checkpoints(dipping(0.6))),
        ("autovacuum_interference", with_vacuums(dipping(0.6))),
    ],
    ids=["checkpoint_io", "autovacuum_interference"],
)


@LOSING
def test_at_a_given_rate_less_loss_is_no_more_throughput(rule, run):
    assert "Throughput rises" in outcome_of(rule, run).gain
    of_a_rate = of_another_load(run, arrivals={"open": {"law": "poisson"}})
    assert outcome_of(rule, of_a_rate).gain == "Response times fall; the rate stays as requested."


@LOSING
def test_a_run_in_stages_has_no_loss_to_report(rule, run):
    stage = {"duration_ns": 120 * 10**9, "clients": 8, "rate_tps": None}
    in_stages = of_another_load(run, stages=[stage] * 2)
    assert "in stages" in outcome_of(rule, in_stages).reason


@pytest.mark.parametrize("rule", ["checkpoint_io", "autovacuum_interference"])
def test_a_few_seconds_have_no_baseline(rule):
    run = MadeRun(seconds=2).read("pg_stat_checkpointer").read("pg_stat_user_tables")
    assert "too few intervals" in outcome_of(rule, run).reason


def after_each_event(per_transaction):
    """Images that follow each checkpoint and decay."""
    second = np.arange(-3, SECONDS)
    since = np.min([np.where(second >= at, second - at, np.inf) for at in EVENTS_S], axis=0)
    return per_transaction * np.exp(-since / 5)


def test_images_that_cost_time_after_checkpoints():
    run = dipping(0.6)
    with_images(with_checkpoints(run), after_each_event(1.0) * run.ok)
    found = outcome_of("full_page_writes", run)
    assert found.severity in ("minor", "major")
    assert found.certainty in ("likely", "sure")
    assert found.share_of == "client time"
    assert "of the WAL is full-page images" in found.summary
    assert "after 4 checkpoints" in found.summary
    assert any("with the number of images" in one for one in found.seen)
    assert any("before a checkpoint started" in one for one in found.seen)
    assert "checkpoint_timeout" in found.advice[0]


def test_counted_images_are_held_against_the_pages_that_can_be_touched():
    # 1562 pages of accounts and 256 of its index, each changed between any two checkpoints.
    run = with_images(with_checkpoints(dipping(0.6)), after_each_event(600.0) * 4)
    run.counters("pg_stat_user_tables", {"n_tup_upd": 1000.0}, of="accounts")
    evidence = outcome_of("full_page_writes", run).evidence
    assert evidence["first_touches_expected"] == pytest.approx(4 * (1562 + 256), rel=0.01)
    assert evidence["images_counted"] > 0


def test_few_images_are_not_reported():
    assert isinstance(outcome_of("full_page_writes", with_images(dipping(0.0), 5)), NotFound)


def test_images_of_a_run_that_waits_for_nothing_are_no_cost():
    run = with_images(made_run(UPDATE, ok=100), 95.0)
    with_looks(run, (0, "", "", 0.1), (-1, "idle", "", 7.9))
    assert isinstance(outcome_of("full_page_writes", run), NotFound)


def test_if_only_bytes_show_images_no_share_is_claimed():
    """Time for flushes may depend on their number, so bytes only give an upper bound."""
    run = with_images(made_run(UPDATE, ok=100), 95.0)
    with_looks(run, (0, "IO", "WALSync", 6), (-1, "idle", "", 2))
    found = outcome_of("full_page_writes", run)
    assert (found.share, found.certainty, found.severity) == (None, "hint", "minor")
    assert "at most" in found.gain
    assert "at most" in found.seen[-1]


def test_without_samples_the_cost_of_images_is_unknown():
    run = with_images(made_run(UPDATE, ok=100), 95.0)
    assert isinstance(outcome_of("full_page_writes", run), CouldNotLook)


def test_images_that_an_old_version_does_not_count_are_not_taken_for_none():
    run = made_run().counters("wal_position", {"bytes": 1e6})
    run.lack("pg_stat_wal", "PostgreSQL has pg_stat_wal since version 14")
    assert outcome_of("full_page_writes", run) == CouldNotLook(
        "the share of full-page images in the WAL is not reported: PostgreSQL has pg_stat_wal "
        "since version 14"
    )


def test_without_wal_counters_images_are_unknown():
    assert outcome_of("full_page_writes", made_run()) == CouldNotLook(
        "the WAL was not read for any whole interval"
    )


CYCLE = {
    "checkpoint_timeout": "300",
    "max_wal_size": "1024",
    "checkpoint_completion_target": "0.9",
}


def writing(run):
    run.facts(facts(table(), **CYCLE)).read("pg_stat_checkpointer")
    run.counters("wal_position", {"bytes": 1e6})
    return run.counters("pg_stat_database", {"tup_updated": 1000})


def test_a_run_between_two_checkpoints_gets_the_length_it_needs():
    found = outcome_of("no_checkpoint_cycle", writing(made_run(UPDATE)))
    assert found.severity == "note"
    # The timeout of 300 s comes first, and the checkpoint takes nine tenths of it.
    assert found.evidence == {"checkpoint_every_s": 300, "needed_s": 570}
    assert "checkpoint_timeout" in found.seen[0]
    assert "-T 570" in found.advice[0]


def test_a_run_with_a_whole_checkpoint_and_one_that_wrote_nothing():
    whole = with_checkpoints(writing(dipping(0.0)))
    assert isinstance(outcome_of("no_checkpoint_cycle", whole), NotFound)
    reading = made_run().read("pg_stat_checkpointer")
    assert isinstance(outcome_of("no_checkpoint_cycle", reading), NotFound)


VACUUM = {
    "autovacuum_naptime": "60",
    "autovacuum_vacuum_threshold": "50",
    "autovacuum_vacuum_scale_factor": "0.2",
}


def with_dead_rows(last, *, first=0, seconds=240, vacuums=0, own=None, **settings):
    run = MadeRun(seconds=seconds)
    known = table(autovacuum=own or {})
    run.facts(facts(known, units={"autovacuum_naptime": "s"}, **VACUUM, **settings))
    dead = np.linspace(first, last, len(run.end_s))
    run.levels("pg_stat_user_tables", {"n_live_tup": 100_000, "n_dead_tup": dead}, of="accounts")
    counted = {"n_tup_upd": 1000, "autovacuum_count": vacuums / 240}
    return run.counters("pg_stat_user_tables", counted, of="accounts")


def test_dead_rows_that_rise_above_what_is_tolerated():
    found = outcome_of("autovacuum_behind", with_dead_rows(120_000))
    assert found.severity == "major"
    assert f"accounts has 120{THIN}000 dead rows for 100{THIN}000 live ones" in found.summary
    assert found.evidence["time_to_double_s"] == pytest.approx(200, rel=0.02)
    assert found.evidence["made_per_s"] == pytest.approx(1000, rel=0.02)
    assert found.evidence["cleaned_per_s"] == pytest.approx(500, rel=0.03)


def test_a_table_with_more_dead_than_live_rows_has_no_doubling_time():
    """With one live row the table would double in milliseconds, and long ago."""
    found = outcome_of("autovacuum_behind", with_dead_rows(120_000))
    assert found.why.endswith("the table is more than twice the size that its live rows need.")
    assert "dead rows per live row: 1.2" in found.seen[1]
    found = outcome_of("autovacuum_behind", with_dead_rows(30_000))
    assert f"the table grows: at this rate it doubles in 13{THIN}min" in found.why


def test_dead_rows_within_what_is_tolerated_or_before_autovacuum_came():
    assert isinstance(outcome_of("autovacuum_behind", with_dead_rows(20_000)), NotFound)
    assert isinstance(
        outcome_of("autovacuum_behind", with_dead_rows(120_000, seconds=60)), NotFound
    )


@pytest.mark.parametrize(("first", "is_judged"), [(60_000, True), (105_000, False)])
def test_dead_rows_that_rise_by_less_than_a_threshold_are_between_two_visits(first, is_judged):
    outcome = outcome_of("autovacuum_behind", with_dead_rows(120_000, first=first))
    assert isinstance(outcome, NotFound) != is_judged


@pytest.mark.parametrize(("last", "is_judged"), [(27_000, False), (40_000, True)])
def test_a_rise_of_a_few_of_the_rows_made_dead_is_none(last, is_judged):
    """Of 240 000 rows that became dead, pruning cleaned up all but 7 000."""
    outcome = outcome_of("autovacuum_behind", with_dead_rows(last, first=20_000, autovacuum="off"))
    assert isinstance(outcome, NotFound) != is_judged


@pytest.mark.parametrize(("vacuums", "is_judged"), [(1, False), (2, True)])
def test_between_two_visits_dead_rows_rise_always(vacuums, is_judged):
    outcome = outcome_of(
        "autovacuum_behind", with_dead_rows(120_000, seconds=60, vacuums=vacuums * 4)
    )
    assert isinstance(outcome, NotFound) != is_judged


def test_autovacuum_that_is_off_is_named():
    found = outcome_of("autovacuum_behind", with_dead_rows(30_000, seconds=60, autovacuum="off"))
    assert "autovacuum is off" in found.summary
    assert found.severity == "minor"
    assert "SET autovacuum = on" in found.advice[0]


def test_autovacuum_that_is_off_for_a_table_alone_is_named():
    run = with_dead_rows(30_000, seconds=60, own={"autovacuum_enabled": "false"})
    found = outcome_of("autovacuum_behind", run)
    assert "autovacuum is disabled for this table" in found.summary
    assert found.advice[0] == "ALTER TABLE accounts RESET (autovacuum_enabled);"
    assert found.refute == "Run again with autovacuum on: dead rows must level off."


@pytest.mark.parametrize(
    ("own", "settings", "tolerated"),
    [
        ({}, {}, 20_050),
        ({"autovacuum_vacuum_scale_factor": "0.01"}, {}, 1050),
        ({"autovacuum_vacuum_threshold": "1000"}, {}, 21_000),
        ({}, {"autovacuum_vacuum_max_threshold": "5000"}, 5000),
        ({}, {"autovacuum_vacuum_max_threshold": "-1"}, 20_050),
        ({"autovacuum_vacuum_max_threshold": "600"}, {}, 600),
    ],
)
def test_the_tolerated_dead_rows_follow_the_tables_own_settings(own, settings, tolerated):
    found = outcome_of("autovacuum_behind", with_dead_rows(30_000, own=own, **settings))
    assert found.evidence["tolerated"] == pytest.approx(tolerated)


def test_settings_already_in_effect_are_not_advised():
    own = {"autovacuum_vacuum_scale_factor": "0.01"}
    found = outcome_of("autovacuum_behind", with_dead_rows(30_000, own=own))
    assert found.advice[0] == "ALTER TABLE accounts SET (autovacuum_vacuum_cost_delay = 0);"
    found = outcome_of(
        "autovacuum_behind", with_dead_rows(30_000, own=own, autovacuum_vacuum_cost_delay="0")
    )
    assert "produce fewer dead rows" in found.advice[0]
    assert found.refute == "Run again at half the rate (--rate): dead rows must level off."


def test_the_experiment_changes_what_can_still_be_changed():
    own = {"autovacuum_vacuum_cost_delay": "0"}
    found = outcome_of("autovacuum_behind", with_dead_rows(30_000, own=own))
    assert found.refute == (
        "Run again with autovacuum_vacuum_scale_factor = 0.01: dead rows must level off."
    )


@pytest.mark.parametrize(
    ("settings", "severity", "expected"),
    [
        ({"fsync": "off"}, "minor", "fsync = off"),
        ({"full_page_writes": "off"}, "minor", "full_page_writes = off"),
        ({"synchronous_commit": "off"}, "note", "synchronous_commit = off"),
        ({"autovacuum": "off"}, "note", "autovacuum = off"),
        ({"log_statement": "all"}, "minor", "log_statement = all"),
        ({"log_min_duration_statement": "0"}, "minor", "log_min_duration_statement = 0"),
        ({"shared_buffers": "128"}, "note", f"shared_buffers = 1{THIN}MiB"),
        ({"debug_assertions": "on"}, "minor", "a debug build"),
    ],
)
def test_each_setting_that_distorts_is_named(settings, severity, expected):
    server = facts(table(), units={"shared_buffers": "8kB"}, **settings)
    found = outcome_of("distorting_settings", made_run().facts(server))
    assert found.severity == severity
    assert found.summary == f"The run was measured on a server with {expected}."


@pytest.mark.parametrize(
    ("cost", "above", "mean_ms", "is_short"),
    [
        (200_000, "100000", 8.0, True),
        (200_000, "100000", 800.0, False),
        (120, "0", 800.0, True),
        (120, "100000", 800.0, False),
        (120, "-1", 8.0, False),
    ],
)
def test_jit_on_a_short_query_is_named(cost, above, mean_ms, is_short):
    """A cheap query that is compiled may take long only because it is."""
    plan = PlanFacts(statement=0, variant="generic", cost=cost, nodes=(), text="")
    server = ServerFacts(settings={"jit": "on", "jit_above_cost": above}, plans=(plan,))
    recording = made_run("select sum(balance) from accounts").facts(server).loaded()
    times = dict.fromkeys(("p50_ms", "p95_ms", "p99_ms"), mean_ms)
    measured = StatementRecord(script="s", index=0, sql="", count=9, mean_ms=mean_ms, **times)
    record = replace(full_record(recording), statements=[measured])
    case = dataclasses.replace(recording, record=record)
    outcome = all_rules()["distorting_settings"].look(case)
    assert isinstance(outcome, NotFound) is not is_short


def test_settings_as_they_should_be():
    server = facts(table(), units={"shared_buffers": "8kB"}, fsync="on", shared_buffers="1000000")
    assert isinstance(outcome_of("distorting_settings", made_run().facts(server)), NotFound)
    assert isinstance(outcome_of("distorting_settings", made_run()), CouldNotLook)


def test_a_change_of_level_is_minor_and_noise_a_note():
    rng = np.random.default_rng(4)
    steps = np.concatenate([rng.normal(1000, 20, 63), rng.normal(700, 20, 60)])
    found = outcome_of("unsteady", MadeRun(ok=np.round(steps), seconds=120))
    assert found.severity == "minor"
    assert "Throughput went from 999 to 700 TPS" in found.summary
    noisy = outcome_of("unsteady", MadeRun(ok=np.round(rng.normal(1000, 300, 63)), seconds=60))
    assert noisy.severity == "note"
    assert "±" in noisy.summary
    wild = outcome_of("unsteady", MadeRun(ok=[0] * 3 + [0] * 59 + [1000], seconds=60))
    assert "hardly known" in wild.summary
    assert "No difference can be claimed." in wild.seen


def test_a_short_run_is_a_note_and_a_steady_one_nothing():
    short = outcome_of("unsteady", MadeRun(seconds=6))
    assert short.severity == "note"
    assert f"6{THIN}s were measured" in short.summary
    assert isinstance(outcome_of("unsteady", MadeRun(seconds=60)), NotFound)
