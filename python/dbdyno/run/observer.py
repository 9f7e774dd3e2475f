"""Who watches a run while it lasts. The runner tells, and does not know what is shown."""

from typing import Protocol

from dbdyno.model.frame import Interval, Started
from dbdyno.model.plan import Plan
from dbdyno.workloads.loading import LoadProgress


class Observer(Protocol):
    """What can be told of a run, in the order in which it happens."""

    def say(self, text: str) -> None:
        """A line for the person who waits: what is done now, or a warning."""

    def loading(self, progress: LoadProgress) -> None:
        """How far loading is."""

    def started(self, plan: Plan, started: Started) -> None:
        """The load begins."""

    def interval(self, interval: Interval) -> None:
        """An interval is over."""
