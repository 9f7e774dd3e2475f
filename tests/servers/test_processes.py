"""Signals to processes that may have ended, and whose numbers others may have."""

import signal
import subprocess
from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from dbdyno.servers.processes import (
    children_of,
    end,
    is_running,
    kill_with_children,
    mark_of,
    send,
)
from tests.support.patience import PATIENCE_S, wait_until


@pytest.fixture
def parent() -> Iterator[subprocess.Popen[bytes]]:
    """A shell that waits for a child."""
    with subprocess.Popen(["/bin/sh", "-c", "sleep 600; true"], start_new_session=True) as process:
        wait_until(lambda: bool(children_of(process.pid)), "the child")
        yield process
        process.kill()


def test_another_process_with_the_number_gets_no_signal(parent: subprocess.Popen[bytes]) -> None:
    mark = mark_of(parent.pid)
    earlier = replace(mark, start_ticks=mark.start_ticks - 1)
    assert not send(earlier, signal.SIGKILL)
    assert end(earlier, signal.SIGKILL, PATIENCE_S), "the one that was meant has ended"
    assert is_running(mark)
    assert send(mark, signal.SIGKILL)


def test_a_process_that_has_ended_is_no_error() -> None:
    with subprocess.Popen(["/bin/true"]) as process:
        mark = mark_of(process.pid)
    assert not send(mark, signal.SIGTERM)
    assert end(mark, signal.SIGTERM, PATIENCE_S)


def test_children_end_with_the_process_that_is_killed(parent: subprocess.Popen[bytes]) -> None:
    (child,) = map(mark_of, children_of(parent.pid))
    kill_with_children(mark_of(parent.pid), PATIENCE_S)
    assert parent.wait(PATIENCE_S) == -signal.SIGKILL
    assert not is_running(child)
