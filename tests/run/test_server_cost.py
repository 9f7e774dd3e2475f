"""The server's processor time is read where the measuring begins and where it ends."""

import itertools

import pytest
from msgspec.structs import replace

from dbdyno.run import server_cost
from dbdyno.run.server_cost import ServerCost
from tests.support.frames import SECOND_NS, counters, done, interval, started


@pytest.fixture
def _ticking(monkeypatch):
    """Each reading is a thousand microseconds after the one before."""
    readings = itertools.count(0, 1000)
    monkeypatch.setattr(server_cost, "cpu_us", lambda _pid: next(readings))


def cost_of(*phases: str, warmup_s: int, measured_s: int | None) -> float | None:
    cost = ServerCost(process_id=1)
    begin = warmup_s * SECOND_NS
    end = None if measured_s is None else begin + measured_s * SECOND_NS
    cost.started(replace(started(begin), measure_end_ns=end))
    for index, phase in enumerate(phases):
        cost.interval(interval(index, phase=phase))
    return cost.per_transaction_us(done(counted=counters(ok=10)))


@pytest.mark.usefixtures("_ticking")
@pytest.mark.parametrize(
    ("phases", "warmup_s", "measured_s"),
    [
        (("warmup", "warmup", "measure", "measure", "drain", "drain"), 2, 2),
        (("measure", "measure"), 0, 2),
        (("measure", "measure", "drain"), 0, None),
        (("measure",), 0, None),
    ],
)
def test_two_readings_make_the_cost(phases, warmup_s, measured_s):
    # Readings follow each other directly: begin, then end.
    assert cost_of(*phases, warmup_s=warmup_s, measured_s=measured_s) == 100


def test_a_server_elsewhere_has_no_cost():
    cost = ServerCost(process_id=None)
    cost.started(started())
    assert cost.per_transaction_us(done()) is None


def test_nothing_committed_has_no_cost():
    cost = ServerCost(process_id=1)
    cost.started(started())
    assert cost.per_transaction_us(done(counted=counters(ok=0))) is None
