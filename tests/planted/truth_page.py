"""The page docs/truth.md: two tables for each kind of server, in which single rows are replaced.

The first table says what the findings named. The second has the causes that also ran without being
planted: what a transaction's CPU time falls by, as the finding predicts it and as it is measured.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dbdyno.servers.product import product_of
from dbdyno.servers.spec import Kind
from tests.planted.causes import Cause
from tests.planted.savings import Pair, measured, predicted

PAGE = Path(__file__).parents[2] / "docs" / "truth.md"
NOTHING = "nothing above a note"
NONE = "–"
LITTLE_LEFT = 0.98

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

Where a cause takes CPU time of the server, `make truth` follows each run by the same run without
the cause; `make test` plants only those whose finding has a source or an arithmetic of its own. A
second table compares how much less CPU time a transaction then takes with the part that the finding
of the first run predicts. A profile shows which function ran, not which one called it: the
bounds of a prediction are what the functions of the cause took themselves, and all that they may
have called; a profile of some hundred samples knows a part to about one percent. The interval of
the measurement is that of the pairs of runs (95 %). Where other programs used the host (cpu others
above), it is wide.
"""
TITLE = "## {title} {version}"
FOUND = """\
| planted cause | top finding, and in how many runs | other findings (minor or more severe) |
|---|---|---|
"""
SAVED = """\
| planted cause | part of a transaction's CPU time, by its finding | by the same run without it |
|---|---|---|
"""


@dataclass
class Made:
    """What the runs of one cause were: the findings, and the pairs with and without it."""

    version: str = ""
    tops: Counter[str] = field(default_factory=Counter)
    others: Counter[str] = field(default_factory=Counter)
    pairs: list[Pair] = field(default_factory=list)


def update_page(made: Mapping[str, Made], causes: Sequence[Cause]) -> None:
    """Replace the rows of the causes that were made; drop those of causes that are gone."""
    old = PAGE.read_text(encoding="utf-8")
    kinds = dict.fromkeys(cause.kind for cause in causes)
    sections = [
        _section(kind, old, made, [cause for cause in causes if cause.kind == kind])
        for kind in kinds
    ]
    PAGE.write_text("\n".join([HEAD, *sections]), encoding="utf-8")


def _section(kind: Kind, old: str, made: Mapping[str, Made], causes: Sequence[Cause]) -> str:
    title = product_of(kind).title
    versions = [made[cause.name].version for cause in causes if cause.name in made]
    found = re.search(rf"^## {title} ([\w.]*)[^\n]*$\n(.*?)(?=^## |\Z)", old, re.M | re.S)
    before, rows = (found[1], found[2]) if found else ("", "")
    version = re.split("[ -]", versions[-1])[0] if versions else before
    named, saved = _rows(rows, FOUND), _rows(rows, SAVED)
    for cause in causes:
        if cause.name in made:
            named[cause.title] = _named_row(cause, made[cause.name])
            saved[cause.title] = _saved_row(cause, made[cause.name])
    tables = [
        f"\n{head}{rows}"
        for head, rows in ((FOUND, _in_order(named, causes)), (SAVED, _in_order(saved, causes)))
        if rows
    ]
    return "".join([TITLE.format(title=title, version=version), "\n", *tables])


def _rows(section: str, head: str) -> dict[str, str]:
    """By the cause's title: the rows of the table with this head."""
    _, _, after = section.partition(head)
    lines = after.partition("\n\n")[0].splitlines()
    return {line.split("|")[1].strip(): line for line in lines}


def _in_order(rows: Mapping[str, str], causes: Sequence[Cause]) -> str:
    return "".join(f"{rows[cause.title]}\n" for cause in causes if rows.get(cause.title))


def _named_row(cause: Cause, made: Made) -> str:
    wanted = cause.expected or {NOTHING}
    return f"| {cause.title} | {_counted(made.tops, wanted)} | {_counted(made.others, set())} |"


def _saved_row(cause: Cause, made: Made) -> str:
    """Empty if there is no run without it."""
    if not made.pairs:
        return ""
    saved, said = measured(made.pairs), predicted(made.pairs)
    by_finding = _within(said.share, said.least, said.most) if said else NONE
    return f"| {cause.title} | {by_finding} | {_within(saved.value, saved.low, saved.high)} |"


def _within(value: float, low: float | None, high: float | None) -> str:
    if low is None or high is None or low == high:
        return _percent(value)
    return f"{_percent(value)} ({_percent(low)} to {_percent(high)})"


def _percent(share: float) -> str:
    """With a decimal where little is left of the whole."""
    return f"{100 * share:.{1 if share > LITTLE_LEFT else 0}f} %"


def _counted(names: Counter[str], wanted: set[str] | frozenset[str]) -> str:
    return ", ".join(_count_words(names, wanted)) or NONE


def _count_words(names: Counter[str], wanted: set[str] | frozenset[str]) -> Iterator[str]:
    for name, count in names.most_common():
        emphasis = "**" if name in wanted else ""
        yield f"{emphasis}{name.replace('_', ' ')}{emphasis} {count}"
