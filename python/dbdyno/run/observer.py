"""Who watches a run while it lasts. The runner tells, and does not know what is shown."""

from typing import Protocol

from dbdyno.model.frame import Interval, Progress, Started
from dbdyno.model.plan import Plan


class Observer(Protocol):
    """What can be told of a run, in the order in which it happens."""

    def say(self, text: str) -> None:
        """A line for the person who waits: what is done now, or a warning."""

    def loading(self, progress: Progress, elapsed_s: float) -> None:
        """Rows of a table so far."""

    def started(self, plan: Plan, started: Started) -> None:
        """The load begins."""

    def interval(self, interval: Interval) -> None:
        """An interval is over."""
