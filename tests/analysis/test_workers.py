"""What about the agents of a load weakens its numbers, by hand."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, TypeAlias, cast

import numpy as np
import pytest
from msgspec.structs import replace

from dbdyno.analysis.workers import (
    TRANSACTIONS_MIN,
    by_number,
    host_effects,
    starved_workers,
    worker_doubts,
    worker_lines,
    worker_records,
)
from dbdyno.engine import histogram_bars, histogram_merge, histogram_quantiles
from dbdyno.model.plan import Address, ClientGroup, Endpoint, Plan
from dbdyno.model.record import Latency, WorkerRecord
from dbdyno.model.run import Histograms, Run
from dbdyno.model.tables import WorkerIntervals
from dbdyno.model.worker import WorkerPart
from tests.engine.running import plan_for
from tests.store.hdr import encode

Clients: TypeAlias = tuple[int, ...]
HISTOGRAMS = Histograms(histogram_quantiles, histogram_merge, histogram_bars)


def part(name: str = "local-1", **changes: Any) -> WorkerPart:
    usual: dict[str, Any] = {
        "host": "h",
        "clients": (0, 1),
        "threads": 1,
        "transactions": 4000,
        "cpu_us": 8000,
        "response": None,
        "clock_offset_ns": -1500,
        "clock_bound_ns": 2500,
        "clock_drifted_ns": 0,
        "begun_late_ns": 0,
        "lost_at_s": None,
        "why_lost": "",
    }
    return WorkerPart(name=name, **{**usual, **changes})


def test_the_record_of_an_agent():
    """Of 4000 transactions, 1000 were rolled back or ended after the measured time."""
    run = run_of(("local-1", 1, {"completed_committed": 3000}))
    (record,) = worker_records(run, [part(cpu_us=6000, clock_drifted_ns=3500)])
    assert (record.transactions, record.tps, record.cpu_us_per_transaction) == (4000, 1500.0, 2.0)
    clock = (record.clock_offset_us, record.clock_bound_us, record.clock_drift_us)
    assert clock == (-1.5, 2.5, 3.5)


def test_what_a_lost_agent_did_not_report_is_not_known():
    lost = part(cpu_us=None, lost_at_s=1.5)
    run = run_of(("local-1", 1, {"completed_committed": 3000}))
    (record,) = worker_records(run, [lost])
    assert (record.tps, record.cpu_us_per_transaction, record.response_ms) == (None, None, None)


def test_one_whose_load_was_given_up_has_told_what_it_did():
    ended = part(cpu_us=6000, response=encode([1_000_000]), lost_at_s=1.5)
    (record,) = worker_records(run_of(("local-1", 1, {"completed_committed": 3000})), [ended])
    assert (record.tps, record.cpu_us_per_transaction) == (None, 2.0)
    assert record.response_ms is not None


def test_a_lost_agent_is_a_doubt():
    lost = part(lost_at_s=12.0, why_lost="nothing was heard of it")
    (doubt,) = worker_doubts([lost, part("local-2")])
    assert doubt.startswith(
        "worker lost: local-1 and its 2 clients were lost after 12\u202fs (nothing"
    )


@pytest.mark.parametrize(
    ("what", "how"),
    [
        ("begun_late_ns", "began 6\u202fms after the common instant"),
        ("clock_bound_ns", "answers so slowly that its clock is known to within 6\u202fms only"),
        ("clock_drifted_ns", "has a clock that went 6\u202fms apart from this host's"),
    ],
)
def test_clocks_far_apart_are_a_doubt_with_the_cause(what, how):
    assert not list(worker_doubts([part(**{what: 5_000_000})]))
    (doubt,) = worker_doubts([part(**{what: 6_000_000})])
    assert doubt.startswith(f"worker clock: local-1 {how}")


def record(name: str, p50: float, p99: float, transactions: int = TRANSACTIONS_MIN) -> WorkerRecord:
    (blank,) = worker_records(run_of(), [part(name, transactions=transactions)])
    response = Latency(mean=p50, p50=p50, p90=p99, p95=p99, p99=p99, p999=p99, p9999=p99, max=p99)
    fields = {name: getattr(blank, name) for name in blank.__struct_fields__}
    return WorkerRecord(**{**fields, "response_ms": response})


PLAN = plan_for(Endpoint(address=Address(), user="u", database="d"), "select 1;", clients=6)


def doubts(*records: WorkerRecord, plan: Plan = PLAN, clients: Sequence[Clients] = ()) -> list[str]:
    """Of agents with so many clients each, or with these."""
    clients = clients or [(0, 1)] * len(records)
    parts = [part(record.name, clients=own) for record, own in zip(records, clients, strict=True)]
    return list(host_effects(plan, parts, records))


def test_an_agent_apart_from_all_others_is_a_doubt():
    others = [record("a", 1.0, 3.0), record("b", 1.1, 3.2)]
    (doubt,) = doubts(*others, record("far", 2.0, 3.1))
    assert doubt == (
        "host effect: p50 of far was 2\u202fms, and of the 2 other workers with such clients at "
        "most 1.1\u202fms"
    )
    (doubt,) = doubts(*others, record("near", 0.2, 3.1))
    assert "p50 of near was 200\u202fµs" in doubt
    assert doubt.endswith("at least 1\u202fms")
    (doubt,) = doubts(*others, record("tail", 1.0, 9.0))
    assert doubt.startswith("host effect: p99 of tail was 9\u202fms")


def test_what_shows_no_effect_of_a_host():
    near = [record("a", 1.0, 3.0), record("b", 1.1, 3.2)]
    assert doubts(*near, record("c", 1.3, 4.0)) == []
    assert doubts(near[0], record("far", 2.0, 3.0)) == [], "which of two is it?"
    assert doubts(*near, record("few", 9.0, 9.0, TRANSACTIONS_MIN - 1)) == []
    quick = [record("a", 0.01, 0.02), record("b", 0.01, 0.02)]
    assert doubts(*quick, record("c", 0.03, 0.06)) == [], "less than a tenth of a millisecond"


SEVERAL = replace(PLAN.endpoint, further_addresses=[Address(), Address()])
STANDBYS = replace(PLAN.endpoint, standby_addresses=[Address(), Address(), Address()])
TERMINALS_AND_ANALYST = [ClientGroup(clients=5, scripts=1), ClientGroup(clients=1, scripts=1)]


@pytest.mark.parametrize(
    ("changes", "clients"),
    [
        ({"endpoint": SEVERAL}, [(0, 3), (1, 4), (2, 5), (2, 5)]),
        ({"endpoint": STANDBYS}, [(0,), (1,), (3,), (5,)]),
        ({"groups": TERMINALS_AND_ANALYST}, [(0, 1), (2, 3), (4,), (4, 5)]),
    ],
    ids=["servers", "standbys", "groups"],
)
def test_other_clients_are_no_effect_of_a_host(changes, clients):
    """The last one's server is slow, or it has the analyst."""
    records = [record("a", 1.0, 3.0), record("b", 1.1, 3.2), record("c", 1.2, 3.0)]
    plan = replace(PLAN, **changes)
    assert doubts(*records, record("d", 9.0, 90.0), plan=plan, clients=clients) == []
    assert len(doubts(*records, record("d", 9.0, 90.0), clients=clients)) == 1


