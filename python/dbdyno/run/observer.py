"""The observer of a run in progress. The runner reports to it, and does not know what is shown."""

from typing import Protocol

from dbdyno.model.frame import Interval, Started
from dbdyno.model.plan import Plan
from dbdyno.workloads.loading import LoadProgress


class Observer(Protocol):
    """What can be reported of a run, in the order in which it happens."""

    def say(self, text: str) -> None:
        """Show a line to the user: what is being done now, or a warning."""

    def loading(self, progress: LoadProgress) -> None:
        """Report the progress of loading."""

    def started(self, plan: Plan, started: Started) -> None:
        """Report that the load begins."""

    def interval(self, interval: Interval) -> None:
        """Report the end of a measurement interval."""
