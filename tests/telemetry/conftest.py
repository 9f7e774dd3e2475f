"""Fixtures for tests of whole runs with telemetry."""

import pytest
from msgspec.structs import replace

from dbdyno.telemetry.pace import PACES
from tests.support.patience import PATIENCE_S


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make telemetry wait for the last answers of any server that responds, however slow."""
    monkeypatch.setattr("dbdyno.telemetry.recorder.PATIENCE_AT_END_S", PATIENCE_S)


@pytest.fixture
def watchful(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take session samples as often as the server allows, whatever they cost.

    Their cost determines their number: on a busy host a short run has two or three, and may miss
    what a test looks for.
    """
    monkeypatch.setitem(PACES, "full", replace(PACES["full"], steps_max=1))
