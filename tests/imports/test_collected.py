"""What pgbench 13 to 19 and sysbench 1.0 printed with many options: no figure is wrong.

``collected.tar.xz`` has their whole output, also of runs that failed. ``collect.py`` made it of
pgbench 13, 16, 17 and 19.
"""

import re
import tarfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from dbdyno.imports.readers.pgbench_lines import VERSIONS
from tests.imports import test_pgbench, test_sysbench

ARCHIVE = Path(__file__).with_name("collected.tar.xz")
MAJOR = r"[89]\.\d|\d+"
"""Two numbers until 9.6."""
CHECKS = {"pgbench": test_pgbench.check_figures, "sysbench": test_sysbench.check_figures}


def texts(tool: str) -> Iterator[tuple[str, str]]:
    with tarfile.open(ARCHIVE) as archive:
        for member in archive:
            file = archive.extractfile(member)
            if file and member.name.startswith(tool):
                yield member.name, file.read().decode()


@pytest.mark.parametrize(("tool", "least"), [("pgbench", 200), ("sysbench", 60)])
def test_every_printed_number_of_other_people_s_runs_is_a_figure(tool: str, least: int) -> None:
    number = 0
    for number, (name, text) in enumerate(texts(tool), 1):  # noqa: B007 - how many there were
        try:
            CHECKS[tool](text)
        except AssertionError as problem:
            problem.add_note(name)
            raise
    assert number >= least


def test_the_words_allow_the_version_that_printed_them() -> None:
    seen: Counter[str] = Counter()
    for name, text in texts("pgbench"):
        printed = name.split("-")[1]
        for run in test_pgbench.read(text).runs:
            seen[printed] += 1
            first, _, last = run.version.partition(" to ")
            assert printed in allowed(first, last or first), f"{name}: {run.version}"
    assert {*seen} == {"13", "15", "16", "17", "18", "19"}
    assert min(seen.values()) >= 20


def allowed(first: str, last: str) -> tuple[str, ...]:
    """The versions from one to another, of which each may be a minor version."""
    begin, end = (VERSIONS.index(re.findall(MAJOR, version)[0]) for version in (first, last))
    return VERSIONS[begin : end + 1]
