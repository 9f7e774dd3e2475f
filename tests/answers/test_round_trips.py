"""What round trips cost, from runs whose round trips and response times are known."""

import pytest

from dbdyno.answers.answering import all_answers
from dbdyno.model.record import CostRecord, NetworkDelayRecord, RateRecord
from tests.answers.costed import changed
from tests.answers.made import factor, spec, study
from tests.answers.test_engines import plain
from tests.support.numbers import latency

STYLE = factor("style", "statements", "pipelined", "procedures")
DELAY = factor("delay_ms", 0, 4, 20, title="delay in ms")
TRIPS = {"statements": 28.0, "pipelined": 6.0, "procedures": 1.0}
# Milliseconds in which the server works for a transaction.
WORK_MS = {"statements": 9.0, "pipelined": 7.0, "procedures": 5.0}


def trips(value):
    return CostRecord(
        id="round_trips", title="Round trips", unit="", side="network", value=value, low=None,
        high=None,
    )  # fmt: skip


def of_styles(*, repeats=4, queued_ms=0.0, noise=0.002):
    """With ``queued_ms``, statements wait for others for so long at each millisecond of delay."""

    def record(trial):
        style = trial.point["style"]
        # The proxy takes longer than asked for, which only its measurement tells.
        longer = int(trial.point["delay_ms"]) * 1.1 + 0.1
        waits = queued_ms * longer if style == "statements" else 0.0
        response = WORK_MS[style] + TRIPS[style] * longer + waits
        response *= 1 + noise * (trial.block % 3 - 1)
        nopm = 60_000 / response
        return {
            "response_ms": latency(response),
            "costs": [trips(TRIPS[style])],
            "nopm": RateRecord(value=nopm, low=nopm, high=nopm),
            "network_delay": NetworkDelayRecord(
                requested_ms=float(trial.point["delay_ms"]), p50_ms=longer, p95_ms=longer, count=9
            ),
        }

    return changed(study(spec(STYLE, DELAY, repeats=repeats), lambda _: 1000.0), record)


def answered(trials):
    options = {"style": "style", "reference": "statements", "delay": "delay_ms"}
    return all_answers()["round-trip-cost"].answer(trials, options)


def test_the_verdict_says_what_a_longer_round_trip_costs_with_each_style():
    verdict, *counts = answered(of_styles()).claims
    assert verdict.is_decided
    assert plain(verdict.sentence).startswith(
        "For each millisecond that a round trip takes longer, a transaction takes longer by 28 ms "
        "with statements, 6 ms with pipelined, 1 ms with procedures"
    )
    assert [one.effect for one in counts[:3]] == pytest.approx([28, 6, 1], rel=0.01)
    assert "round trips of the 28 that it makes" in plain(counts[0].sentence)


def test_what_was_predicted_from_the_counts_is_what_was_measured():
    savings = answered(of_styles()).claims[4:]
    assert len(savings) == 4
    for one in savings:
        assert one.is_decided
        assert one.effect == pytest.approx(1, rel=0.01)
        assert "is as predicted within ±10" in plain(one.sentence)
    # 2 ms less work, and 22 round trips less, of 4.5 and 22.1 ms.
    assert "pipelined saves 101 ms of a transaction at delay in ms 4" in plain(savings[0].sentence)
    assert "procedures saves 601 ms" in plain(savings[3].sentence)


def test_locks_held_during_round_trips_make_more_be_saved_than_predicted():
    *_, last = answered(of_styles(queued_ms=10.0)).claims
    assert last.is_decided
    assert last.effect > 1.2
    assert "is more than predicted" in last.sentence


def test_one_block_has_no_interval_and_decides_nothing():
    verdict, *others = answered(of_styles(repeats=1)).claims
    assert not verdict.is_decided
    assert verdict.undecided == "statements, pipelined, procedures"
    assert not any(claim.is_decided for claim in others)


def test_each_point_and_each_saving_has_a_row():
    points, savings = answered(of_styles()).shown
    assert len(points.rows) == 9
    assert [row[:2] for row in savings.rows] == [
        (style, f"delay in ms {delay}")
        for style in ("pipelined", "procedures")
        for delay in (4, 20)
    ]


def test_runs_without_a_proxy_have_round_trips_of_one_length():
    trials = study(spec(STYLE, DELAY, repeats=2), lambda _: 1000.0)
    assert answered(trials).missing == "no block has round trips of different lengths"
