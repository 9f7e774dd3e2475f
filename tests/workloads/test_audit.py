"""What a workload demands of a run, against what a run counted."""

import pytest
from msgspec.structs import replace

from dbdyno.analysis.doubts import unmet_demands
from dbdyno.formatting import plain
from dbdyno.model.record import CheckRecord, ScriptRecord
from dbdyno.workloads.audit import Ratio, ResponseLimit, audited, mix
from dbdyno.workloads.conditions import all_readings, told
from tests.support.numbers import latency

ROLLED_BACK = Ratio(
    name="rolled back", of="order not committed", among="order", low=0.009, high=0.011
)


def script(name: str, ok: int, committed: int | None = None, ms: float | None = None):
    return ScriptRecord(
        name=name,
        weight=1,
        ok=ok,
        committed=committed,
        failed=0,
        skipped=0,
        response_ms=None if ms is None else replace(latency(ms), p90=ms),
        service_ms=None,
    )


@pytest.mark.parametrize(
    ("orders", "rolled_back", "ok"),
    [
        (10_000, 100, True),
        (9_999, 100, None),
        (0, 0, None),
        # Chance alone moves a share of 1 % of 10 000 by 0.3 % in one of three hundred runs.
        (10_000, 88, None),
        (10_000, 135, None),
        (10_000, 160, False),
        (10_000, 0, False),
        (1_000_000, 11_100, None),
        (1_000_000, 11_400, False),
        (1_000_000, 8_600, False),
    ],
)
def test_a_share_is_judged_when_chance_cannot_explain_it(orders, rolled_back, ok):
    (found,) = audited([ROLLED_BACK], {}, [script("order", orders, orders - rolled_back)])
    assert found.ok is ok
    assert (found.count, found.low, found.high) == (orders, 0.009, 0.011)
    assert found.value == (rolled_back / orders if orders else None)


def test_what_scripts_count_has_its_place_beside_what_the_engine_counts():
    demands = [
        Ratio(name="lines", of="lines", among="order", low=9.5, high=10.5, unit="each"),
        Ratio(name="payments", of="payment", among="transactions", low=0.43, high=None),
        Ratio(name="never counted", of="nothing", among="payment", low=0.5, high=None),
    ]
    scripts = [script("order", 20_000, 19_800), script("payment", 20_000, 20_000)]
    lines, payments, never = audited(demands, {"lines": 201_000}, scripts)
    assert (lines.value, lines.ok) == (10.05, True)
    assert (payments.value, payments.count, payments.ok) == (0.5, 40_000, True)
    assert (never.value, never.ok) == (0.0, False)


def test_a_mix_allows_a_twentieth_more_or_less_of_each_share():
    demands = mix({"read": 95, "write": 5, "never": 0})
    assert [one.name for one in demands] == ["read", "write"]
    scripts = [script("read", 950_000), script("write", 60_000), script("query", 50_000)]
    read, write = audited(demands, {}, scripts, mixed=2)
    assert (read.count, read.ok, write.ok) == (1_010_000, True, False)
    assert (read.low, write.high) == (pytest.approx(0.9025), pytest.approx(0.0525))
    assert mix({"only": 7}) == ()


def test_scripts_that_roll_back_what_they_do_not_find_have_both_counts():
    found = Ratio(name="found", of="order committed", among="order", low=0.9, high=None)
    missed = Ratio(name="missed", of="order not committed", among="order", low=None, high=0.1)
    (one, other) = audited([found, missed], {}, [script("order", 20_000, 19_000)])
    assert (one.value, other.value) == (0.95, 0.05)


def test_a_limit_of_response_times_is_one_for_the_90th_percentile():
    demand = ResponseLimit(script="order", limit_ms=5000)
    for ms, ok in ((4_000.0, True), (6_000.0, False), (None, None)):
        (found,) = audited([demand], {}, [script("pay", 1, ms=1.0), script("order", 7, ms=ms)])
        assert (found.value, found.ok, found.count) == (ms, ok, 7)


def test_only_an_unmet_share_weakens_the_numbers():
    demands = [ROLLED_BACK, ResponseLimit(script="order", limit_ms=5)]
    found = audited(demands, {}, [script("order", 20_000, 18_000, ms=9.0)])
    assert [one.ok for one in found] == [False, False]
    (doubt,) = unmet_demands(found)
    assert plain(doubt) == (
        "not as defined: rolled back: 10 % of 20 000, but the definition of the workload demands "
        "0.9 % to 1.1 %"
    )
    assert unmet_demands([replace(one, ok=None) for one in found]) == []


def check(number: str, rows: int = 0, at_s: float | None = None) -> CheckRecord:
    return CheckRecord(
        id=number,
        claim="it is so",
        ok=not rows,
        rows=rows,
        example={"id": 3, "n": None} if rows else None,
        broken_at_s=at_s,
    )


def test_of_a_condition_that_was_broken_the_first_reading_that_saw_it_is_kept():
    readings = [
        [check("1"), check("2")],
        [check("1", rows=2, at_s=61.0), check("2")],
        [check("1", rows=9), check("2"), check("12")],
    ]
    found = all_readings(readings)
    assert [(one.id, one.ok, one.rows, one.times) for one in found.values()] == [
        ("1", False, 2, 3),
        ("2", True, 0, 3),
        ("12", True, 0, 1),
    ]
    assert told(found["1"]) == (
        "condition 1, it is so: broken by 2 rows, the first with id = 3, n = None, 61 s after the "
        "load began"
    )
    assert all_readings([[check("1")], [check("1", rows=1)]])["1"].broken_at_s is None