def test_agents_with_the_same_kinds_of_clients_are_compared():
    records = [record("a", 1.0, 3.0), record("b", 1.1, 3.2), record("far", 9.0, 90.0)]
    plan = replace(PLAN, endpoint=SEVERAL)
    each_server = [(0, 1, 2), (3, 4, 5), (0, 4, 2)]
    assert len(doubts(*records, plan=plan, clients=each_server)) == 1
    # A client that connects for each transaction begins at the same server each time.
    anew = replace(plan, reconnect_each_transaction=True)
    assert doubts(*records, plan=anew, clients=[(0,), (1,), (2,)]) == []
    # The last client is an executor, which has no transactions.
    executing = replace(PLAN, groups=[ClientGroup(clients=5, scripts=1)], executors=1)
    assert len(doubts(*records, plan=executing, clients=[(0,), (1,), (2, 5)])) == 1


def run_of(*rows: tuple[str, int, dict[str, float]]) -> Run:
    """An interval of the warm-up and one measured; a row says which agent saw what in which."""
    columns = {
        name: np.array(
            [
                {"worker": worker, "interval": interval}.get(name, its.get(name, 0.0))
                for worker, interval, its in rows
            ],
            dtype=kind.numpy,
        )
        for name, kind in WorkerIntervals.schema.items()
    }
    columns["seconds"] = np.ones(len(rows))
    intervals = SimpleNamespace(
        interval=np.array([0, 1]), seconds=np.ones(2), phase=np.array(["warmup", "measure"])
    )
    found = SimpleNamespace(
        worker_intervals=WorkerIntervals(columns),
        intervals=intervals,
        record=SimpleNamespace(imported=None),
        engine=SimpleNamespace(done=SimpleNamespace(measured_ns=2_000_000_000)),
        histograms=HISTOGRAMS,
        kept={},
    )
    return cast("Run", found)


