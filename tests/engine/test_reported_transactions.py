"""Transactions that the engine reports one by one: as many as it counts, each in its interval."""

from collections import Counter
from itertools import pairwise

import pytest

from dbdyno.model.frame import Interval, Transactions
from dbdyno.peers.reported_rows import DEADLOCK, OK, OTHER, SERIALIZATION, SKIPPED, rows_of
from tests.engine.running import MS, plan_for

FAILS = (
    "do $$ begin raise exception using errcode = case when random() < 0.5 then '40001' "
    "when random() < 0.5 then '40P01' else '22012' end; end $$;"
)
KINDS = {"serialization": SERIALIZATION, "deadlock": DEADLOCK}


@pytest.mark.parametrize(
    "changes",
    [{}, {"rate_tps": 2000, "latency_limit_ns": MS}, {"rate_tps": 300}],
    ids=["closed", "skipping", "open"],
)
def test_the_rows_are_what_is_counted(local, checked, changes):
    plan = plan_for(
        *(local.endpoint(), "select pg_sleep(0.001);", FAILS),
        reports="transactions",
        ends_on_hopeless_script=False,
        **changes,
    )
    result = checked(plan)
    rows = [row for frame in result.all(Transactions) for row in rows_of(frame).tolist()]
    fates = Counter(fate for _, _, fate, *_ in rows)
    failed = Counter({SERIALIZATION: 0, DEADLOCK: 0, OTHER: 0})
    for failure in result.done.failures:
        failed[KINDS.get(failure.failure_class, OTHER)] += failure.count
    assert fates[OK] == result.counters.ok > 0
    assert fates[SKIPPED] == result.counters.skipped
    assert {fate: fates[fate] for fate in failed} == failed
    assert all(due <= sent <= done for *_, due, sent, done in rows)
    clients = {client for client, _, fate, *_ in rows if fate != SKIPPED}
    assert clients == {0, 1}


def test_the_rows_of_an_interval_precede_it(local, checked):
    result = checked(plan_for(local.endpoint(), "select 1;", reports="transactions"))
    frames = [one for one in result.frames if isinstance(one, Interval | Transactions)]
    for before, after in pairwise(frames):
        assert isinstance(before, Transactions) == isinstance(after, Interval)
        if isinstance(before, Transactions) and isinstance(after, Interval):
            done = rows_of(before)["done"]
            assert after.begin_ns <= done.min(initial=after.begin_ns)
            assert done.max(initial=0) <= after.end_ns


def test_without_asking_there_are_none(local, checked):
    assert not checked(plan_for(local.endpoint(), "select 1;")).all(Transactions)
