"""What a rule is, and what it may claim.

A rule is one file of ``rules`` that ends in ``RULE = Rule(…)``. Its docstring is its page in the
manual (:mod:`dbdyno.explain.registry` describes the parts). It examines one
:class:`~dbdyno.model.run.Run`, by arithmetic alone: what it finds is a :class:`Claim`, whose fields
are numbers and whose properties are the sentences about them. If something that it needs was not
recorded, the outcome is *could not look*, with the reason from :mod:`dbdyno.explain.needs`.
"""

from collections.abc import Callable
from functools import cache
from typing import Annotated, Literal, TypeAlias, TypeVar, get_args, get_type_hints

from msgspec import Struct, to_builtins

from dbdyno.analysis.events.run_event import EventKind
from dbdyno.model.database import Capability, Database, PartKind
from dbdyno.model.record import Certainty, Severity, ShareOf
from dbdyno.model.run import Run


class NotFound(Struct, frozen=True):
    """The rule looked, and the cause is absent or below the noise."""

    reason: str


class CouldNotLook(Struct, frozen=True):
    """Something that the rule needs was not recorded."""

    reason: str


TimeKind: TypeAlias = PartKind | Literal["not_seen"]
"""Where client time goes. A server that is gone or stands still cannot be sampled either."""

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


T = TypeVar("T")
Aside: TypeAlias = Annotated[T, "aside"]
"""What sentences need, but evidence does not list."""


class Evidence(Struct, frozen=True, kw_only=True):
    """Numbers by name, in the order in which a finding lists them.

    If one of them is ``Evidence`` itself, its own are listed in its place.
    """

    @property
    def evidence(self) -> dict[str, object]:
        """All fields except asides, as plain values."""
        listed: dict[str, object] = {}
        for name in _listed(type(self)):
            value = getattr(self, name)
            listed |= value.evidence if isinstance(value, Evidence) else {name: to_builtins(value)}
        return listed


@cache
def _listed(kind: type[Evidence]) -> list[str]:
    hints = get_type_hints(kind, include_extras=True)
    return [
        name
        for name in kind.__struct_fields__
        if "aside" not in getattr(hints[name], "__metadata__", ())
    ]


class Claim(Evidence, frozen=True, kw_only=True):
    """What a rule found: its fields are numbers, the evidence; its properties are sentences.

    A rule's own claim has the numbers, and replaces the properties about which it has more to say,
    by a property or a constant. They depend on nothing but the fields. ``Finding`` describes each.
    """

    share: Aside[float | None] = None
    """The part of ``share_of`` that the cause accounts for; None if it is not bounded."""

    @property
    def title(self) -> str:
        """Empty if the rule's own title says it all."""
        return ""

    @property
    def summary(self) -> str:
        """Cause first, number second."""
        raise NotImplementedError

    @property
    def share_of(self) -> ShareOf:
        """Client time, unless the share is of something else, or not known."""
        return "" if self.share is None else "client time"

    @property
    def severity(self) -> Severity:
        """By the share; without one it is a note."""
        return severity_of(self.share or 0.0)

    @property
    def certainty(self) -> Certainty:
        """One kind of evidence makes it likely."""
        return "likely"

    @property
    def seen(self) -> list[str]:
        """What was observed."""
        return []

    @property
    def why(self) -> str:
        """Why it matters."""
        return ""

    @property
    def advice(self) -> list[str]:
        """What to try."""
        return []

    @property
    def gain(self) -> str:
        """What that would gain; empty if it is not known."""
        return ""

    @property
    def refute(self) -> str:
        """The experiment that would refute the claim."""
        return ""

    @property
    def wrong_when(self) -> str:
        """Empty if the rule's page says it all."""
        return ""


class Rule(Struct, frozen=True, kw_only=True):
    """One way to explain a run.

    ``accounts_for`` are the kinds of client time that a finding with a share of it explains. A rule
    about what only some databases do ``needs`` that capability, and is not run for others. If a
    load's transactions failed, only the rules that may explain the failures are run
    (``explains_failures``). ``events`` are the kinds of events at which its cause shows: a report
    leads from a finding to them. With ``reads_texts`` it needs only what other tools print: no
    other rule is run for imported runs, whose tables have little in them. Which rules see a cause
    more directly than others is in :mod:`dbdyno.explain.directness`.
    """

    id: str
    title: str
    look: Callable[[Run], Claim | NotFound | CouldNotLook]
    accounts_for: frozenset[TimeKind] = frozenset()
    needs: frozenset[Capability] = frozenset()
    explains_failures: bool = False
    reads_texts: bool = False
    events: frozenset[EventKind] = frozenset()

    def is_for(self, database: Database) -> bool:
        """Whether the rule applies to this database."""
        return self.needs <= database.capabilities
