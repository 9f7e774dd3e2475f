"""What the kernel's information about threads adds to a session sample."""

import platform
from pathlib import Path

import pytest

from dbdyno.databases.telemetry import Sessions
from dbdyno.telemetry.kernel_waits import CALLS, KernelWaits

PROCESS = 7
NUMBERS = {name: number for number, name in CALLS.get(platform.machine(), {}).items()}
pytestmark = pytest.mark.skipif(not NUMBERS, reason="this machine's calls are not known")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Threads that run, read, flush, wait for each other, or wait for their clients."""
    calls = {
        1: "running",
        2: f"{NUMBERS['pread']} 0x9 0x7f",
        3: f"{NUMBERS['fdatasync']} 0x9",
        4: f"{NUMBERS['futex']} 0x55",
        5: "9999 0x1",
    }
    for task, content in calls.items():
        folder = tmp_path / f"proc/{PROCESS}/task/{task}"
        folder.mkdir(parents=True)
        (folder / "syscall").write_text(f"{content}\n")
    return tmp_path


def seen(root: Path, state: str = "active", wait: tuple[str, str] = ("", "")) -> dict:
    """Return the sessions of each wait, of six that the server reports as alike; one has ended."""
    alike = Sessions(
        pids=[101, 102, 103, 104, 105, 106],
        kind="client",
        state=state,
        wait_type=wait[0],
        wait_event=wait[1],
        text="update t",
        tasks=[1, 2, 3, 4, 5, 6],
    )
    split = KernelWaits(root, PROCESS).with_kernel_waits([alike])
    return {(its.wait_type, its.wait_event): list(its.pids) for its in split}


def test_working_sessions_are_distinguished(root: Path):
    assert seen(root) == {
        ("", ""): [101, 105, 106],
        ("Kernel", "pread"): [102],
        ("Kernel", "fdatasync"): [103],
        ("Kernel", "futex"): [104],
    }


def test_the_stage_of_a_commit_is_preferred_to_a_futex_wait(root: Path):
    commit = ("Commit", "commit")
    assert seen(root, wait=commit) == {
        ("", ""): [101],
        ("Kernel", "pread"): [102],
        ("Kernel", "fdatasync"): [103],
        commit: [104, 105, 106],
    }


@pytest.mark.parametrize(
    ("state", "wait"), [("idle", ("", "")), ("active", ("Lock", "record"))], ids=["idle", "locked"]
)
def test_what_is_known_is_left_as_it_is(root: Path, state: str, wait: tuple[str, str]):
    assert seen(root, state, wait) == {wait: [101, 102, 103, 104, 105, 106]}


def test_sessions_without_threads_are_left_as_they_are(root: Path):
    alike = Sessions([101], "client", "active", "", "", "select 1")
    assert KernelWaits(root, PROCESS).with_kernel_waits([alike]) == [alike]
