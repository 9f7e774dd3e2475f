"""The fault matrix of ``docs/reliability.md``, read as data: the tests' expectations are its cells.

A table with the column *fault* is part of the matrix. *Exit* lists the possible exit codes, *says*
what the output contains (one of the texts in backticks), *shown by* the tests.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reliability.md"


class Row(Struct, frozen=True):
    """A fault with its outcome. ``is_of_servers``: it is shown on PostgreSQL and on MariaDB."""

    fault: str
    cells: dict[str, str]
    is_of_servers: bool

    @property
    def exits(self) -> set[int]:
        return {int(code) for code in re.findall(r"\b\d+\b", self.cells["exit"])}

    @property
    def texts(self) -> list[str]:
        return re.findall(r"`([^`]+)`", self.cells["says"])

    @property
    def tests(self) -> list[str]:
        return re.findall(r"`([^`]+)`", self.cells["shown by"])

    def is_met_by(self, exit_code: int | None, output: str) -> None:
        """Assert that a command ended as the row says; lines of its output may be wrapped."""
        flat = " ".join(output.split())
        assert exit_code in self.exits, f"{exit_code}: {output}"
        assert not self.texts or any(text in flat for text in self.texts), (
            f"none of {self.texts} in: {output}"
        )


def read_rows() -> Iterator[Row]:
    columns: list[str] = []
    is_of_servers = False
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            is_of_servers = "on both databases" in line
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]
        if not cells:
            columns = []
        elif not columns:
            columns = cells
        elif columns[0] == "fault" and not set(cells[0]) <= set("-: "):
            yield Row(cells[0], dict(zip(columns, cells, strict=True)), is_of_servers)


ROWS = {row.fault: row for row in read_rows()}
