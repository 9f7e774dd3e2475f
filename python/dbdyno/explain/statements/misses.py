"""Statements that look up rows by key and find none: work that costs little and measures nothing.

A read or an update whose only conditions are equalities with the script's values is a lookup. The
lookups of a workload find their rows, as the workload says. Of other scripts it is not known, so
only what can hardly be meant counts: a lookup that finds nothing in the whole run, or nothing any
more, or one by a unique key that misses more than now and then. Deletes, ranges, queues that skip
locked rows, and lookups by a part of a key (orders of a customer) may rightly find nothing.
"""

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from msgspec import Struct

from dbdyno.analysis.series.distributions import is_after_warmup
from dbdyno.explain.statements.sql import Sql, fits
from dbdyno.explain.statements.statements import in_one_line, statements_of
from dbdyno.formatting import count, counted, percent
from dbdyno.model.run import Run
from dbdyno.model.telemetry import ServerFacts

_INVALID_MIN = 0.05
"""Above this share of misses, or what the workload allows if that is more, a run is invalid."""
_EXECUTIONS_MIN = 20
"""Fewer lookups may find nothing by chance."""
_UNIQUE_MIN = 0.05
"""A unique key may be gone now and then, because others delete rows."""
_END = 0.2
"""The part of the measurement intervals at the beginning, and at the end, that are compared."""
_FOUND_AT_FIRST, _FOUND_AT_LAST = 0.5, 0.1


class Misses(Struct, frozen=True):
    """What lookups that found nothing mean for a run, each a sentence."""

    invalid_reasons: list[str] = []
    doubts: list[str] = []


class _Lookup(Struct, frozen=True):
    """A statement that looks up rows, with its executions in each interval in which it ran."""

    place: str
    sql: Sql
    executions: np.ndarray
    without: np.ndarray

    @property
    def share(self) -> float:
        return float(self.without.sum() / self.executions.sum())

    @property
    def text(self) -> str:
        return in_one_line(self.sql.text.rstrip("; \n"))


def find_misses(run: Run, allowed_of: Mapping[str, float]) -> Misses:
    """Judge the lookups of a run.

    ``allowed_of`` has the scripts of a workload by name, each with the share of a lookup's
    executions that may find no row. Nothing is said of runs whose engine did not count rows.
    """
    facts = run.before or ServerFacts()
    invalid: list[tuple[_Lookup, str]] = []
    doubtful: list[tuple[_Lookup, str]] = []
    for script, lookup in _lookups(run):
        allowed = allowed_of.get(script)
        if allowed is None:
            if what := _unexpected(lookup, facts):
                doubtful.append((lookup, what))
        elif lookup.share > allowed and not _is_chance(lookup, allowed):
            is_invalid = lookup.share > max(allowed, _INVALID_MIN)
            what = f"{_missed(lookup)}, and each is to find one"
            (invalid if is_invalid else doubtful).append((lookup, what))
    advice = "; rows are missing: load the tables again, with --replace"
    return Misses(
        invalid_reasons=[text + advice for text in _sentence(invalid)],
        doubts=list(_sentence(doubtful)),
    )


def _lookups(run: Run) -> Iterable[tuple[str, _Lookup]]:
    scripts = run.plan.scripts
    table = run.statements
    counted = is_after_warmup(run, table) & ~np.isnan(table.executions_without_rows)
    for one in statements_of(run):
        ran = (table.statement == one.number) & counted
        if one.sql.key_columns and ran.any():
            name = scripts[one.script].name
            executions, without = table.count[ran], table.executions_without_rows[ran]
            place = f"{name}:{one.line}" if one.line else name
            yield name, _Lookup(place, one.sql, executions, without)


def _is_chance(lookup: _Lookup, allowed: float) -> bool:
    """Whether few executions may miss so often where each may with this probability.

    Up to three standard deviations and one more: one miss of 19 is above a share of 1 %.
    """
    expected = allowed * float(lookup.executions.sum())
    deviation = math.sqrt(expected * (1 - allowed))
    return allowed > 0 and float(lookup.without.sum()) <= expected + 3 * deviation + 1


def _unexpected(lookup: _Lookup, facts: ServerFacts) -> str:
    """How a lookup misses that is not known to find its rows; empty if it may be meant."""
    if lookup.executions.sum() < _EXECUTIONS_MIN:
        return ""
    if lookup.share == 1:
        return f"none of {_executions(lookup)} found a row"
    if _stopped_finding(lookup):
        return f"{_missed(lookup)}: at first most did, at the end hardly any"
    if lookup.share > _UNIQUE_MIN and _is_unique(lookup, facts):
        return f"{_missed(lookup)} by {', '.join(lookup.sql.key_columns)}, a unique key"
    return ""


def _stopped_finding(lookup: _Lookup) -> bool:
    end = max(1, round(len(lookup.executions) * _END))
    first, last = slice(end), slice(-end, None)
    found = [
        1 - float(lookup.without[part].sum() / lookup.executions[part].sum())
        for part in (first, last)
    ]
    return found[0] >= _FOUND_AT_FIRST and found[1] <= _FOUND_AT_LAST


def _is_unique(lookup: _Lookup, facts: ServerFacts) -> bool:
    """Whether the columns are exactly a unique key: with more conditions rows may be excluded."""
    (written,) = lookup.sql.tables
    return any(
        index.is_unique
        and index.rows_share == 1
        and set(index.columns) == set(lookup.sql.key_columns)
        for table in facts.tables
        if fits(written, table.name) or fits(written, table.partition_of)
        for index in table.indexes
    )


def _missed(lookup: _Lookup) -> str:
    return f"{percent(lookup.share)} of {_executions(lookup)} found no row"


def _executions(lookup: _Lookup) -> str:
    return f"{count(int(lookup.executions.sum()))} executions of {lookup.place}"


def _sentence(judged: Sequence[tuple[_Lookup, str]]) -> Iterable[str]:
    """The worst in one sentence, and how many others there are; nothing if there is none."""
    if judged:
        worst, what = max(judged, key=lambda one: one[0].share)
        others = len(judged) - 1
        more = f", and {counted(others, 'other statement')} likewise" if others else ""
        yield f"{what} ({worst.text}){more}"
