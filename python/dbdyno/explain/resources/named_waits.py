"""Waits that the server names, as rules report them: by event, and at which statements."""

from collections import defaultdict
from collections.abc import Callable
from typing import Self

from msgspec import Struct

from dbdyno.analysis.waits.budget import Part
from dbdyno.explain.gains import WaitClaim, gains_of_waits_in
from dbdyno.explain.needs import client_time
from dbdyno.explain.rule import NOTICED, Aside
from dbdyno.explain.statements.statements import statements_of
from dbdyno.formatting import percent
from dbdyno.model.run import Run


class WaitAt(Struct, frozen=True):
    """A wait at one statement, and its share of client time."""

    event: str
    statement: str
    share: float

    @property
    def text(self) -> str:
        """What was observed."""
        return f"{self.event} at “{self.statement}”: {percent(self.share)} of client time."


class NamedWaits(WaitClaim, frozen=True, kw_only=True):
    """Waits of some kinds, of all statements together: shares of client time by event."""

    events: dict[str, float]
    waits: Aside[list[WaitAt]]

    @classmethod
    def of(cls, run: Run, is_of: Callable[[Part], bool]) -> Self:
        """The waits of which this is true; without any, their share is 0."""
        spent = client_time(run)
        texts = {one.number: one.text for one in statements_of(run)}
        events: dict[str, float] = defaultdict(float)
        waits = []
        for part in filter(is_of, spent.parts):
            share = part.seconds / spent.total
            events[part.wait_event] += share
            if part.statement in texts and share >= NOTICED:
                waits.append(WaitAt(part.wait_event, texts[part.statement], share))
        return cls(
            share=sum(events.values()),
            events=dict(events),
            waits=waits,
            gains=gains_of_waits_in(run),
        )

    @property
    def seen(self) -> list[str]:
        """At which statements, where it is noticed."""
        return [one.text for one in self.waits]
