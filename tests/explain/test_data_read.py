"""Waits for pages from storage, by the counters and by the session samples."""

import pytest

from dbdyno.explain.rule import CouldNotLook, NotFound
from dbdyno.model.telemetry import WaitCount
from tests.explain.made import facts, made_run, table, with_looks
from tests.explain.rule_outcomes import outcome_of

SELECT = "SELECT * FROM accounts WHERE owner = :owner;"
UNITS = {"shared_buffers": "8kB"}
THIN = "\u202f"


def reading(*, seen=2, read=5000, read_ms=1600.0):
    run = made_run(SELECT, clients=4)
    settings = facts(table(), units=UNITS, shared_buffers="128")
    counted = {"blks_hit": 5000, "blks_read": read, "blk_read_time": read_ms}
    run.facts(settings).counters("pg_stat_database", counted)
    return with_looks(run, (0, "IO", "DataFileRead", seen), (0, "", "", 4 - seen))


def test_reads_that_both_accounts_see_are_sure():
    found = outcome_of("data_read", reading())
    assert found.severity == "critical"
    assert found.share == pytest.approx(0.5)
    assert found.certainty == "sure"
    assert found.evidence["share_counted"] == pytest.approx(0.4)
    assert f"waits for 5 pages from storage: 50{THIN}%" in found.summary
    assert any("shared_buffers is 1" in one for one in found.seen)


def test_reads_that_take_no_time_are_no_bound():
    assert isinstance(outcome_of("data_read", reading(seen=0, read_ms=1.0)), NotFound)


def test_reads_that_the_server_counts_but_no_sample_shows():
    outcome = outcome_of("data_read", reading(seen=0))
    assert isinstance(outcome, CouldNotLook)
    assert f"counted reads for 40{THIN}%" in outcome.reason


def test_reads_that_were_neither_timed_nor_sampled():
    run = made_run(SELECT).counters("pg_stat_database", {"blks_hit": 10, "blks_read": 10})
    assert "track_io_timing" in outcome_of("data_read", run).reason


def test_both_accounts_are_of_the_clients_at_work():
    """Of 64 clients 60 wait for the second half of the run, in which all 64 read half the time."""
    run = made_run(SELECT, clients=64, seconds=20, stages=[(10, 4), (10, 64)])
    run.counters("pg_stat_database", {"blks_hit": 5000, "blks_read": 5000, "blk_read_time": 17e3})
    parked = WaitCount("client", -1, "idle", "idle", "Client", "ClientRead", 60)
    for number in range(1, 41):
        half = 2 if number <= 20 else 32
        seen = [
            WaitCount("client", 0, "asking", "active", "IO", "DataFileRead", half),
            WaitCount("client", 0, "asking", "active", "", "", half),
        ]
        run.look(number * 0.5, [*seen, parked] if number <= 20 else seen)
    found = outcome_of("data_read", run)
    assert found.share == pytest.approx(0.5)
    assert found.evidence["share_counted"] == pytest.approx(17 * 20 / (4 * 10 + 64 * 10))
