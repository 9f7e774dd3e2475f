r"""The order of statements that holds the hottest row for the shortest time.

A row that a statement locks stays locked until the transaction ends: during all later statements
and the commit (``row_holds.py`` explains why not during its own). Each order has a rate that no row
lets it exceed, min over the rows of 1/Σ p·h (``analysis/search/bounds.py``). Finding the order with
the highest bound is minimising the maximum cost on one machine with precedence constraints, read
backwards, and a greedy rule solves it exactly (Lawler, *Management Science* 19, 1973): starting at
the beginning, of the statements that may come next, take the one whose p·h would be least.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from dbdyno.analysis.search.bounds import row_hold_bound_tps
from dbdyno.explain.statements.script_text import script_of
from dbdyno.explain.statements.transactions import (
    Step,
    TimedScript,
    Transaction,
    stays_before,
    transaction,
)

_COLD = 0.01
"""A row whose probability is below this fraction of the hottest one's does not matter."""


class Bound(Struct, frozen=True):
    """The row that bounds the rate: its table, the rate, and how long a transaction holds it.

    ``range_tps`` is between what the bound is, by what clients cannot see of a hold
    (``row_holds.py``): it begins within the locking statement, and ends before they know it.
    """

    table: str
    tps: float
    hold_s: float
    range_tps: tuple[float, float]


class Advice(Struct, frozen=True, kw_only=True):
    """The scripts in the best order, with the bound before and after.

    ``crossing`` are two scripts and two tables that this order would lock in opposite order, which
    leads to deadlocks; None if there are none.
    """

    scripts: dict[str, str]
    changed: list[str]
    before: Bound
    after: Bound
    crossing: tuple[str, str, str, str] | None


def advise(scripts: Sequence[TimedScript], rows: Mapping[str, float]) -> Advice | None:
    """None if no row is locked until the end. ``rows`` is the number of rows of each table."""
    parsed = [transaction(script, rows) for script in scripts]
    old = [list(range(len(one.steps))) for one in parsed]
    before = bound(parsed, old)
    if before is None:
        return None
    hottest = max(step.probability for one in parsed for step in one.steps)
    new = [coldest_first(one.steps, one.end_s, hottest * _COLD) for one in parsed]
    after = bound(parsed, new)
    assert after is not None
    crossings = _crossings(parsed, new) - _crossings(parsed, old)
    changed = [
        one.script.name for one, was, now in zip(parsed, old, new, strict=True) if was != now
    ]
    return Advice(
        scripts={
            one.script.name: script_of(
                [*one.before, *(one.steps[place].command for place in order), *one.after]
            )
            for one, order in zip(parsed, new, strict=True)
        },
        changed=changed,
        before=before,
        after=after,
        crossing=min(crossings, default=None),
    )


def coldest_first(steps: Sequence[Step], end_s: float, cold: float = 0.0) -> list[int]:
    """Lawler's rule; the original order on ties, and for rows with at most ``cold`` probability."""
    needs = [
        {earlier for earlier in range(later) if stays_before(steps[earlier], steps[later])}
        for later in range(len(steps))
    ]
    order: list[int] = []
    left = set(range(len(steps)))
    while left:
        left_s = end_s + sum(steps[place].seconds for place in left)
        heat = {
            place: _heat(steps[place], left_s, cold) for place in left if not needs[place] & left
        }
        order.append(min(heat, key=lambda place: (heat[place], place)))
        left.remove(order[-1])
    return order


def _heat(step: Step, left_s: float, cold: float) -> float:
    """Probability times the hold of its row, if the step comes next."""
    return step.probability * (left_s - step.seconds) if step.probability > cold else 0.0


def bound(parsed: Sequence[Transaction], orders: Sequence[Sequence[int]]) -> Bound | None:
    """The row that bounds the rate if the steps come in these orders."""
    holds: dict[str, list[_Hold]] = {}
    for one, order in zip(parsed, orders, strict=True):
        for table, hold in _holds(one, order):
            holds.setdefault(table, []).append(hold)
    round_trip_s = min((one.script.round_trip_s for one in parsed), default=0.0)
    bounds = [_bound(table, held, round_trip_s) for table, held in holds.items()]
    return min(bounds, key=lambda one: one.tps, default=None)


class _Hold(NamedTuple):
    """The probability of a lock among all transactions, its seconds, and those of its statement."""

    probability: float
    hold_s: float
    statement_s: float


def _bound(table: str, held: Sequence[_Hold], round_trip_s: float) -> Bound:
    def tps(end_s: Callable[[_Hold], float]) -> float:
        return row_hold_bound_tps((hold.probability, end_s(hold)) for hold in held)

    return Bound(
        table=table,
        tps=tps(lambda hold: hold.hold_s),
        hold_s=sum(one.probability * one.hold_s for one in held)
        / sum(one.probability for one in held),
        range_tps=(
            tps(lambda hold: hold.hold_s + hold.statement_s),
            tps(lambda hold: max(hold.hold_s - round_trip_s, 0.0)),
        ),
    )


def _holds(one: Transaction, order: Sequence[int]) -> Iterator[tuple[str, _Hold]]:
    """The table of each lock, and its hold: the time after its statement."""
    left_s = one.end_s + sum(step.seconds for step in one.steps)
    for place in order:
        step = one.steps[place]
        left_s -= step.seconds
        if step.locks:
            yield step.locks, _Hold(one.script.share * step.probability, left_s, step.seconds)


def _crossings(
    parsed: Sequence[Transaction], orders: Sequence[Sequence[int]]
) -> set[tuple[str, str, str, str]]:
    pairs = [
        (one.script.name, _locked_in_order(one, order))
        for one, order in zip(parsed, orders, strict=True)
    ]
    return {
        (name, other, first, second)
        for name, own in pairs
        for other, others in pairs
        for first, second in own
        if name < other and (second, first) in others
    }


def _locked_in_order(one: Transaction, order: Iterable[int]) -> set[tuple[str, str]]:
    """All pairs of tables of which the first is locked before the second."""
    tables = list(
        dict.fromkeys(one.steps[place].locks for place in order if one.steps[place].locks)
    )
    return {(first, second) for place, first in enumerate(tables) for second in tables[place + 1 :]}
