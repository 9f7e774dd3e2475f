"""Observers of a study in progress: of the whole, and of a turn's run with its times."""

from collections.abc import Sequence

from dbdyno.model.frame import Interval, Started
from dbdyno.model.plan import Plan
from dbdyno.model.study import Spent, StudyRecord, Turn, TurnResult
from dbdyno.run.observer import Observer, Relay
from dbdyno.study.clocks import Clock, Instant


class StudyObserver(Observer):
    """What can be reported of a study, in the order in which it happens. This one shows nothing."""

    def begins(self, record: StudyRecord, left_s: float) -> None:
        """Report that this session begins; all its turns will take about ``left_s``."""

    def turn_begins(self, turn: Turn, left_s: float) -> None:
        """Report that a turn is being prepared."""

    def turn_ends(self, result: TurnResult, left_s: float) -> None:
        """Report that a turn is over, successful or not."""


class TurnWatch(Relay):
    """An observer of one run that records its times, and its server's placement."""

    def __init__(self, observer: Observer, clock: Clock) -> None:
        super().__init__(observer)
        self._clock = clock
        self.begin = clock()
        self._load_begin: Instant | None = None
        self._load_end: Instant | None = None
        self.verified: list[str] = []
        """The verified placement of the server, in sentences."""

    def placed(self, verified: Sequence[str]) -> None:
        """Keep the verified placement."""
        self.verified = [f"placement: {sentence}" for sentence in verified]
        super().placed(verified)

    def started(self, plan: Plan, started: Started) -> None:
        """Note the end of the preparation."""
        self._load_begin = self._load_end = self._clock()
        super().started(plan, started)

    def interval(self, interval: Interval) -> None:
        """Note that the load lasts at least until now."""
        self._load_end = self._clock()
        super().interval(interval)

    def spent(self, end: Instant) -> Spent:
        """Return how the time was spent, up to the moment when the server could be ended."""
        whole_s = end.steady - self.begin.steady
        if self._load_begin is None or self._load_end is None:
            return Spent(prepare_s=whole_s)
        prepare_s = self._load_begin.steady - self.begin.steady
        run_s = self._load_end.steady - self._load_begin.steady
        return Spent(prepare_s=prepare_s, run_s=run_s, other_s=whole_s - prepare_s - run_s)
