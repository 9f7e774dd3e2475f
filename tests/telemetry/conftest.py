"""What tests of whole watched runs share."""

import pytest

from tests.support.patience import PATIENCE_S


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Telemetry waits for the last words of any server that speaks, however slow its machine."""
    monkeypatch.setattr("dbdyno.telemetry.recorder.PATIENCE_AT_END_S", PATIENCE_S)
