"""The same command line to pgbench and to dbdyno, and what of their output must be equal."""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import dbdyno
from dbdyno.databases.postgresql.server.binaries import embedded_binaries
from tests.support.ended import OF_THE_MACHINE

PGBENCH = embedded_binaries()[0].folder / "pgbench"
"""The newest one that the tests have."""
NUMBER = re.compile(r"\s*(?<![\w.])-?(\d+(\.\d+)?|nan(?!\w))\s*", re.IGNORECASE)

OF_THE_HOST = tuple(f"pgbench: warning: {beginning}" for beginning in OF_THE_MACHINE)


class Outcome(NamedTuple):
    """How a program ended, and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def shape(self) -> tuple[int, list[str], list[str]]:
        """The same without numbers, and without the banner, which names the program."""
        out = [line for line in self.out.splitlines() if not line.startswith("pgbench (")]
        err = [line for line in self.err.splitlines() if not line.startswith(OF_THE_HOST)]
        return self.code, [*map(masked, out)], [*map(masked, err)]


def masked(line: str) -> str:
    """A line without its numbers, and the blanks around them, which depend on their length."""
    return NUMBER.sub(" N ", line)


def link(folder: Path, name: str) -> Path:
    """A link of this name to the program, as a user makes one."""
    package = Path(dbdyno.__file__).parents[1]
    program = folder / "dbdyno"
    program.write_text(
        f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(package)!r})\n"
        "from dbdyno.cli import start\nstart()\n"
    )
    program.chmod(0o755)
    (folder / name).symlink_to(program)
    return folder / name


def outcome(program: Path, words: Sequence[str], folder: Path | None = None) -> Outcome:
    """Run the program; its path in messages becomes its name."""
    ended = subprocess.run(
        [program, *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={**os.environ, "LC_ALL": "C.UTF-8"},
    )
    return Outcome(
        ended.returncode, ended.stdout, ended.stderr.replace(f"{program}:", f"{program.name}:")
    )
