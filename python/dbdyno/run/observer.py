"""The observer of a run in progress. The runner reports to it, and does not know what is shown."""

from collections.abc import Sequence
from pathlib import Path

from dbdyno.model.frame import Interval, Started, Transactions
from dbdyno.model.plan import Plan
from dbdyno.workloads.loading import LoadProgress


class Observer:
    """What can be reported of a run, in the order in which it happens. This one shows nothing."""

    @property
    def has_enough(self) -> bool:
        """Whether the run may end now, as after an interrupt."""
        return False

    def say(self, text: str) -> None:
        """Show a line to the user: what is being done now, or a warning."""

    def placed(self, verified: Sequence[str]) -> None:
        """Report the verified placement of the server, in sentences."""
        for sentence in verified:
            self.say(f"placement: {sentence}")

    def loading(self, progress: LoadProgress) -> None:
        """Report the progress of loading."""

    def recorded(self, folder: Path) -> None:
        """Report the run folder, which can be read from now on."""

    def started(self, plan: Plan, started: Started) -> None:
        """Report that the load begins."""

    def interval(self, interval: Interval) -> None:
        """Report the end of a measurement interval."""

    def transactions(self, transactions: Transactions) -> None:
        """Report the transactions of an interval, if the job asks for each of them."""


class Relay(Observer):
    """Passes everything on to another observer."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer

    @property
    def has_enough(self) -> bool:
        """What the other says."""
        return self._observer.has_enough

    def say(self, text: str) -> None:
        """Pass the line on."""
        self._observer.say(text)

    def placed(self, verified: Sequence[str]) -> None:
        """Pass the placement on."""
        self._observer.placed(verified)

    def loading(self, progress: LoadProgress) -> None:
        """Pass the progress on."""
        self._observer.loading(progress)

    def recorded(self, folder: Path) -> None:
        """Pass the folder on."""
        self._observer.recorded(folder)

    def started(self, plan: Plan, started: Started) -> None:
        """Pass the beginning on."""
        self._observer.started(plan, started)

    def interval(self, interval: Interval) -> None:
        """Pass the interval on."""
        self._observer.interval(interval)

    def transactions(self, transactions: Transactions) -> None:
        """Pass the transactions on."""
        self._observer.transactions(transactions)
