"""Hooks for every test: no test is skipped silently.

A test that cannot run here fails and says what to install; a skip would look like a success. Tests
that need root are deselected for an ordinary user, and the summary says so.
"""

import os
import signal
from collections.abc import Generator, Mapping
from typing import Protocol

import pytest

ROOTS_OWN = "roots_own"
LEFT_OUT = pytest.StashKey[set[str]]()
LONGEST = ("tests/reliability/", "tests/telemetry/")
"""Where files last for minutes: if they began last, they would end alone."""


def pytest_configure(config: pytest.Config) -> None:
    """Registers the marker, and restores the default signal handling for the processes under test.

    A shell ignores SIGINT for its background jobs, and nohup ignores SIGHUP.
    """
    config.stash[LEFT_OUT] = set()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    config.addinivalue_line("markers", f"{ROOTS_OWN}(why): needs root, and why")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begins with the longest, and deselects the tests that need root, unless root runs them."""
    items.sort(key=lambda item: not item.nodeid.startswith(LONGEST))
    if os.geteuid() == 0:
        return
    left = [item for item in items if item.get_closest_marker(ROOTS_OWN)]
    config.stash[LEFT_OUT] = {f"{item.nodeid}: {_why(item)}" for item in left}
    items[:] = [item for item in items if item not in left]
    config.hook.pytest_deselected(items=left)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker process reports to the process that prints the summary."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        left = session.config.stash[LEFT_OUT]
        output[ROOTS_OWN] = sorted(left)


class _Worker(Protocol):
    """What pytest-xdist, which is not typed, passes for a worker process that has ended."""

    config: pytest.Config
    workeroutput: Mapping[str, list[str]]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: _Worker) -> None:
    """Each worker collects all tests, so that all of them deselect the same ones."""
    left = getattr(node, "workeroutput", {}).get(ROOTS_OWN, [])
    node.config.stash[LEFT_OUT].update(left)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Lists the deselected tests, with the reason and the command that runs them."""
    left = config.stash[LEFT_OUT]
    if not left:
        return
    terminalreporter.section("deselected, need root: sudo .venv/bin/python -m pytest -m roots_own")
    for line in sorted(left):
        terminalreporter.write_line(line)


def _why(item: pytest.Item) -> str:
    mark = item.get_closest_marker(ROOTS_OWN)
    assert mark is not None  # that is why it was left out
    return str(mark.args[0])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turns a skip into a failure with the skip's own reason."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped ({call.excinfo}): no test is skipped here"
    return report
