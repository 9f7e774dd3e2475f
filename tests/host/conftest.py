"""File trees of other hosts: a mapping of paths to contents becomes a root folder."""

from collections.abc import Callable
from pathlib import Path

import pytest

Tree = Callable[[dict[str, str]], Path]


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    def build(files: dict[str, str]) -> Path:
        for name, content in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        return tmp_path

    return build
