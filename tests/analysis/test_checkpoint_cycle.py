import numpy as np
import pytest

from dbdyno.analysis.events.checkpoint_events import missing_cycle
from dbdyno.analysis.summarize import summarize
from dbdyno.model.telemetry import ServerFacts
from tests.support.recordings import MadeRun

SETTINGS = {
    "checkpoint_timeout": "300",
    "max_wal_size": "1024",
    "checkpoint_completion_target": "0.9",
}


def writing(updates=1000, wal_bytes=1e6, settings=SETTINGS):
    run = MadeRun(1000).counters("pg_stat_database", {"tup_updated": updates})
    run.counters("wal_position", {"bytes": wal_bytes}).read("pg_stat_checkpointer")
    return run.facts(ServerFacts(settings=settings))


def test_without_a_checkpoint_the_timeout_determines_how_long_to_run():
    missing = missing_cycle(writing().loaded())
    assert (missing.every_s, missing.reason) == (300, "checkpoint_timeout")
    assert missing.needed_s == pytest.approx(570)


def test_much_wal_fills_max_wal_size_before_the_timeout():
    missing = missing_cycle(writing(wal_bytes=50e6).loaded())
    assert missing.every_s == pytest.approx(2**30 / 1.9 / 50e6)
    assert missing.reason == "max_wal_size at 50.0 MB of WAL a second"


def test_a_checkpoint_that_began_and_ended_is_a_cycle():
    run = writing().log(10.0, "checkpoint_start").log(30.0, "checkpoint_end")
    assert missing_cycle(run.loaded()) is None


@pytest.mark.parametrize(("begin_s", "end_s"), [(-1.0, 30.0), (30.0, 61.0), (50.0, None)])
def test_half_a_checkpoint_is_none(begin_s, end_s):
    run = writing().log(begin_s, "checkpoint_start")
    if end_s:
        run.log(end_s, "checkpoint_end")
    assert missing_cycle(run.loaded()) is not None


def test_runs_that_write_next_to_nothing_have_no_doubt():
    assert missing_cycle(writing(updates=np.append(np.zeros(62), 40)).loaded()) is None


def test_a_run_that_ended_before_its_first_interval_has_no_doubt():
    run = MadeRun(1000, seconds=0, warmup=3, done=False)
    run.counters("pg_stat_database", {"tup_updated": 1000}, at_s=[0.5])
    run.read("pg_stat_checkpointer", at_s=[0.5])
    run.counters("wal_position", {"bytes": 1e6}, at_s=[0.5]).facts(ServerFacts(settings=SETTINGS))
    assert summarize(run.loaded()).duration_s == 0


def test_without_telemetry_nothing_is_known():
    assert missing_cycle(MadeRun().loaded()) is None


@pytest.mark.parametrize("settings", [{}, SETTINGS | {"max_wal_size": "much"}])
def test_without_settings_there_is_a_doubt_but_no_length(settings):
    missing = missing_cycle(writing(settings=settings).loaded())
    assert missing.every_s is missing.needed_s is missing.reason is None
