"""Waits that the server names, as rules report them: by event, and at which statements."""

from collections import defaultdict
from collections.abc import Iterable

from dbdyno.analysis.budget import Budget, Part
from dbdyno.explain.case import Case
from dbdyno.explain.rule import NOTICED
from dbdyno.explain.statements import statements_of
from dbdyno.formatting import percent


def shares_by_event(spent: Budget, parts: Iterable[Part]) -> dict[str, float]:
    """Shares of client time, of all statements together."""
    shares: dict[str, float] = defaultdict(float)
    for part in parts:
        shares[part.wait_event] += part.seconds / spent.total
    return dict(shares)


def waiting_text(case: Case, spent: Budget, parts: Iterable[Part]) -> list[str]:
    """What clients wait for at which statement, where it is noticed."""
    texts = {one.number: one.text for one in statements_of(case)}
    return [
        f"{part.wait_event} at “{texts[part.statement]}”: "
        f"{percent(part.seconds / spent.total)} of client time."
        for part in parts
        if part.statement in texts and part.seconds / spent.total >= NOTICED
    ]
