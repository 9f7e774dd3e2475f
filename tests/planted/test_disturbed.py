"""A real program that takes CPU time gives the doubt, with its name and share; a heavy one more."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dbdyno.analysis.waits.disturbance import disturbance
from dbdyno.host.describe import ROOT
from dbdyno.host.processes import read_process
from dbdyno.servers.kept import start_kept, stop_kept
from dbdyno.servers.spec import ServerSpec
from dbdyno.store.run import open_run
from tests.planted.planting import DBDYNO, NAME, SMALL
from tests.store.hdr import HISTOGRAMS

BURNER = "planted-burner"
HALF = 0.5
BURN = """
import time
while True:
    began = time.process_time()
    while time.process_time() - began < 0.02 * {share}: pass
    if {share} < 1: time.sleep(0.02 * (1 - {share}))
"""
RUN = ("run", "select-only", "-s", "1", "-c", "8", "--warmup", "1", "--json")
ALLOWED = ("--max-disturbance", "25%")


@contextmanager
def burning(folder: Path, processes: int, share: float) -> Iterator[list[int]]:
    """Run busy programs under a name of their own, each pinned to a CPU; return their numbers.

    Each is a session: where the kernel groups programs by session, all get the same part of a CPU.
    """
    link = folder / BURNER
    if not link.exists():
        link.symlink_to(Path(sys.executable).resolve())
    cpus = sorted(os.sched_getaffinity(0))
    started = [
        subprocess.Popen([link, "-S", "-c", BURN.format(share=share)], start_new_session=True)
        for _ in range(processes)
    ]
    try:
        for number, process in enumerate(started):
            os.sched_setaffinity(process.pid, {cpus[number % len(cpus)]})
        yield [process.pid for process in started]
    finally:
        for process in started:
            process.kill()
            process.wait()


@pytest.fixture
def run(home: Path) -> Iterator[Callable[..., tuple[int, dict[str, Any]]]]:
    """Measure a server that was started and filled before anything took CPU time."""

    def measured(*options: str, seconds: int) -> tuple[int, dict[str, Any]]:
        command = [*DBDYNO, *RUN, "--server", NAME, "-T", str(seconds), *options]
        ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        assert ended.returncode in (0, 3), ended.stderr
        return ended.returncode, json.loads(ended.stdout)

    start_kept(NAME, ServerSpec(settings=SMALL["postgres"]), connections=20)
    try:
        subprocess.run([*DBDYNO, "load", "select-only", "-s", "1", "--server", NAME], check=True)
        yield measured
    finally:
        stop_kept(NAME)


def disturbed(record: dict[str, Any]) -> str:
    """The doubt that says so. There are others: where much is taken, the load stands still too."""
    (doubt,) = (doubt for doubt in record["doubts"] if doubt.startswith("disturbed: "))
    return doubt


def test_a_program_at_a_known_share_is_named_with_it(run, tmp_path: Path) -> None:
    began_s = time.monotonic()
    with burning(tmp_path, 1, HALF) as (pid,):
        _, record = run(*ALLOWED, seconds=11)
        burner, lived_s = read_process(ROOT, pid), time.monotonic() - began_s
    assert burner is not None
    assert disturbed(record).startswith("disturbed: other programs used ")
    found = disturbance(open_run("last").load(HISTOGRAMS))
    assert found is not None
    # On a busy host it gets less than it wants, and others more.
    got = burner.used.cpu_us / 1e6 / lived_s
    assert found.programs[f"{BURNER}/{pid}"] * found.cores == pytest.approx(got, abs=0.15)
    assert found.others * found.cores > 0.8 * got


def test_a_heavy_one_makes_the_run_not_valid(run, tmp_path: Path) -> None:
    processes = 4 * len(os.sched_getaffinity(0))
    with burning(tmp_path, processes, 1.0):
        code, record = run(*ALLOWED, seconds=3)
        _, accepted = run("--max-disturbance", "100%", seconds=3)
    assert (code, record["valid"]) == (3, False)
    assert record["invalid_reasons"][0].startswith("the host was disturbed: others took ")
    assert f"{BURNER} ({processes} processes)" in disturbed(record)
    assert not any("disturbed" in reason for reason in accepted["invalid_reasons"])
    assert disturbed(accepted)


def test_ctrl_c_ends_the_wait_for_a_quiet_host(home: Path, tmp_path: Path) -> None:
    with burning(tmp_path, 1, 1.0):
        waiting = subprocess.Popen(
            [*DBDYNO, *RUN, "--when-quiet"], stderr=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert waiting.stderr is not None
        said = ""
        while "waiting for at most" not in " ".join(said.split()):
            line = waiting.stderr.readline().decode()
            assert line, said
            said += line
        waiting.send_signal(signal.SIGINT)
        waiting.communicate(timeout=60)
    assert waiting.returncode == 130
    assert not list((home / "runs").iterdir())
