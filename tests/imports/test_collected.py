"""What pgbench 15 and 18 and sysbench 1.0 printed with many options: no figure is wrong.

``collected.tar.xz`` has their whole output, also of runs that failed.
"""

import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.imports import test_pgbench, test_sysbench

ARCHIVE = Path(__file__).with_name("collected.tar.xz")
CHECKS = {"pgbench": test_pgbench.check_figures, "sysbench": test_sysbench.check_figures}


def texts(tool: str) -> Iterator[tuple[str, str]]:
    with tarfile.open(ARCHIVE) as archive:
        for member in archive:
            file = archive.extractfile(member)
            if file and member.name.startswith(tool):
                yield member.name, file.read().decode()


@pytest.mark.parametrize(("tool", "least"), [("pgbench", 90), ("sysbench", 60)])
def test_every_printed_number_of_other_people_s_runs_is_a_figure(tool: str, least: int) -> None:
    number = 0
    for number, (name, text) in enumerate(texts(tool), 1):  # noqa: B007 - how many there were
        try:
            CHECKS[tool](text)
        except AssertionError as problem:
            problem.add_note(name)
            raise
    assert number >= least
