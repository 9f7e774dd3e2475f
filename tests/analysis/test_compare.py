"""Verdicts and their wording for runs with known differences."""

import math

import msgspec
import pytest
from msgspec.structs import replace

from dbdyno.analysis.compare.compare import compare, compare_levels
from dbdyno.analysis.compare.metrics import KNOWN
from dbdyno.analysis.compare.verdicts import change, changes, ratio_text
from dbdyno.model.comparison import Comparison
from dbdyno.model.record import Finding
from tests.analysis.records import record, records

TPS = "throughput_tps"
WAL = "wal_bytes"


def only(comparison):
    (found,) = comparison.metrics
    return found


def tps_pairs(before, after, **how):
    return only(compare(records(before), records(after), [TPS], paired=True, **how))


def test_pairs_by_hand():
    """Ratios of 1, 2 and 4: logarithms to the base 2 have mean 1, s = 1, t(0.975, 2) = 4.303."""
    found = tps_pairs([100, 100, 100], [100, 200, 400])
    half = 2 ** (4.3027 / math.sqrt(3))
    assert found.ratio == pytest.approx(2)
    assert (found.low, found.high) == pytest.approx((2 / half, 2 * half), rel=1e-3)
    assert found.p == pytest.approx(0.2254, abs=1e-4)  # t = √3
    assert (found.before, found.after) == pytest.approx((100, 200))
    assert (found.pairs, found.method) == (3, "paired t")
    assert found.verdict == "cannot tell"


def test_drift_affects_both_runs_of_a_pair():
    before, after = [100, 200, 50, 80], [109, 221, 55, 88]
    assert tps_pairs(before, after).verdict == "better"
    unpaired = only(compare(records(before), records(after), [TPS]))
    assert (unpaired.verdict, unpaired.method) == ("cannot tell", "Welch t")


@pytest.mark.parametrize(
    ("after", "verdict", "sentence"),
    [
        (
            [110, 111, 109],
            "better",
            "Throughput rose by 10\u202f% (+7.5\u202f% to +13\u202f% at 95\u202f%, 3 pairs, "
            "p = 0.003): better.",
        ),
        (
            [90, 89, 91],
            "worse",
            "Throughput fell by 10\u202f% (−12\u202f% to −7.5\u202f% at 95\u202f%, 3 pairs, "
            "p = 0.0037): worse.",
        ),
        (
            [100.1, 100.2, 99.9],
            "same",
            "Throughput stayed the same within ±3\u202f% (+0.067\u202f%; −0.31\u202f% to "
            "+0.45\u202f% at 95\u202f%, 3 pairs).",
        ),
        (
            [105, 99, 103],
            "cannot tell",
            "Throughput cannot be told apart at this sample size (+2.3\u202f%; −5\u202f% to "
            "+10\u202f% at 95\u202f%, 3 pairs); about 8 more pairs (2 to 319) would be needed "
            "to detect 3\u202f% with 80\u202f% power.",
        ),
        (
            [350, 340, 360],
            "better",
            "Throughput rose to 3.5 times (3.26 to 3.76 times at 95\u202f%, 3 pairs, "
            "p = 0.00017): better.",
        ),
    ],
    ids=["better", "worse", "same", "untold", "times"],
)
def test_verdicts_in_words(after, verdict, sentence):
    found = tps_pairs([100, 100, 100], after)
    assert found.verdict == verdict
    assert found.sentence == sentence


def test_lower_response_times_are_better():
    runs = [[record(p95_ms=ms) for ms in side] for side in ([10, 11, 12], [5, 5.4, 6.1])]
    assert only(compare(*runs, ["response_p95_ms"], paired=True)).verdict == "better"


def test_a_change_that_is_certain_and_too_small_to_matter_is_the_same():
    found = tps_pairs([1000, 1001, 999], [1010, 1011, 1009.2])
    assert found.p < 0.0001
    assert found.verdict == "same"
    assert found.sentence.endswith("at 95\u202f%, 3 pairs, p < 0.0001).")
    assert tps_pairs([1000, 1001, 999], [1010, 1011, 1009.2], margin=0.005).verdict == "better"


def test_more_than_fifteen_pairs_are_compared_by_a_reproducible_bootstrap():
    before = [100 + place % 5 for place in range(16)]
    after = [tps * (1.02 + 0.002 * (place % 7)) for place, tps in enumerate(before)]
    found = tps_pairs(before, after)
    assert found.method == "paired bootstrap"
    assert found.low < 1.0257 < found.high
    assert tps_pairs(before, after) == found


