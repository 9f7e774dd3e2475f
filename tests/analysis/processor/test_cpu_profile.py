"""What samples are in seconds: those of a timer, and those of the processor's cycles."""

import pytest

from dbdyno.analysis.doubts import find_doubts, kind_of
from dbdyno.analysis.processor.cpu_profile import cpu_profile, seconds_of_sample
from dbdyno.analysis.processor.profile import cost_us, server_processes, server_profile
from dbdyno.model.telemetry import SampleSource
from dbdyno.report.sections.server_cpu import build
from tests.explain.made import made_run, with_processors

CORES, TPS, HZ = 1.5, 1000, 100


def profiled(of_nominal: float, source: SampleSource):
    """A run whose samples are this part of one per hundredth of a second on 1.5 CPUs."""
    run = with_processors(made_run("select 1", seconds=20, ok=TPS), server=CORES, engine=0.3)
    run.counters("processes", {"cpu_us": CORES * 1e6}, of="server")
    counts = {("client", "ExecScan", "postgres"): 0.8, ("wal", "XLogWrite", "postgres"): 0.2}
    of_second = {of: share * CORES * HZ * of_nominal for of, share in counts.items()}
    return run.profile(of_second, HZ, source).loaded()


def test_a_sample_of_a_timer_is_time_and_one_of_cycles_its_part_of_the_time():
    assert seconds_of_sample("cpu-clock", 100, 50, 2.0) == 0.01
    assert seconds_of_sample("cycles", 100, 50, 2.0) == 0.04
    assert seconds_of_sample("cycles", 100, 50, None) == 0.01
    assert seconds_of_sample("cycles", 100, 0, 2.0) == 0.01


@pytest.mark.parametrize("of_nominal", [0.6, 1.0, 1.6])
def test_cycles_cost_what_the_kernel_counted_whatever_the_clock(of_nominal: float):
    run = profiled(of_nominal, "cycles")
    of_load = cost_us(run, lambda part: part.processes == "client")
    assert of_load == pytest.approx(0.8 * CORES / TPS * 1e6, rel=0.01)
    profile, found = cpu_profile(run), server_profile(run)
    assert profile is not None
    assert found is not None
    assert sum(profile.used_s.values()) == pytest.approx(profile.counted_s)
    assert found.source == "cycles"
    assert sum(part.us for part in found.subsystems) == pytest.approx(CORES / TPS * 1e6, rel=0.01)


@pytest.mark.parametrize(
    ("of_nominal", "source", "is_doubtful"),
    [
        (1.0, "cpu-clock", False),
        (0.6, "cpu-clock", True),
        (0.6, "cycles", False),
        (0.1, "cycles", True),
    ],
)
def test_a_profile_that_saw_only_a_part_is_incomplete(
    of_nominal: float, source: SampleSource, is_doubtful: bool
):
    kinds = map(kind_of, find_doubts(profiled(of_nominal, source)))
    assert ("incomplete profile" in kinds) == is_doubtful


def test_the_page_says_what_was_sampled():
    texts = [getattr(block, "text", "") for block in build(profiled(0.6, "cycles"))]
    assert any("cycles were sampled" in text and "30.0 s" in text for text in texts)


def test_processes_that_were_read_only_at_the_end_are_counted_as_a_whole():
    run = with_processors(made_run("select 1", seconds=20, ok=TPS), server=CORES, engine=0.3)
    for of, cores in {"client": 1.2, "wal": 0.3}.items():
        used_us = cores * 1e6 * (run.warmup + 20.5)
        run.counters("server_tasks", {"cpu_us": used_us}, of=of, at_s=[20.5])
    client, log = server_processes(run.loaded())
    assert (client.processes, client.low, client.high) == ("client", None, None)
    assert client.us == pytest.approx(1.2 / TPS * 1e6, rel=0.03)
    assert (log.processes, log.share) == ("wal", pytest.approx(0.2))
