"""What a rule is, and its three outcomes.

A rule is one file of ``rules`` that ends in ``RULE = Rule(…)``. Its docstring is its page in the
manual (:mod:`dbdyno.explain.manual` describes the parts). It examines one
:class:`~dbdyno.explain.case.Case`; if something that it needs was not recorded, the outcome is
*could not look*, with the reason from :mod:`dbdyno.explain.needs`.
"""

from collections.abc import Callable
from typing import Any, Literal, TypeAlias, get_args

from msgspec import Struct

from dbdyno.analysis.budget import PartKind
from dbdyno.explain.case import Case
from dbdyno.model.record import Finding, Severity


class NotFound(Struct, frozen=True):
    """The rule looked and the cause is not there, or below the noise."""

    reason: str


class CouldNotLook(Struct, frozen=True):
    """Something that the rule needs was not recorded."""

    reason: str


Outcome: TypeAlias = Finding | NotFound | CouldNotLook

TimeKind: TypeAlias = PartKind | Literal["not_seen"]
"""Where the time of clients goes. A server that is gone or stands still answers no look either."""


class Rule(Struct, frozen=True, kw_only=True):
    """One way to explain a run.

    ``covers`` are ids of rules that see the same cause from farther away: when this rule finds
    most of it, and as gravely, their findings are not shown. ``accounts_for`` are the kinds of
    client time that a finding with a share of it explains. A rule about what only some
    databases have names their ``protocols``: of others it is not asked. Of a load whose
    transactions failed only those are asked that may tell why.
    """

    id: str
    title: str
    look: Callable[[Case], Outcome]
    covers: frozenset[str] = frozenset()
    accounts_for: frozenset[TimeKind] = frozenset()
    protocols: frozenset[str] | None = None
    tells_of_failures: bool = False

    def is_for(self, protocol: str) -> bool:
        """Whether it has something to say of databases that speak this protocol."""
        return self.protocols is None or protocol in self.protocols


NOTICED = 0.03
MINOR, MAJOR, CRITICAL = 0.05, 0.15, 0.4
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
"""The mildest first."""


def severity_of(share: float) -> Severity:
    """How grave a cause is that accounts for this share of client time or the loss."""
    if share >= CRITICAL:
        return "critical"
    if share >= MAJOR:
        return "major"
    return "minor" if share >= MINOR else "note"


def at_most(limit: Severity, severity: Severity) -> Severity:
    """The milder of the two."""
    return min(limit, severity, key=SEVERITIES.index)


def found(
    summary: str, *, evidence: dict[str, Any], share: float | None = None, **parts: Any
) -> Finding:
    """A finding of the rule that calls this; ``parts`` are the other fields of ``Finding``.

    Its id, its title and when it is wrong need not be said again: they are the rule's. Its
    severity is that of its share, and without one a note, unless ``severity`` says otherwise.
    """
    blank = {"id": "", "title": "", "severity": severity_of(share or 0.0)}
    return Finding(**blank | parts, summary=summary, evidence=evidence, share=share)
