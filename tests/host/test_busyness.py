"""Who is busy on this host: a real program is seen with its name, those of the run are not."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dbdyno.host.busyness import Sample
from tests.support.patience import wait_until

NAME = "busy-stranger"
LOOP = "while True: pass"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """Return Python under another name, which the kernel shows as the program's."""
    link = tmp_path / NAME
    link.symlink_to(Path(sys.executable).resolve())
    return link


@pytest.fixture
def stranger(program: Path) -> Iterator[int]:
    """Run a busy program that is no descendant of this process: its parent ends at once."""
    shell = ["sh", "-c", f'"{program}" -S -c "{LOOP}" >/dev/null 2>&1 & echo $!']
    pid = int(subprocess.run(shell, capture_output=True, text=True, check=True).stdout)
    yield pid
    os.kill(pid, signal.SIGKILL)


def let_it_work(pid: int) -> None:
    """Wait until it has used a tenth of a second, however little a busy host gives it."""

    def ticks() -> int:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])

    before = ticks()
    wait_until(lambda: ticks() >= before + 10, "work of the program")


def test_a_busy_program_is_named_with_its_share(stranger: int) -> None:
    sample = Sample([])
    let_it_work(stranger)
    busy = sample.busy()
    cores = {(name, pid): used for name, pid, used in busy.programs}
    assert 0 < cores[(NAME, stranger)] < 1.5
    assert busy.used_cores >= cores[(NAME, stranger)]
    assert busy.cores == os.cpu_count()


def test_the_server_does_not_count(stranger: int) -> None:
    assert stranger not in {pid for _, pid, _ in Sample([stranger]).busy().programs}


def test_the_runs_own_processes_do_not_count(program: Path) -> None:
    with subprocess.Popen([program, "-S", "-c", LOOP]) as own:
        try:
            seen = {pid for _, pid, _ in Sample([None]).busy().programs}
        finally:
            own.kill()
    assert not seen & {own.pid, os.getpid()}


def test_a_program_that_starts_meanwhile_counts(program: Path) -> None:
    sample = Sample([])
    shell = ["sh", "-c", f'"{program}" -S -c "{LOOP}" >/dev/null 2>&1 & echo $!']
    pid = int(subprocess.run(shell, capture_output=True, text=True, check=True).stdout)
    try:
        let_it_work(pid)
        assert pid in {number for _, number, _ in sample.busy().programs}
    finally:
        os.kill(pid, signal.SIGKILL)
