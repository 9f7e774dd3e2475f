"""What tests of whole watched runs share."""

import pytest
from msgspec.structs import replace

from dbdyno.telemetry.pace import PACES
from tests.support.patience import PATIENCE_S


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Telemetry waits for the last words of any server that speaks, however slow its machine."""
    monkeypatch.setattr("dbdyno.telemetry.recorder.PATIENCE_AT_END_S", PATIENCE_S)


@pytest.fixture
def watchful(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks are as close together as the server lets them be, whatever they cost.

    What a look costs decides how many there are: on a busy machine a short run has two or three,
    and what is to be seen falls between them.
    """
    monkeypatch.setitem(PACES, "full", replace(PACES["full"], steps_max=1))