def test_the_p_of_a_metric_counts_how_many_are_shown():
    costs = [{WAL: 400, "server_cpu_us": 200}, {WAL: 404, "server_cpu_us": 199}]
    after = [{WAL: 420, "server_cpu_us": 203}, {WAL: 421, "server_cpu_us": 196}]
    sides = [[record(costs=one) for one in side] for side in (costs, after)]
    alone = only(compare(*sides, [WAL], paired=True))
    beside, _ = compare(*sides, [WAL, "server_cpu_us"], paired=True).metrics
    assert beside.p == alone.p == alone.p_adjusted
    assert beside.p_adjusted == pytest.approx(2 * alone.p)
    assert beside.detectable > alone.detectable


def test_a_metric_significant_alone_but_not_among_others_is_reported_as_such():
    """An interval that excludes no change would otherwise seem to contradict the verdict."""
    sides = [
        [record(tps, p95_ms=ms) for tps, ms in zip(*side, strict=True)]
        for side in (
            ([100, 100, 100], [10, 10, 10]),
            ([50, 40, 60], [9, 12, 10]),
        )
    ]
    throughput, _ = compare(*sides, [TPS, "response_p95_ms"], paired=True).metrics
    assert throughput.high < 1
    assert throughput.sentence == (
        "Throughput cannot be told apart at this sample size (−51\u202f%; −70\u202f% to "
        "−18\u202f% at 95\u202f%, 3 pairs, p = 0.053 after Holm correction); about 1 more "
        "pair (1 to 31) would be needed to detect 51\u202f% with 80\u202f% power."
    )


def test_levels_that_are_compared_with_one_reference_are_so_many_tests():
    """Significant alone (p = 0.027), but not when another level is compared as well."""
    same, halved = ([100, 100, 100], [101, 100, 99]), ([100, 100, 100], [50, 40, 60])
    sides = {
        name: tuple([record(tps) for tps in side] for side in both)
        for name, both in {"same": same, "halved": halved}.items()
    }
    cells = {name: [(block, "") for block in range(3)] for name in sides}
    alone = compare_levels({"halved": sides["halved"]}, TPS, cells=cells)
    assert alone["halved"].verdict == "worse"
    together = compare_levels(sides, TPS, cells=cells)
    assert together["halved"].verdict == "cannot tell"
    assert together["halved"].p_adjusted == 2 * together["halved"].p


def test_pairs_of_one_block_are_one_sample_of_a_level():
    side = ([100, 101, 100, 99], [50, 51, 49, 50])
    both = tuple([record(tps) for tps in one] for one in side)
    cells = {"halved": [(0, "few"), (0, "many"), (1, "few"), (1, "many")]}
    assert compare_levels({"halved": both}, TPS, cells=cells)["halved"].pairs == 2


def test_pairs_in_which_one_run_has_no_such_metric_are_left_out():
    before = [record(100, costs={WAL: 400}), record(100), record(101, costs={WAL: 402})]
    after = [
        record(100, costs={WAL: 440}),
        record(99, costs={WAL: 1}),
        record(99, costs={WAL: 441}),
    ]
    throughput, wal = compare(before, after, [TPS, WAL], paired=True).metrics
    assert (throughput.pairs, wal.pairs) == (3, 2)
    assert wal.ratio == pytest.approx(1.0985, abs=1e-4)


def test_a_requested_metric_that_was_not_measured_is_reported():
    found = compare(records([1, 2]), records([1, 2]), [TPS, WAL], paired=True)
    assert [one.id for one in found.metrics] == [TPS]
    assert found.doubts == ["wal_bytes was not measured in runs of both variants"]
    assert compare(records([1, 2]), records([1, 2]), paired=True).doubts == []


def test_a_usual_metric_that_only_one_side_measured_is_reported():
    """A gate must not pass in silence because the change that it is for was not measured."""
    measured = [record(100, costs={WAL: wal}) for wal in (400, 402)]
    found = compare(measured, records([100, 101]), paired=True)
    assert "wal_bytes was not measured in runs of both variants" in found.doubts
    assert "server_cpu_us" not in " ".join(found.doubts)


def test_something_that_was_nothing_before_has_no_ratio_but_a_verdict():
    before, after = (
        [record(costs={"fpi": fpi}) for fpi in side] for side in ([0] * 3, [50, 52, 51])
    )
    rising = only(compare(before, after, ["fpi"], paired=True))
    assert (rising.ratio, rising.low, rising.verdict) == (math.inf, None, "worse")
    assert rising.sentence == (
        "fpi rose from 0 to 51 bytes per transaction (3 pairs, p = 0.00013): worse."
    )
    assert change(rising.ratio) == "from nothing"
    falling = only(compare(after, before, ["fpi"], paired=True))
    assert (falling.ratio, falling.verdict) == (0, "better")
    neither = only(compare(before, before, ["fpi"], paired=True))
    assert (neither.ratio, neither.verdict) == (1, "same")


