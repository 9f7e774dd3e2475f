"""The host's clock as telemetry sees it while it is switched on and off: off, it stands still.

So telemetry works as usual, and in the seconds in which it is on it reads every source as often as
in those of a whole run. Its own classes know nothing of this: while this clock is installed, the
process's ``time`` and the sleeps of its load clocks use it.
"""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import accumulate

import pytest

from dbdyno.engine import Profile, ProfileTaken
from dbdyno.telemetry.load_clock import LoadClock
from dbdyno.telemetry.profile import profile_task
from dbdyno.telemetry.profile.profile_task import FOR_EVER_NS

_real_ns = time.monotonic_ns
_sleep_until = LoadClock.sleep_until


class StandingClock:
    """Runs in the blocks that have their turn, before the first block and after the last.

    The blocks follow each other from :meth:`begin` on. They are known beforehand, so that nothing
    has to be switched: a thread sleeps until an instant at which the clock runs.
    """

    def __init__(self, turns: Sequence[bool], block_ns: int) -> None:
        self._turns = turns
        self._block_ns = block_ns
        self._gone_before = [0, *accumulate(turns)]
        self._going = [*(number for number, goes in enumerate(turns) if goes), len(turns)]
        self._began_ns: int | None = None

    def begin(self, at_ns: int) -> None:
        """The first block begins."""
        self._began_ns = at_ns

    def goes(self, real_ns: int) -> bool:
        """Whether it runs at this instant."""
        number, _ = self._place(real_ns, len(self._turns))
        return not 0 <= number < len(self._turns) or self._turns[number]

    def shown_ns(self, real_ns: int) -> int:
        """The time that it shows at this instant."""
        number, into_ns = self._place(real_ns, len(self._turns))
        if number < 0:
            return real_ns
        return self._begin_ns(self._gone_before[number]) + (into_ns if self.goes(real_ns) else 0)

    def real_ns(self, shown_ns: int) -> int:
        """The instant at which it shows this time and runs."""
        number, into_ns = self._place(shown_ns, len(self._going) - 1)
        return shown_ns if number < 0 else self._begin_ns(self._going[number]) + into_ns

    def block_end_ns(self, real_ns: int) -> int:
        """The end of the block that an instant is in."""
        _, into_ns = self._place(real_ns, len(self._turns))
        return real_ns + self._block_ns - into_ns % self._block_ns

    def _place(self, ns: int, last: int) -> tuple[int, int]:
        """The block of an instant, and the offset in it; all time after the last is one block."""
        if self._began_ns is None or ns < self._began_ns:
            return -1, 0
        number = min((ns - self._began_ns) // self._block_ns, last)
        return number, ns - self._begin_ns(number)

    def _begin_ns(self, number: int) -> int:
        assert self._began_ns is not None
        return self._began_ns + number * self._block_ns

    def sleep(self, load_clock: LoadClock, shown_ns: int) -> bool:
        """Replaces a load clock's own sleep; whether the instant came."""
        while True:
            now_ns = _real_ns()
            awake_ns = self.real_ns(max(shown_ns, self.shown_ns(now_ns)))
            if not _sleep_until(load_clock, time.monotonic_ns() + awake_ns - now_ns):
                return False
            if self.goes(_real_ns()):
                return True


class SwitchedProfile(Profile):
    """A profile that the kernel takes only while the clock runs."""

    def __init__(self, clock: StandingClock, process: int, hz: int, cpus: Sequence[int]) -> None:
        super().__init__(process, hz, cpus)
        self._clock = clock
        self._is_over = threading.Event()
        self._begin, self.begin = self.begin, self._begin_switching

    def _begin_switching(self, origin_ns: int) -> None:
        self._begin(origin_ns)
        threading.Thread(target=self._switch, daemon=True).start()

    def _switch(self) -> None:
        while True:
            now_ns = _real_ns()
            (self.resume if self._clock.goes(now_ns) else self.pause)()
            if self._is_over.wait((self._clock.block_end_ns(now_ns) - now_ns) / 1e9):
                return

    def take_before(self, until_ns: int) -> ProfileTaken:
        """Takes what was counted so far, on the host's own clock."""
        if until_ns >= FOR_EVER_NS:
            self._is_over.set()
        return super().take_before(FOR_EVER_NS)


@contextmanager
def freeze_clock(clock: StandingClock) -> Iterator[None]:
    """Makes it this process's clock while the block lasts."""

    def now_ns() -> int:
        return clock.shown_ns(_real_ns())

    def sleep_until(load_clock: LoadClock, at_ns: int) -> bool:
        return clock.sleep(load_clock, at_ns)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "monotonic_ns", now_ns)
        patch.setattr(time, "monotonic", lambda: now_ns() / 1e9)
        patch.setattr(LoadClock, "sleep_until", sleep_until)
        patch.setattr(profile_task, "Profile", partial(SwitchedProfile, clock))
        yield
