"""Runs the truth set and writes the findings into docs/truth.md.

    make truth, or python -m tests.planted [postgres|mariadb] [--only NAME…]

Run it on an idle host, since activity of other programs is found, too. Each kind of server has its
own tables; rows of causes that are not made remain unchanged.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.planted.causes import Cause
from tests.planted.planting import planted_run
from tests.planted.savings import pair_of
from tests.planted.truth_page import NOTHING, Made, update_page
from tests.planted.truth_set import truth_set

TIMES = 3


def main(arguments: Sequence[str]) -> None:
    """Make the causes, and write what was found."""
    every = truth_set()
    asked = _asked(arguments, sorted(cause.name for cause in every))
    wanted = [cause for cause in every if _is_wanted(cause, asked)]
    made = {cause.name: Made() for cause in wanted}
    for turn in range(asked.times):
        for cause in wanted:
            top = _make(cause, made[cause.name])
            sys.stderr.write(f"{turn + 1}/{asked.times} {cause.name}: {top}\n")
    update_page(made, every)


def _asked(arguments: Sequence[str], names: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.planted")
    parser.add_argument("kinds", nargs="*", metavar="KIND", help="postgres or mariadb")
    parser.add_argument(
        "--only", nargs="+", choices=names, metavar="NAME", help=f"causes: {', '.join(names)}"
    )
    parser.add_argument("--times", type=int, default=TIMES, help="runs of each (%(default)s)")
    return parser.parse_args(arguments)


def _is_wanted(cause: Cause, asked: argparse.Namespace) -> bool:
    if asked.only:
        return cause.name in asked.only
    return not asked.kinds or cause.kind in asked.kinds


def _make(cause: Cause, made: Made) -> str:
    """Make a run, and directly afterwards the same without the cause; return its top finding."""
    record = _record(cause)
    top, *rest = _named(record)
    made.version = record["server"]["version"]
    made.tops[top] += 1
    made.others.update(rest)
    if cause.otherwise:
        made.pairs.append(pair_of(cause.expected, record, _record(cause.without())))
    return top


def _record(cause: Cause) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as workplace:
        return planted_run(cause, Path(workplace))


def _named(record: dict[str, Any]) -> list[str]:
    """Return the findings above a note, the most severe first."""
    named = [one["id"] for one in record["findings"] if one["severity"] != "note"]
    return named or [NOTHING]


if __name__ == "__main__":
    main(sys.argv[1:])
