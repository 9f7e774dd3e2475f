"""Arrivals by a schedule that their clients, or the server, cannot keep up with."""

import pytest
from inline_snapshot import snapshot
from msgspec import structs

from dbdyno.analysis.summarize import full_record
from dbdyno.explain.rule import CouldNotLook, NotFound
from dbdyno.model.record import Latency
from tests.explain.asking import said, words
from tests.store.hdr import HISTOGRAMS
from tests.support.recordings import MadeRun


def timed(run, *, response_ms, service_ms):
    """The run with these mean times."""
    recording = run.recording()
    record = structs.replace(
        full_record(recording, HISTOGRAMS),
        response_ms=mean(response_ms),
        service_ms=mean(service_ms),
    )
    return structs.replace(recording, record=record)


def mean(value_ms):
    names = (name for name in Latency.__struct_fields__ if name != "mean")
    return Latency(mean=value_ms, **dict.fromkeys(names, value_ms))


def test_a_rate_above_what_is_done():
    finding = said("schedule_lag", MadeRun(400, waiting=600, clients=4, seconds=20, is_open=True))
    assert finding.evidence == {
        "due_per_s": 1000,
        "throughput_tps": 400,
        "waiting_at_end": 12_000,
    }
    assert words(finding) == snapshot("""\
critical: The rate is more than was done
1 000 transactions a second became due and 400 were done: 12 000 had not begun
at the end, and response times are as long as the run.
""")


def test_busy_clients_let_others_wait():
    run = MadeRun(380, clients=4, seconds=20, is_open=True)
    finding = said("schedule_lag", timed(run, response_ms=40, service_ms=10))
    assert finding.share == pytest.approx(0.75)
    assert finding.evidence["busy_share"] == pytest.approx(0.95)
    assert words(finding) == snapshot("""\
critical: Arrivals wait for a free client
Transactions were due for 30 ms before a client was free to begin them, 75 % of
their response time.
From due to done 40 ms, from sent to done 10 ms.
4 clients were busy for 95 % of their time: at 10 ms each they do 400 TPS at
most.
""")


def test_clients_with_time_to_spare_start_what_is_due():
    run = MadeRun(100, clients=4, seconds=20, is_open=True)
    assert isinstance(said("schedule_lag", timed(run, response_ms=12, service_ms=10)), NotFound)


def test_a_closed_loop_has_no_schedule():
    assert isinstance(said("schedule_lag", MadeRun(clients=4, seconds=20)), NotFound)


def test_without_times_it_could_not_look():
    run = MadeRun(400, clients=4, seconds=20, is_open=True)
    assert isinstance(said("schedule_lag", run), CouldNotLook)
