import pytest

from dbdyno.analysis.waits.processor_split import processor_split
from tests.support.recordings import MadeRun

SECONDS = 10


def split(active_s, on_the_way_s, *, used_s, queued_s=0.0):
    """The split for a server that used this much CPU time and was queued for this long."""
    run = MadeRun(seconds=SECONDS, warmup=0)
    counted = {"user_us": used_s * 1e6 / SECONDS, "run_queue_us": queued_s * 1e6 / SECONDS}
    run.counters("processes", counted, of="server")
    return processor_split(run.loaded(), active_s, on_the_way_s)


def test_where_the_kernel_was_not_read_all_is_as_it_looks():
    found = processor_split(MadeRun().loaded(), 10, 10)
    assert not found.is_known
    assert dict(found.kinds("cpu")) == {"cpu": 1.0}
    assert dict(found.kinds("client_or_network")) == {"client_or_network": 1.0}


def test_active_beyond_the_processor_time_is_the_queue():
    found = split(40, 100, used_s=10)
    assert dict(found.kinds("cpu")) == {"cpu": 0.25, "cpu_queue": 0.75}
    assert dict(found.kinds("client_or_network")) == {"client_or_network": 1.0}


def test_a_woken_session_that_does_not_run_yet_looks_idle():
    found = split(40, 100, used_s=10, queued_s=80)  # 30 of the 80 are seen as active
    assert dict(found.kinds("client_or_network")) == pytest.approx(
        {"cpu_queue": 0.5, "client_or_network": 0.5}
    )


def test_a_process_that_runs_between_samples_was_on_a_cpu():
    found = split(5, 100, used_s=15, queued_s=20)
    assert dict(found.kinds("cpu")) == {"cpu": 1.0}
    assert dict(found.kinds("client_or_network")) == pytest.approx(
        {"cpu": 0.1, "cpu_queue": 0.2, "client_or_network": 0.7}
    )


def test_the_kernel_also_counts_what_no_sample_showed():
    run = MadeRun(seconds=SECONDS, warmup=0)
    run.counters("processes", {"user_us": 1e6, "run_queue_us": 0}, of="server")
    found = processor_split(run.loaded(), 20, 50, sampled_share=0.5)
    assert dict(found.kinds("cpu")) == {"cpu": 0.25, "cpu_queue": 0.75}


def test_server_work_after_the_load_belongs_to_no_session():
    run = MadeRun(seconds=SECONDS, warmup=0)
    counted = {"user_us": [10e6, 500e6], "run_queue_us": 0}
    run.counters("processes", counted, of="server", at_s=[SECONDS, SECONDS + 20])
    found = processor_split(run.loaded(), 40, 50)
    assert dict(found.kinds("cpu")) == {"cpu": 0.25, "cpu_queue": 0.75}


def test_no_more_is_moved_than_there_is():
    found = split(0, 10, used_s=4, queued_s=500)
    assert dict(found.kinds("client_or_network")) == pytest.approx({"cpu": 0.4, "cpu_queue": 0.6})


def test_a_server_that_did_nothing():
    found = split(0, 0, used_s=0)
    assert found.is_known
    assert dict(found.kinds("cpu")) == {"cpu": 1.0}


def test_other_kinds_are_what_they_are():
    assert dict(split(40, 100, used_s=10).kinds("wal")) == {"wal": 1.0}
