"""Runs the truth set and writes the findings into docs/truth.md.

    make truth, or python -m tests.planted [postgres|mariadb]

Run it on an idle host, since activity of other programs is found, too. Each kind of server has its
own table, and the other table remains unchanged.
"""

import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from dbdyno.servers.product import product_of
from dbdyno.servers.spec import Kind
from tests.planted.causes import Cause
from tests.planted.planting import planted_run
from tests.planted.truth_set import truth_set

PAGE = Path(__file__).parents[2] / "docs" / "truth.md"
KINDS: tuple[Kind, ...] = ("postgres", "mariadb")
TIMES = 3
NOTHING = "nothing above a note"

HEAD = """\
# The truth set

How far findings can be trusted shows in runs whose cause is known. Each of these runs, on real
servers, has a planted cause or none. `make test` makes one run for each source of telemetry that a
finding needs. It fails if the top finding is not the planted cause, or if a clean run has a finding
above a note; after one wrong run, two right ones outvote it. Where other programs disturb a run,
which the run itself must say, the planted cause must be among its findings. Findings about CPU time
that the hypervisor took (steal) are ignored.

`make truth` makes every run three times, interleaved with the others, on one host, and writes the
tables below. Activity of other programs during the runs is reported as well (cpu others). Slow
storage is simulated by delays in the server's I/O calls, and its syncs do not
reach the disk, so that a planted cause is the same on every host.
"""
TABLE = """
## {title} {version}, {times} runs of each cause

| planted cause | top finding, and in how many runs | other findings (minor or more severe) |
|---|---|---|
"""


def main(kinds: list[str]) -> None:
    """Update the tables of these kinds of servers."""
    sections = _sections()
    for kind in KINDS:
        if not kinds or kind in kinds:
            sections[product_of(kind).title] = _table(kind)
    PAGE.write_text(HEAD + "".join(sections.values()), encoding="utf-8")


def _sections() -> dict[str, str]:
    """Return the page's current tables by the server's name, PostgreSQL's first."""
    found = dict.fromkeys((product_of(kind).title for kind in KINDS), "")
    _, *tables = PAGE.read_text(encoding="utf-8").split("\n## ")
    for table in tables:
        name, _, _ = table.partition(" ")
        found[name] = f"\n## {table.strip()}\n"
    return found


def _table(kind: Kind) -> str:
    causes = [cause for cause in truth_set() if cause.kind == kind]
    tops: dict[str, Counter[str]] = {cause.name: Counter() for cause in causes}
    others: dict[str, Counter[str]] = {cause.name: Counter() for cause in causes}
    version = ""
    for turn in range(TIMES):
        for cause in causes:
            version, (top, *rest) = _named(cause)
            tops[cause.name][top] += 1
            others[cause.name].update(rest)
            sys.stderr.write(f"{turn + 1}/{TIMES} {cause.name}: {top}\n")
    lines = (_line(cause, tops[cause.name], others[cause.name]) for cause in causes)
    head = TABLE.format(
        title=product_of(kind).title, version=re.split("[ -]", version)[0], times=TIMES
    )
    return head + "\n".join(lines) + "\n"


def _named(cause: Cause) -> tuple[str, list[str]]:
    """Return the server's version, and the findings above a note, the most severe first."""
    with tempfile.TemporaryDirectory() as workplace:
        record = planted_run(cause, Path(workplace))
    named = [one["id"] for one in record["findings"] if one["severity"] != "note"]
    return record["server"]["version"], named or [NOTHING]


def _line(cause: Cause, tops: Counter[str], others: Counter[str]) -> str:
    wanted = cause.expected or {NOTHING}
    return f"| {cause.title} | {_counted(tops, wanted)} | {_counted(others, set())} |"


def _counted(names: Counter[str], wanted: set[str] | frozenset[str]) -> str:
    return ", ".join(_count_words(names, wanted)) or "–"


def _count_words(names: Counter[str], wanted: set[str] | frozenset[str]) -> Iterator[str]:
    for name, count in names.most_common():
        emphasis = "**" if name in wanted else ""
        yield f"{emphasis}{name.replace('_', ' ')}{emphasis} {count}"


if __name__ == "__main__":
    main(sys.argv[1:])
