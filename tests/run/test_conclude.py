"""The record with its explanation: no failure there may lose what was measured."""

import pytest
from msgspec.structs import replace

from dbdyno.model.record import TransactionCounts
from dbdyno.model.run import Run
from dbdyno.run import conclude
from dbdyno.run.conclude import explained
from tests.support.recordings import MadeRun, changed

COUNTS = TransactionCounts(ok=20_000, failed=0, skipped=0, unfinished=0, retried=0)


def measured(made: MadeRun, duration_s: float = 20.0) -> Run:
    recording = made.loaded()
    record = replace(
        recording.record, transactions=COUNTS, duration_s=duration_s, telemetry={"level": "basic"}
    )
    return changed(recording, record=record)


def test_costs_findings_and_what_could_not_be_seen():
    made = MadeRun(seconds=20, engine={"round_trips": 7000}).lack("log", "no right to read it")
    telemetry = {"level": "basic", "waits_hz": 2.0}
    run = changed(measured(made), engine={"telemetry": telemetry})
    record = explained(run, pytest.fail)
    assert record.telemetry == {
        "level": "basic",
        "waits_hz": 2.0,
        "lacks": [{"source": "log", "reason": "no right to read it"}],
    }
    assert [cost.value for cost in record.costs if cost.id == "round_trips"] == [7.0]
    assert record.not_looked


def test_a_defect_leaves_the_numbers_and_a_line(monkeypatch):
    def fail(_run):
        raise ZeroDivisionError("in a rule")

    monkeypatch.setattr(conclude, "explain", fail)
    messages: list[str] = []
    record = explained(measured(MadeRun(seconds=20)), messages.append)
    assert messages == ["the run could not be explained: ZeroDivisionError: in a rule"]
    assert record.transactions == COUNTS
    assert record.findings == []


def test_the_servers_processor_time_of_a_run_too_short_for_a_cost():
    """One reading shortly after the end: 31 ms over 3.1 s, of which 2 s were measured."""
    made = MadeRun(seconds=2, warmup=1).counters(
        "processes", {"user_us": 20_000, "system_us": 11_000}, of="server", at_s=2.1
    )
    record = explained(measured(made, duration_s=2.0), pytest.fail)
    assert record.server["cpu_us_per_transaction"] == pytest.approx(10.0)
