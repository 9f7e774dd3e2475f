"""The tables of an imported run: its progress lines as intervals, and its statements.

A rate is a number of transactions divided by a time that is printed with fewer digits than the
rate: an interval is as long as makes its rate exactly the printed one.
"""

import math
from collections.abc import Mapping

from dbdyno.imports.imported_run import ImportedRun
from dbdyno.model.run import TABLES
from dbdyno.model.tables import Columns
from dbdyno.store.columns import TableBuilder

PRINTED_TO_S = 0.06
"""How far a time that is printed with one decimal may be off."""

COUNTS = ("failed", "skipped", "retried", "retries")
"""What progress lines count beside the transactions, by the names of both tables."""


def tables_of(imported: ImportedRun) -> dict[str, Columns]:
    """All tables; those of which the text tells nothing are empty."""
    builders = {name: TableBuilder(table) for name, table in TABLES.items()}
    add_intervals(imported, builders)
    for line, printed in () if imported.is_log else imported.parts:
        empty = dict.fromkeys(TABLES["progress"].declared, math.nan)
        builders["progress"].add(**empty | printed | {"line": line})
    scripts = [script.name for script in imported.scripts]
    for number, one in enumerate(imported.statements):
        builders["statement_texts"].add(
            statement=number,
            script=scripts.index(one.script) if one.script in scripts else 0,
            index=one.index,
            line=0,
            sql=one.sql,
            connection=0,
            server=0,
        )
    return {name: builder.columns() for name, builder in builders.items()}


def add_intervals(imported: ImportedRun, builders: Mapping[str, TableBuilder]) -> None:
    """Add what was printed while the run lasted, as the intervals of a run."""
    began_s, first_s = imported.began_unix_s, beginning_s(imported)
    origin_s = first_s if imported.has_unix_times else 0.0
    time_s = first_s - origin_s
    total = 0
    # What some lines do not tell has no sum.
    counted = dict.fromkeys(
        (name for name in COUNTS if all(name in part.printed for part in imported.parts)), 0
    )
    for number, seconds in enumerate(lengths_s(imported)):
        printed = imported.parts[number].printed
        done, failed = round(printed["tps"] * seconds), _count(printed, "failed")
        total += done
        for name in counted:
            counted[name] += int(printed[name])
        interval = {
            "interval": number,
            "phase": "measure",
            "time_s": time_s,
            "seconds": seconds,
            "unix_s": math.nan if began_s is None else began_s + time_s,
            "completed_ok": done,
            "completed_committed": done,
            "completed_failed": failed,
            "ok": total,
            "committed": total,
            **counted,
        }
        builders["intervals"].add(**dict.fromkeys(TABLES["intervals"].declared) | interval)
        latencies = {"mean_ms": printed.get("mean_ms", math.nan)}
        if "percentile" in printed:
            digits = f"{printed['percentile']:g}".replace(".", "")
            latencies[f"p{digits}_ms"] = printed["percentile_ms"]
        script = {
            "interval": number,
            "script": 0,
            "ok": done,
            "committed": done,
            "failed": failed,
            "skipped": _count(printed, "skipped"),
            "count": done,
        }
        known = {name: latencies[name] for name in latencies if name in TABLES["scripts"].declared}
        empty = dict.fromkeys(TABLES["scripts"].declared, math.nan)
        builders["scripts"].add(**empty | script | known)
        time_s = printed["time_s"] - origin_s


def lengths_s(imported: ImportedRun) -> list[float]:
    """How long each part was; nothing if that does not follow from its time."""
    if imported.has_unix_times and len(imported.parts) < 2:
        return []
    lengths, before_s = [], beginning_s(imported)
    for part in imported.parts:
        end_s, tps = part.printed["time_s"], part.printed["tps"]
        printed_s, before_s = end_s - before_s, end_s
        exact_s = round(tps * printed_s) / tps if tps else printed_s
        lengths.append(exact_s if abs(exact_s - printed_s) <= PRINTED_TO_S else printed_s)
    return lengths


def beginning_s(imported: ImportedRun) -> float:
    """When the first part began: 0, or a step before its end if the text begins later."""
    times = [part.printed["time_s"] for part in imported.parts[:2]]
    if len(times) < 2 or times[0] <= 2 * (times[1] - times[0]):
        return 0.0
    return 2 * times[0] - times[1]


def _count(printed: Mapping[str, float], name: str) -> int | None:
    return int(printed[name]) if name in printed else None
