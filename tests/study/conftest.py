"""Studies of tests have a machine of their own: two of them may run at once in two workers."""

import tempfile
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _own_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lock that keeps two studies from running at once lies in the temporary folder."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
