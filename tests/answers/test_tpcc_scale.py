"""What bounds new orders a minute, from runs with known pauses and causes."""

import math

import pytest

from dbdyno.answers.answering import all_answers
from dbdyno.model.record import (
    AuditRecord,
    Finding,
    RateRecord,
    ScriptRecord,
    TransactionCounts,
)
from tests.answers.costed import changed
from tests.answers.made import factor, spec, study
from tests.answers.test_engines import plain
from tests.support.numbers import latency

PACING = factor("pacing", "off", "spec")
SCALE = factor("scale", 1, 2, title="warehouses")
ALLOWED = 12.605


def answered(trials, **options):
    return all_answers()["nopm-bound"].answer(trials, options)


def finding(name):
    return Finding(
        id=name, title="Row-lock convoy", severity="major", summary="", evidence={}, share=0.7,
        share_of="client time",
    )  # fmt: skip


def of_orders(*, mean_ms=20.0, limit_ok=True, minutes=10):
    """Four clients; paced ones have 12 new orders a minute for each warehouse."""

    def record(trial):
        is_paced, scale = trial.point["pacing"] == "spec", int(trial.point["scale"])
        nopm = (12.0 if is_paced else 6000.0) * scale * (1 + 0.001 * trial.block)
        orders = round(nopm * minutes)
        done = orders * 23 // 10
        limit = AuditRecord(
            name="90th percentile of payment", unit="ms", value=1.0, low=None, high=5000.0,
            count=done, ok=limit_ok,
        )  # fmt: skip
        return {
            "nopm": RateRecord(value=nopm, low=nopm * 0.9, high=nopm * 1.1),
            "efficiency": nopm / scale / ALLOWED if is_paced else None,
            "duration_s": 60.0 * minutes,
            "response_ms": latency(mean_ms),
            "transactions": TransactionCounts(
                ok=done, failed=0, skipped=0, unfinished=0, retried=0
            ),
            "scripts": [
                ScriptRecord(
                    name="new-order", weight=10, ok=orders, failed=0, skipped=0, response_ms=None,
                    service_ms=None,
                )
            ],
            "audit": [limit],
            "findings": [] if is_paced else [finding("row_lock_convoy")],
        }  # fmt: skip

    return changed(study(spec(PACING, SCALE, repeats=3), lambda _: 1000.0), record)


def test_without_pauses_the_best_point_is_named_with_its_most_severe_cause():
    best, *_ = answered(of_orders()).claims
    assert best.is_decided
    assert best.effect == pytest.approx(12000, rel=0.01)
    assert "at pacing off, warehouses 2, bounded by: Row-lock convoy (70 %" in plain(best.sentence)


def test_terminals_that_hardly_wait_for_the_server_are_bounded_by_their_pauses():
    _, one, two = answered(of_orders()).claims
    assert one.effect == pytest.approx(12 / ALLOWED, rel=0.01)
    # 27.6 transactions a minute of 20 ms each, in the time of the clients of a made-up run.
    assert one.evidence["paused_share"] > 0.9
    assert one.sentence.endswith("so pauses bound it. Response limits kept: all.")
    assert one.evidence["new_orders"] == pytest.approx(3 * 120, rel=0.01)
    chance = 100 / math.sqrt(two.evidence["new_orders"])
    assert f"by {chance:.3g} %" in plain(two.doubt)


def test_terminals_that_wait_most_of_their_time_are_bounded_by_the_server():
    _, _, two = answered(of_orders(mean_ms=60_000.0)).claims
    assert two.evidence["paused_share"] == 0
    assert "so the server does" in two.sentence


def test_limits_that_were_not_kept_are_named_in_the_table():
    (table,) = answered(of_orders(limit_ok=False)).shown
    assert {row[-2] for row in table.rows} == {"not 90th percentile of payment"}
    (table,) = answered(of_orders()).shown
    assert {row[-2] for row in table.rows} == {"all"}
    assert [row[-1] for row in table.rows][2].startswith("pauses (")


def test_runs_of_other_workloads_have_no_new_orders():
    trials = study(spec(PACING, SCALE, repeats=2), lambda _: 1000.0)
    assert answered(trials).missing == "no run counted new orders"
