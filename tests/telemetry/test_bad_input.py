"""Servers that hide, change or corrupt what is read: that is missing, and nothing is claimed."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from dbdyno.model.run import Run
from dbdyno.model.tables import rows
from dbdyno.run.options.run_options import SECOND_NS
from dbdyno.servers.base import Server
from dbdyno.servers.private import start_private
from dbdyno.servers.spec import ServerSpec
from tests.conftest import SMALL
from tests.support.patience import eventually
from tests.telemetry.watched import Observer, lacks, measure

pytestmark = pytest.mark.usefixtures("home", "patient")

OF_THE_MACHINE = {"cpu_others", "cpu_steal"}
"""Findings about other programs on the host, and about its hypervisor."""


@pytest.fixture
def quiet(tmp_path: Path) -> str:
    """A script about which there is nothing to find, whatever happens to its server."""
    path = tmp_path / "quiet.sql"
    path.write_text("\\sleep 5 ms\nselect 1;\n")
    return str(path)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server whose log has times that claim to be UTC and are five hours ahead."""
    settings = {**SMALL, "log_timezone": "UTC-5"}
    with start_private(ServerSpec(settings=settings), connections=8) as started:
        yield started


def claims(recording: Run) -> list[str]:
    """Return the findings about the server or the load."""
    assert not [
        one for one in recording.record.not_looked if "internal error in this rule" in one.reason
    ]
    findings = recording.record.findings
    return [one.id for one in findings if one.severity != "note" and one.id not in OF_THE_MACHINE]


def test_a_log_whose_clock_differs(server: Server, quiet: str) -> None:
    def checkpoint() -> None:
        with server.connect() as control:
            control.execute("checkpoint")

    recording = measure(
        server, quiet, Observer(checkpoint, at=3), telemetry="full", server_log=server.log_path
    )
    assert (
        lacks(recording)["log"]
        == "the clocks differ: entries have the time at which they were read"
    )
    reasons = dict(rows(recording.log_entries.topic, recording.log_entries.time_s))
    # Within the run, however long this host takes to read it, and not hours off.
    assert 0.5 < reasons["checkpoint_start"] <= reasons["checkpoint_end"] < 60
    assert claims(recording) == []


def test_a_log_that_goes_on_in_another_file(quiet: str) -> None:
    settings = {**SMALL, "logging_collector": "on", "log_filename": "at-%H%M%S.log"}
    with start_private(ServerSpec(settings=settings), connections=8) as server:

        def rotate() -> None:
            with server.connect() as control:
                before = control.execute("select pg_current_logfile()").fetchone()
                control.execute("select pg_rotate_logfile()")
                query = "select pg_current_logfile() as now"
                eventually(lambda: control.execute(query).fetchone(), lambda now: now != before)
                control.execute("checkpoint")

        recording = measure(server, quiet, Observer(rotate, at=3), telemetry="full")
    topics = [topic for (topic,) in rows(recording.log_entries.topic)]
    assert topics == ["checkpoint_start", "checkpoint_end"]
    assert "log" not in lacks(recording)


def test_a_log_that_cannot_be_read(server: Server, quiet: str, tmp_path: Path) -> None:
    nowhere, observer = tmp_path / "nowhere", Observer()
    recording = measure(server, quiet, observer, telemetry="full", server_log=nowhere)
    assert [line for line in observer.messages if "--server-log" in line and "No such file" in line]
    assert lacks(recording)["log"] == f"{nowhere} cannot be read: No such file or directory"
    assert claims(recording) == []


def test_objects_hidden_from_a_role_are_not_taken_for_absent(server: Server, quiet: str) -> None:
    """Another role has an old transaction: whoever may not see it cannot claim there is none."""
    with server.connect() as control, server.connect() as idle:
        control.execute("create role clerk login")
        idle.execute("begin isolation level repeatable read")
        idle.execute("select count(*) from pg_class")
        url = server.url.replace("postgres@", "clerk@")
        recording = measure(server, quiet, target=url, telemetry="full")
        idle.execute("rollback")
        control.execute("drop role clerk")
    reasons = {one.id: one.reason for one in recording.record.not_looked}
    assert reasons["long_transaction"].endswith('grant pg_monitor to "clerk"')
    assert claims(recording) == []


def test_counters_that_are_set_back(server: Server, quiet: str) -> None:
    def reset() -> None:
        with server.connect() as control:
            control.execute("select pg_stat_reset(), pg_stat_reset_shared('bgwriter')")

    recording = measure(server, quiet, Observer(reset, at=5), duration_ns=3 * SECOND_NS)
    assert recording.samples.was_reset.sum() >= 2
    assert min(cost.value for cost in recording.record.costs) >= 0
    assert claims(recording) == []


def test_a_server_that_restarts(server: Server, quiet: str) -> None:
    def crash() -> None:
        with server.connect() as control:
            os.kill(control.info.backend_pid, signal.SIGKILL)

    recording = measure(server, quiet, Observer(crash, at=5), duration_ns=5 * SECOND_NS)
    assert lacks(recording)["server"]
    assert min(cost.value for cost in recording.record.costs) >= 0
    assert set(claims(recording)) <= {"outage"}  # which it was, and nothing else follows from it
