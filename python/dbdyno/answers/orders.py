"""Every valid order of a script's statements, and the throughput that its rows allow.

Predicted from one run of the script as it was written: how long each statement takes without lock
waits, and how many rows each table has (``explain/statements/order.py``).
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from dbdyno.answers.answer import Trial
from dbdyno.explain.rules.statement_order import timed_scripts
from dbdyno.explain.statements.order import Bound, bound
from dbdyno.explain.statements.script_text import Command, commands
from dbdyno.explain.statements.transactions import (
    Step,
    Transaction,
    UnknownRowsError,
    UnorderableError,
    stays_before,
    transaction,
)
from dbdyno.model.run import Run

ORDERS_MAX = 20_000
"""At most this many orders are examined."""


class Prediction(Struct, frozen=True):
    """An order of the steps with its bound."""

    order: tuple[int, ...]
    bound: Bound


class Orders(Struct, frozen=True):
    """The parsed script, and its valid orders, the best first."""

    parsed: Transaction
    predictions: Sequence[Prediction]

    def of_script(self, text: str) -> Prediction | None:
        """The prediction for the same statements in the order of this text."""
        wanted = [_sign(one) for one in commands(text, self.parsed.script.dialect) if one.is_sql]
        own = set(self.signs(range(len(self.parsed.steps))))
        for found in self.predictions:
            if self.signs(found.order) == [sign for sign in wanted if sign in own]:
                return found
        return None

    def rank(self, predicted: Prediction) -> int:
        """1 for the best; equal bounds share a rank."""
        least = predicted.bound.tps * 1.000001
        return 1 + sum(one.bound.tps > least for one in self.predictions)

    def text_of(self, order: Sequence[int]) -> str:
        """The statements of an order in short form, as a list in text."""
        return ", ".join(step.command.sql.in_short for step in self._sql(order))

    def signs(self, order: Sequence[int]) -> list[str]:
        """Identifies the statements across texts."""
        return [_sign(step.command) for step in self._sql(order)]

    def _sql(self, order: Sequence[int]) -> list[Step]:
        return [
            self.parsed.steps[place] for place in order if self.parsed.steps[place].command.is_sql
        ]


def _sign(command: Command) -> str:
    return command.sql.in_short


def orders_of(trial: Trial) -> Orders | None:
    """None if the script cannot be reordered, or locks nothing."""
    parsed = _parsed(trial.run)
    if parsed is None:
        return None
    predictions = [
        Prediction(order, found)
        for order in _valid(parsed)
        if (found := bound([parsed], [order])) is not None
    ]
    if not predictions:
        return None
    return Orders(parsed, sorted(predictions, key=lambda one: -one.bound.tps))


def _parsed(run: Run) -> Transaction | None:
    facts = run.before or run.after
    rows = {table.name: table.rows for table in facts.tables if table.rows > 0} if facts else {}
    scripts = timed_scripts(run)
    if len(scripts) != 1:
        return None
    try:
        return transaction(scripts[0], rows)
    except (UnorderableError, UnknownRowsError):
        return None


def _valid(parsed: Transaction) -> Iterator[tuple[int, ...]]:
    """Every order that preserves the dependencies between statements."""
    count = len(parsed.steps)
    needs = [
        {one for one in range(later) if stays_before(parsed.steps[one], parsed.steps[later])}
        for later in range(count)
    ]
    found = 0
    unfinished: list[tuple[int, ...]] = [()]
    while unfinished and found < ORDERS_MAX:
        begun = unfinished.pop()
        if len(begun) == count:
            found += 1
            yield begun
        unfinished += [
            (*begun, place)
            for place in reversed(range(count))
            if place not in begun and needs[place] <= set(begun)
        ]