def single(costs):
    return [record(1000, p95_ms=10, costs=costs)]


def test_two_single_runs_compare_costs_and_nothing_else():
    found = compare(
        single({WAL: (400, 396, 404), "server_cpu_us": (200, 180, 220), "io": 5.0}),
        single({WAL: (500, 495, 505), "server_cpu_us": (210, 190, 230), "io": 6.0}),
    )
    verdicts = {one.id: (one.verdict, one.method) for one in found.metrics}
    assert verdicts == {
        TPS: ("cannot tell", "none"),
        "response_p95_ms": ("cannot tell", "none"),
        "response_p99_ms": ("cannot tell", "none"),
        "server_cpu_us": ("cannot tell", "single runs"),
        WAL: ("worse", "single runs"),
        "io": ("cannot tell", "none"),
    }
    wal = next(one for one in found.metrics if one.id == WAL)
    assert wal.low < 1.25 < wal.high
    assert wal.p is None
    assert "within the runs, one run of each): worse" in wal.sentence
    assert "understate how much runs differ" in found.doubts[0]


@pytest.mark.parametrize("after", [(4, 0, 8), (4, 1, 7)])
def test_a_cost_of_a_single_run_whose_interval_nearly_includes_the_other_run_is_open(after):
    """Four times as much, but by its interval hardly more, or not known to be more than nothing."""
    found = only(compare(single({WAL: (1, 0.9, 1.1)}), single({WAL: after}), [WAL]))
    assert found.verdict == "cannot tell"


def test_single_runs_without_an_interval_of_a_cost_say_so():
    switches, wal = compare(
        single({WAL: 400, "voluntary_switches": 1}),
        single({WAL: 900, "voluntary_switches": 9}),
        ["voluntary_switches", WAL],
    ).metrics
    assert wal.sentence.endswith(
        "no interval within a run that excludes 0; longer runs may have one."
    )
    assert "interval" not in switches.sentence


def test_costs_that_are_0_in_both_runs_are_left_out_unless_asked_for():
    before, after = single({"fpi": 0.0, "io": 0.0}), single({"fpi": 0.0, "io": 1.0})
    assert {one.id for one in compare(before, after).metrics} & {"fpi", "io"} == {"io"}
    assert only(compare(before, after, ["fpi"])).id == "fpi"


@pytest.mark.parametrize("whose", ["", "in", "client_", "client_in"])
def test_context_switches_of_single_runs_are_not_decided(whose):
    """Of fifteen pairs of runs of one variant beside other work, ten differed in switches."""
    switches = f"{whose}voluntary_switches"
    assert switches in KNOWN
    found = compare(
        single({switches: (0.5, 0.45, 0.55)}), single({switches: (0.8, 0.7, 0.9)}), [switches]
    )
    assert only(found).verdict == "cannot tell"


def test_costs_of_single_runs_that_differ_by_less_than_the_margin_are_no_change():
    """The intervals ignore how runs vary, so certainty about a small difference proves nothing."""
    near = compare(single({WAL: (400, 399.9, 400.1)}), single({WAL: (405, 404.9, 405.1)}), [WAL])
    assert only(near).verdict == "same"
    beyond = compare(single({WAL: (400, 396, 404)}), single({WAL: (415, 411, 419)}), [WAL])
    assert only(beyond).verdict == "cannot tell"


def test_sets_of_unlike_size_and_one_run_against_many():
    many = records([100, 101, 99, 100.5, 98.8])
    welch = compare(many, records([120, 121, 119]), [TPS])
    assert (only(welch).method, only(welch).verdict) == ("Welch t", "better")
    assert "5 and 3 runs" in only(welch).sentence
    assert welch.doubts == [
        "the runs are not paired: any drift of the host is confounded with the difference"
    ]
    one = compare(many, records([120]), [TPS])
    assert (only(one).method, only(one).verdict) == ("Student t", "better")
    assert "single run" in one.doubts[-1]
    assert only(compare(records([120]), many, [TPS])).verdict == "worse"


def test_doubts_about_the_runs_are_doubts_about_the_comparison():
    short = [replace(run, doubts=[f"too short: {run.seed} s"]) for run in records([100, 101])]
    found = compare(short, records([110, 111]), [TPS], paired=True)
    assert found.doubts == ["2 of 4 runs: too short"]


def test_unequal_conditions_are_kept_and_pairs_must_be_pairs():
    found = compare(records([1, 2]), records([1, 2]), [TPS], unequal=["fsync"], labels=("a", "b"))
    assert (found.unequal, found.before, found.after) == (["fsync"], "a", "b")
    with pytest.raises(ValueError, match="as many runs"):
        compare(records([1, 2]), records([1]), [TPS], paired=True)


