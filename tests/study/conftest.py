"""Each study test has its own lock: two studies may run at once in two workers."""

import tempfile
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _own_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Puts the lock that keeps two studies from running at once into the test's own folder."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
