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
    """The rule looked, and the cause is absent or below the noise."""

    reason: str


class CouldNotLook(Struct, frozen=True):
    """Something that the rule needs was not recorded."""

    reason: str


Outcome: TypeAlias = Finding | NotFound | CouldNotLook

TimeKind: TypeAlias = PartKind | Literal["not_seen"]
"""Where client time goes. A server that is gone or stands still cannot be sampled either."""


class Rule(Struct, frozen=True, kw_only=True):
    """One way to explain a run.

    ``covers`` are ids of rules that see the same cause less directly: if this rule explains most of
    their share, with at least their severity, their findings are not shown. ``accounts_for`` are
    the kinds of client time that a finding with a share of it explains. A rule about what only some
    databases have names their ``protocols``, and is not run for others. If a load's transactions
    failed, only the rules that may explain the failures are run (``explains_failures``).
    """

    id: str
    title: str
    look: Callable[[Case], Outcome]
    covers: frozenset[str] = frozenset()
    accounts_for: frozenset[TimeKind] = frozenset()
    protocols: frozenset[str] | None = None
    explains_failures: bool = False

    def is_for(self, protocol: str) -> bool:
        """Whether the rule applies to databases with this protocol."""
        return self.protocols is None or protocol in self.protocols


NOTICED = 0.03
MINOR, MAJOR, CRITICAL = 0.05, 0.15, 0.4
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
"""The mildest first."""


def severity_of(share: float) -> Severity:
    """Severity of a cause that accounts for this share of client time or of throughput."""
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
    """A finding of the calling rule; ``parts`` are the other fields of ``Finding``.

    Its id, title and *wrong when* need not be given: they are the rule's. Its severity follows from
    its share, and is a note without one, unless ``severity`` is given.
    """
    blank = {"id": "", "title": "", "severity": severity_of(share or 0.0)}
    return Finding(**blank | parts, summary=summary, evidence=evidence, share=share)