def test_a_comparison_can_be_written_and_read():
    found = compare(records([100, 101, 99]), records([110, 105, 112]), [TPS], paired=True)
    assert msgspec.json.decode(msgspec.json.encode(found), type=Comparison) == found


@pytest.mark.parametrize(
    ("ratio", "expected"),
    [
        (0.994, "0.994"),
        (1.0004, "1.000"),
        (0.0000291, "<\u202f0.0001"),
        (21.515, "21.5"),
        (343_319.6, "343\u202f320"),
    ],
)
def test_a_ratio_of_a_table_is_never_nothing_and_has_no_idle_decimals(ratio, expected):
    assert ratio_text(ratio) == expected


def test_both_ends_of_an_interval_have_one_form():
    assert changes(1.91, 4.06) == "1.91 to 4.06 times"
    assert changes(0.06, 26.4) == "0.06 to 26.4 times"
    assert changes(0.98, 1.04) == "−2\u202f% to +4\u202f%"
    assert changes(1.04, 1.04) == "+4\u202f%"


PLAN = ["the plan of “select 1” changed"]


@pytest.mark.parametrize(
    ("tps", "costs", "plans", "verdict"),
    [
        ((70, 2525), {}, PLAN, "better"),
        ((2525, 70), {}, PLAN, "worse"),
        ((70, 2525), {}, [], "cannot tell"),  # a disturbed host may do that
        ((700, 2525), {}, PLAN, "cannot tell"),  # and this, even with another plan
        ((70, 2525), {"server_cpu_us": ((900, 890, 910), (30, 29, 31))}, [], "better"),
        # The work is 1.5 times as much, or more: neither explains more transactions.
        ((70, 2525), {"server_cpu_us": ((45, 44, 46), (30, 29, 31))}, [], "cannot tell"),
        ((70, 2525), {"server_cpu_us": ((30, 29, 31), (900, 890, 910))}, [], "cannot tell"),
        # Without an interval it is no evidence; WAL is none for throughput.
        ((70, 2525), {"server_cpu_us": (900, 30)}, [], "cannot tell"),
        ((70, 2525), {"wal_bytes": ((900, 890, 910), (30, 29, 31))}, [], "cannot tell"),
    ],
)
def test_single_runs_that_differ_much_are_judged_if_plan_or_work_says_why(
    tps, costs, plans, verdict
):
    sides = [
        [record(tps[side], costs={name: values[side] for name, values in costs.items()})]
        for side in (0, 1)
    ]
    compared = compare(*sides, changed_plans=plans)
    throughput = next(one for one in compared.metrics if one.id == TPS)
    assert throughput.verdict == verdict
    assert throughput.p is None
    if verdict == "cannot tell":
        return
    assert throughput.method == "size"
    assert throughput.sentence.endswith(f"(one run of each, by the size): {verdict}.")
    (doubt,) = (doubt for doubt in compared.doubts if doubt.startswith("one run of each"))
    assert "is not a test" in doubt
    assert (PLAN[0] if plans else "server_cpu_us −97") in doubt


def test_several_runs_are_never_judged_by_the_size():
    sides = [records([70, 500]), records([2525, 300])]
    assert only(compare(*sides, [TPS], changed_plans=PLAN)).verdict == "cannot tell"


def finding(rule, severity="major", **evidence):
    return Finding(id=rule, title=rule, severity=severity, summary=f"{rule}.", evidence=evidence)


def test_findings_that_appear_and_vanish_are_named_with_their_share():
    def runs(*of_each):
        return [replace(record(100), findings=list(findings)) for findings in of_each]

    scan, lock = finding("scan", table="items"), finding("lock", "critical")
    before = runs([scan], [scan], [scan, lock])
    after = runs([lock, finding("scan", table="lines")], [lock], [lock])
    assert compare(before, after, [TPS]).findings == [
        "only in after (3 of 3 runs), critical: lock.",
        "only in before (3 of 3 runs), major: scan.",
    ]
    assert compare(before, before, [TPS]).findings == []


def test_further_costs_that_changed_have_their_intervals_between_pairs():
    sides = [
        [record(100, costs={"buffers_hit": hit * drift}) for drift in (1, 2, 3.01)]
        for hit in (10, 20)
    ]
    (moved,) = compare(*sides, paired=True).moved
    assert (moved.id, round(moved.ratio)) == ("buffers_hit", 2)
    assert compare(*sides).moved == []  # as two sets, they drift by more than that


def test_what_is_left_of_a_large_fall_is_shown():
    assert change(0.0016) == "−99.8\u202f%"
    assert change(0.02) == "−98\u202f%"
