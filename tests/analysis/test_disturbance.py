"""Who took CPU time from a run, in recordings with known shares."""

import msgspec
import pytest

from dbdyno.analysis.compare.compare import compare
from dbdyno.analysis.summarize import summarize
from dbdyno.analysis.waits.disturbance import busiest_programs, disturbance, throttled_shares
from tests.support.recordings import MadeRun, changed

SECONDS = 20
CORES = 2


def run_beside(others=1.0, *, idle=0.0, stolen=0.0, queued=2.0, name="burn/7", sees_server=True):
    """A run on two CPUs, in CPUs used on average; ``others`` may be a value for each second."""
    run = MadeRun(seconds=SECONDS, warmup=0)
    run.levels("machine", {"processors": CORES})
    given = others if isinstance(others, list) else [others] * SECONDS
    own = [CORES - one - idle - stolen for one in given]
    none = {"system_us": 0, "irq_us": 0, "iowait_us": 0}
    busy_us = [(one + its) * 1e6 for one, its in zip(given, own, strict=True)]
    run.counters(
        "machine",
        {"user_us": busy_us, "idle_us": idle * 1e6, "steal_us": stolen * 1e6, **none},
    )
    engine = {"user_us": [its * 0.25e6 for its in own], "run_queue_us": queued * 1e6}
    server = {"user_us": [its * 0.75e6 for its in own], "run_queue_us": queued * 1e6}
    run.counters("processes", {**engine, "system_us": 0}, of="engine")
    if sees_server:
        run.counters("processes", {**server, "system_us": 0}, of="server")
    if name:
        run.counters("busiest", {"cpu_us": [one * 1e6 for one in given]}, of=name)
    return run


def found_in(run):
    found = disturbance(run.loaded())
    assert found is not None
    return found


def doubts_of(run, **changes):
    return summarize(run.loaded(**changes)).doubts


def test_what_others_used_of_saturated_cpus_is_taken_from_the_run():
    found = found_in(run_beside(1.0))
    assert (found.cores, found.seconds) == (CORES, SECONDS)
    assert (found.others, found.taken) == pytest.approx((0.5, 0.5))
    assert found.programs == pytest.approx({"burn/7": 0.5})


def test_the_doubt_comes_first_and_names_programs_and_seconds():
    doubt = doubts_of(run_beside([1.0] * 5 + [0.0] * 15))[0]
    assert doubt == (
        "disturbed: other programs used 0.25 of 2 CPUs during the measurement (burn/7 0.25), "
        "noticeably in 5 of 20 s"
    )


def test_steal_is_named_as_what_it_is():
    run = run_beside(0.0, stolen=0.6)
    assert doubts_of(run)[0] == (
        "disturbed: the hypervisor withheld 0.60 of 2 CPUs (steal), noticeably in 20 of 20 s"
    )
    assert found_in(run).taken == pytest.approx(0.3)


def test_a_quiet_host_is_not_mentioned():
    assert not any("disturbed" in doubt for doubt in doubts_of(run_beside(0.05)))


def test_idle_cpus_and_programs_that_give_way_take_nothing():
    assert found_in(run_beside(0.5, idle=1.0)).taken == 0
    polite = found_in(run_beside(1.0, queued=0.0))
    assert polite.is_noticed
    assert polite.taken == 0


@pytest.mark.parametrize("name", ["pgbouncer/7", "[kworker/0:1]/7"])
def test_what_works_for_the_run_does_not_disturb_it(name):
    found = found_in(run_beside(1.0, name=name))
    assert (found.others, found.taken, found.programs) == (0, 0, {})


def test_programs_that_were_not_listed_count_without_a_name():
    doubt = doubts_of(run_beside(1.0, name=None))[0]
    assert doubt.startswith("disturbed: other programs used 1.00 of 2 CPUs")
    assert "(too short-lived to be listed, or in other containers)" in doubt


def test_beside_a_server_that_cannot_be_seen_only_other_programs_count():
    """Its processes may be on this host after all, in a container."""
    assert found_in(run_beside(1.0, name="postgres/7", sees_server=False)).others == 0
    doubt = doubts_of(run_beside(1.0, sees_server=False))[0]
    assert doubt == (
        "disturbed: on the load generator's host, other programs used 1.00 of 2 CPUs during the "
        "measurement (burn/7 1.00), noticeably in 20 of 20 s; the server's processes could not be "
        "observed"
    )


def test_without_telemetry_it_is_not_known_and_said():
    run = MadeRun(seconds=SECONDS)
    assert disturbance(run.loaded()) is None
    record = msgspec.structs.replace(run.loaded().record, telemetry={"level": "off"})
    assert doubts_of(run, record=record)[-1].startswith("not observed: without telemetry")
    observed = run_beside(0.0)
    assert not any("observed" in one for one in doubts_of(observed, record=record))


def test_throttling_is_a_doubt_unless_it_was_requested():
    quota = {"periods": 10, "throttled_periods": 4, "throttled_us": 400_000}
    run = run_beside(0.0, idle=1.0).counters("control_group", quota, of="server")
    recording = run.loaded()
    assert throttled_shares(recording) == pytest.approx({"server": 0.4})
    asked = {"placement": {"asked": {"server-cores": "1"}}}
    doubt = summarize(recording).doubts[0]
    assert doubt.startswith("throttled: the server was throttled for up to 40")
    requested = changed(recording, server=asked)
    assert not any("throttled" in one for one in summarize(requested).doubts)


def test_processes_of_one_program_are_added_up():
    cores = {"cc1/1": 0.2, "burn/7": 0.35, "cc1/2": 0.2, "vi/3": 0.01}
    assert busiest_programs(cores, 0.02) == "cc1 (2 processes) 0.40, burn/7 0.35"


def test_a_comparison_counts_disturbed_runs_before_its_other_doubts():
    quiet, disturbed = (summarize(run_beside(others).loaded()) for others in (0.0, 1.0))
    doubts = compare([quiet, quiet], [quiet, disturbed]).doubts
    assert doubts[0].startswith("1 of 4 runs were disturbed: other programs used 1.00 of 2 CPUs")
    assert not any("runs: disturbed" in doubt for doubt in doubts)