def test_lines_are_by_name_and_have_gaps_where_nothing_was_reported():
    lines = worker_lines(
        run_of(
            ("local-10", 0, {"completed_committed": 5, "p99_ms": 1.5}),
            ("local-9", 0, {"completed_committed": 7, "cpu_us": 9e5}),
            ("local-9", 1, {"completed_committed": 8, "cpu_us": 1e5}),
        )
    )
    assert lines.names == ["local-9", "local-10"]
    np.testing.assert_array_equal(lines.tps, [[7, 8], [5, np.nan]])
    np.testing.assert_array_equal(lines.p99_ms, [[0, 0], [1.5, np.nan]])
    assert lines.cpu_s.tolist() == [0.1, 0.0]  # the warm-up is no measurement
    assert sorted(["h2-10", "h2-9", "h10"], key=by_number) == ["h2-9", "h2-10", "h10"]


def test_one_that_waits_for_a_processor_much_longer_than_the_others_is_a_doubt():
    def waiting(*shares: float, hosts: str = "") -> list[str]:
        names = [f"local-{number}" for number in range(1, len(shares) + 1)]
        of_hosts = zip(names, hosts or "h" * len(shares), strict=True)
        parts = [part(name, threads=2, host=host) for name, host in of_hosts]
        records = worker_records(run_of(), parts)
        rows = [
            (name, 1, {"waited_us": 2e6 * share}) for name, share in zip(names, shares, strict=True)
        ]
        return list(starved_workers(run_of(*rows), records))

    assert not waiting(0.2, 0.01, 0.01)  # too little
    assert not waiting(0.4, 0.3, 0.25)  # all of them: the server shares their host
    assert len(waiting(0.6, 0.05)) == 1  # the other one is all that there is to compare with
    (doubt,) = waiting(0.1, 0.6, 0.1)
    assert doubt.startswith("worker starved: the threads of local-2 were ready to run and had no")
    # All on one host lack the same CPUs: what is usual, others tell.
    starved = waiting(0.6, 0.6, 0.6, 0.1, 0.1, hosts="aaabc")
    assert len(starved) == 3
    assert "those of the others on other hosts for 10\u202f% (median)" in starved[0]


def test_one_that_stood_still_is_a_doubt_by_name():
    run = run_of(("local-1", 1, {}), ("local-2", 1, {"paused_us": 4e5}))
    (doubt,) = starved_workers(run, worker_records(run, [part(), part("local-2")]))
    assert doubt.startswith("worker paused: local-2 itself stood still for 0.4 s")


def test_a_load_that_was_not_shared_has_no_lines():
    assert not worker_lines(run_of()).names
    assert not list(starved_workers(run_of(), []))
