"""What a rule is, and its three outcomes.

A rule is one file of ``rules`` that ends in ``RULE = Rule(…)``. Its docstring is its page in
the manual: what it looks for, the arithmetic with its source, when it is wrong. It looks at
one :class:`~dbdyno.explain.case.Case` and never raises: what it needs and does not find is
*could not look*, with the reason.
"""

from collections.abc import Callable
from typing import TypeAlias

from msgspec import Struct

from dbdyno.explain.case import Case
from dbdyno.model.record import Finding, Severity


class NotFound(Struct, frozen=True):
    """The rule looked and the cause is not there, or below the noise."""

    reason: str


class CouldNotLook(Struct, frozen=True):
    """Something that the rule needs was not recorded."""

    reason: str


Outcome: TypeAlias = Finding | NotFound | CouldNotLook


class Rule(Struct, frozen=True, kw_only=True):
    """One way to explain a run.

    ``covers`` are ids of rules that see the same cause from farther away: when this rule
    finds something as grave, their findings are not shown.
    """

    id: str
    title: str
    look: Callable[[Case], Outcome]
    covers: frozenset[str] = frozenset()


NOTICED = 0.03
MINOR, MAJOR, CRITICAL = 0.05, 0.15, 0.4


def severity_of(share: float) -> Severity:
    """How grave a cause is that accounts for this share of the clients' time or the loss."""
    if share >= CRITICAL:
        return "critical"
    if share >= MAJOR:
        return "major"
    return "minor" if share >= MINOR else "note"
