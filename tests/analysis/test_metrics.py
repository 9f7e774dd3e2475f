import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from dbdyno.analysis.compare.metrics import (
    KNOWN,
    RATES,
    RESPONSES,
    THROUGHPUT,
    USUAL,
    is_cost,
    metrics_of,
)
from dbdyno.model.record import RateRecord
from tests.analysis.records import record

GOLDEN = Path(__file__).parents[1] / "explain" / "golden"


def test_a_run_is_compared_by_what_it_measured():
    found = metrics_of(record(1000, p95_ms=10, costs={"wal_bytes": (400, 390, 410)}))
    assert list(found) == [THROUGHPUT, *RESPONSES, "wal_bytes"]
    assert found[THROUGHPUT].better == "higher"
    assert found["response_p95_ms"].value == 10
    assert (found["wal_bytes"].low, found["wal_bytes"].high) == (390, 410)
    assert found["wal_bytes"].unit == "bytes per transaction"
    assert {one.better for name, one in found.items() if name != THROUGHPUT} == {"lower"}


def test_every_cost_of_real_runs_is_a_declared_metric():
    records = (json.loads(path.read_text()) for path in GOLDEN.glob("*/run.json"))
    found = {cost["id"] for run in records for cost in run["costs"]}
    assert len(found) > 15
    assert found <= set(KNOWN)
    assert set(USUAL) <= set(KNOWN)


def test_a_run_that_measured_nothing_has_no_metrics():
    assert metrics_of(record()) == {}


@pytest.mark.parametrize("name", RATES)
def test_what_a_workload_is_known_for_is_better_when_there_is_more(name):
    run = replace(record(1000), **{name: RateRecord(value=600.0, low=None, high=650.0)})
    found = metrics_of(run)[name]
    assert (found.value, found.high, found.better) == (600.0, 650.0, "higher")
    assert name in KNOWN
    assert not is_cost(name)


def test_costs_of_single_scripts_are_parts_and_not_compared():
    run = record(costs={"wal_bytes": 400})
    of_script = [replace(cost, script="one", value=1.0) for cost in run.costs]
    assert metrics_of(replace(run, costs=[*run.costs, *of_script]))["wal_bytes"].value == 400


def test_costs_of_the_client_and_of_the_server_are_distinguished():
    run = record(costs={"switches": 3, "engine": 2})
    switches, engine = (replace(cost, side="client") for cost in run.costs)
    found = metrics_of(replace(run, costs=[switches, replace(engine, title="Engine CPU")]))
    assert [one.title for one in found.values()] == ["switches of the client", "Engine CPU"]


def test_throughput_and_response_times_are_no_costs():
    assert [name for name in USUAL if is_cost(name)] == ["server_cpu_us", "wal_bytes"]
