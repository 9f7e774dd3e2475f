"""Records when a turn's load began and ended, and passes everything on to the observer."""

from dbdyno.model.frame import Interval, Started
from dbdyno.model.plan import Plan
from dbdyno.model.study import Spent
from dbdyno.run.observer import Observer
from dbdyno.study.clocks import Clock, Instant

PLACEMENT = "placement: "


class TurnWatch:
    """An observer of one run that records its times."""

    def __init__(self, observer: Observer, clock: Clock) -> None:
        self._observer = observer
        self._clock = clock
        self.begin = clock()
        self._load_begin: Instant | None = None
        self._load_end: Instant | None = None
        self.verified: list[str] = []
        """The verified placement of the server, in sentences."""
        self.loading = observer.loading

    def say(self, text: str) -> None:
        """Keep messages about the verified placement."""
        if text.startswith(PLACEMENT):
            self.verified.append(text)
        self._observer.say(text)

    def started(self, plan: Plan, started: Started) -> None:
        """Note the end of the preparation."""
        self._load_begin = self._load_end = self._clock()
        self._observer.started(plan, started)

    def interval(self, interval: Interval) -> None:
        """Note that the load lasts at least until now."""
        self._load_end = self._clock()
        self._observer.interval(interval)

    def spent(self, end: Instant) -> Spent:
        """Return how the time was spent, up to the moment when the server could be ended."""
        whole_s = end.steady - self.begin.steady
        if self._load_begin is None or self._load_end is None:
            return Spent(prepare_s=whole_s)
        prepare_s = self._load_begin.steady - self.begin.steady
        run_s = self._load_end.steady - self._load_begin.steady
        return Spent(prepare_s=prepare_s, run_s=run_s, other_s=whole_s - prepare_s - run_s)
