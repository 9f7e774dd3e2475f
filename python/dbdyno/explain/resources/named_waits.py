"""Waits that the server names, as rules report them: by event, and at which statements."""

from collections import defaultdict
from collections.abc import Iterable

from msgspec import Struct

from dbdyno.analysis.waits.budget import Budget, Part
from dbdyno.explain.rule import NOTICED
from dbdyno.explain.statements.statements import statements_of
from dbdyno.formatting import percent
from dbdyno.model.run import Run


def shares_by_event(spent: Budget, parts: Iterable[Part]) -> dict[str, float]:
    """Shares of client time, of all statements together."""
    shares: dict[str, float] = defaultdict(float)
    for part in parts:
        shares[part.wait_event] += part.seconds / spent.total
    return dict(shares)


class WaitAt(Struct, frozen=True):
    """A wait at one statement, and its share of client time."""

    event: str
    statement: str
    share: float

    @property
    def text(self) -> str:
        """What was observed."""
        return f"{self.event} at “{self.statement}”: {percent(self.share)} of client time."


def noticed_waits(run: Run, spent: Budget, parts: Iterable[Part]) -> list[WaitAt]:
    """What clients wait for at which statement, where it is noticed."""
    texts = {one.number: one.text for one in statements_of(run)}
    return [
        WaitAt(part.wait_event, texts[part.statement], part.seconds / spent.total)
        for part in parts
        if part.statement in texts and part.seconds / spent.total >= NOTICED
    ]
