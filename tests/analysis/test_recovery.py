"""What an event cost a load whose numbers are known."""

import numpy as np
import pytest
from msgspec.structs import replace

from dbdyno.analysis.events.recovery import loses_too_much, with_recovery
from dbdyno.model.record import FailoverRecord
from tests.support.recordings import MadeRun, changed


def event(at_s: float, first_commit_ms: float | None = None) -> FailoverRecord:
    return FailoverRecord(event="restart", at_s=at_s, first_commit_ms=first_commit_ms)


def test_the_level_is_that_before_and_is_back_at_the_end_of_an_interval():
    ok = [1000, 1000, 1000, 1000, 100, 0, 500, 899, 900, 1000]
    run = MadeRun(ok, seconds=10, warmup=0).loaded()
    (one,) = with_recovery(run, [event(4.25, first_commit_ms=1900)])
    assert one.level_tps == 1000
    assert one.level_90_ms == 4750


def test_a_level_that_is_not_regained_before_the_next_event_is_none():
    """What is left is no level that a later event could be measured by."""
    ok = [1000, 1000, 0, 500, 500, 500, 0, 500, 1000, 500, 500, 0, 800]
    run = MadeRun(ok, seconds=13, warmup=0).loaded()
    first, second, third = with_recovery(run, [event(at_s, 900) for at_s in (2.0, 6.0, 11.0)])
    assert (first.level_tps, first.level_90_ms) == (1000, None)
    assert (second.level_tps, second.level_90_ms) == (None, None)
    assert (third.level_tps, third.level_90_ms) == (500, 2000), "it was back at 9 s"


def test_the_first_level_is_that_after_an_event_at_the_beginning():
    run = MadeRun([1000, 0, 1000, 1000, 0, 1000], seconds=6, warmup=0).loaded()
    first, second = with_recovery(run, [event(0.0, 1500), event(4.0, 500)])
    assert (first.level_tps, first.level_90_ms) == (None, None)
    assert (second.level_tps, second.level_90_ms) == (1000, 2000)


@pytest.mark.parametrize(
    ("ok", "level_90_ms"),
    [
        ([1000, 1000, 1000, 950, 1000], 0),
        ([1000, 1000, 1000, 950, 1000, 500, 1000], 0),  # not at the event
        ([1000, 1000, 950, 0, 0, 900, 1000], 3250),  # it began at the end of an interval
        ([1000, 1000, 800, 950, 1000], 1250),
        ([1000, 1000, 950, 0, 0], None),
    ],
)
def test_a_level_that_no_interval_was_below_was_never_gone(ok, level_90_ms):
    run = MadeRun(ok, seconds=len(ok), warmup=0).loaded()
    (one,) = with_recovery(run, [event(2.75, first_commit_ms=4)])
    assert (one.level_tps, one.level_90_ms) == (1000, level_90_ms)


def test_a_level_that_went_without_an_error_is_looked_for_until_the_event_was_over():
    """Where a command stops a standby, say, commits wait for it: they do not fail."""
    run = MadeRun([1000, 1000, 1000, 1000, 950, 0, 0, 1000], seconds=8, warmup=0).loaded()
    (one,) = with_recovery(run, [replace(event(2.0), took_ms=3100.0)])
    assert (one.level_tps, one.level_90_ms) == (1000, 6000)


def test_without_a_commit_after_the_error_the_level_is_not_back():
    """Although the interval in which the error came had most of it."""
    run = MadeRun([1000, 1000, 950, 0, 0], seconds=5, warmup=0).loaded()
    (one,) = with_recovery(run, [replace(event(2.0), first_error_ms=950)])
    assert (one.level_tps, one.level_90_ms) == (1000, None)


@pytest.mark.parametrize(
    ("lost_ms", "allowed_ms", "is_broken"),
    [
        (None, 0, False),
        (12.0, None, False),
        (12.0, 1000, False),
        (1200.0, 1000, True),
        (12.0, 0, True),
        (0.0, 0, True),  # another client was acknowledged when the first had seen an error
    ],
)
def test_any_loss_is_too_much_where_none_is_allowed(lost_ms, allowed_ms, is_broken):
    one = replace(event(2.0), lost=3, lost_ms=lost_ms, loss_allowed_ms=allowed_ms)
    assert loses_too_much(one) == is_broken


def test_failures_are_those_from_one_event_to_the_next():
    run = MadeRun(seconds=8, warmup=0).loaded()
    counted = [(1, "deadlock", 1, 0), (2, "deadlock", 2, 0), (2, "connection", 8, 3)]
    counted += [(5, "deadlock", 2, 0), (5, "connection", 12, 4)]
    names = ("interval", "class", "count", "unknown")
    columns = dict(zip(names, map(np.array, zip(*counted, strict=True)), strict=True))
    columns |= {"code": np.array([""] * 5), "message": np.array([""] * 5)}
    first, second = with_recovery(
        changed(run, columns={"failures": columns}), [event(2.5), event(5.5)]
    )
    assert (first.failed_by_class, first.unknown) == ({"deadlock": 1, "connection": 8}, 3)
    assert (second.failed_by_class, second.unknown) == ({"connection": 4}, 1)
