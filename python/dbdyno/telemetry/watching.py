"""Looks at the server's sessions at the instants at which the engine looks at its clients.

Sessions and locks come together, and locks only when somebody waits for one: looking at them
takes the locks of the server's own lock table. What is made of them is made once a second,
of all looks since: each alone would find the processors' caches full of the load.
"""

import time
from collections.abc import Iterator, Set

from dbdyno.model.frame import Started
from dbdyno.model.telemetry import Waits
from dbdyno.targets.telemetry import Telemetry
from dbdyno.telemetry.joining import Joiner, Look
from dbdyno.telemetry.line import Line, Unavailable
from dbdyno.telemetry.look_cost import LookCost
from dbdyno.telemetry.pace import Stride
from dbdyno.telemetry.teller import Teller, told
from dbdyno.telemetry.ticking import Ticker
from dbdyno.telemetry.waiting_room import WaitingRoom

SOURCE = "waits"
TOLD_EVERY_NS = 1_000_000_000


class Watcher:
    """Looks, and joins each look with the engine's word once that has come.

    ``ours`` are sessions of telemetry itself, which are left out.
    """

    name = SOURCE

    def __init__(  # noqa: PLR0913, PLR0917 - each is another thing
        self,
        line: Line,
        telemetry: Telemetry,
        room: WaitingRoom,
        joiner: Joiner,
        ours: Set[int],
        stride: Stride,
        cost: LookCost,
        teller: Teller,
    ) -> None:
        self._line = line
        self._telemetry = telemetry
        self._room = room
        self._joiner = joiner
        self._ours = ours
        self._stride = stride
        self._cost = cost
        self._teller = teller
        self.samples = 0

    def prepare(self) -> None:
        """Connects while there still is room for one more."""
        self._line.ask(self._telemetry.pid)

    def watch(self, started: Started, ticker: Ticker) -> None:
        """Looks at every chosen instant."""
        begin_ns, interval_ns = started.monotonic_ns, self._stride.interval_ns
        number, before, tell_at_ns = 1, 0, begin_ns + TOLD_EVERY_NS
        while ticker.sleep_until(begin_ns + number * interval_ns):
            seconds = self._stride.seconds(number - before, self._cost.ns)
            if self._look(begin_ns + number * interval_ns, seconds):
                before = number
            if time.monotonic_ns() >= tell_at_ns:
                self._tell_joined()
                tell_at_ns += TOLD_EVERY_NS
            passed = (time.monotonic_ns() - begin_ns) // interval_ns
            number = self._stride.after(number, passed, self._cost.ns)
        self._tell_joined()

    def conclude(self) -> None:
        """Says how much it could not tell."""
        self._room.close()
        if self._room.looks_lost and not self.samples:
            self._teller.lack(SOURCE, "the engine and the server were never seen together")

    def _look(self, at_ns: int, seconds: float) -> bool:
        """Whether the server answered."""
        began_ns = time.monotonic_ns()
        try:
            seen = self._line.ask(self._telemetry.look)
        except Unavailable as gone:
            self._teller.gone(str(gone))
            return False
        except Exception as error:  # whatever it is, the run goes on
            self._teller.lack(SOURCE, told(error))
            return False
        answer_ns = time.monotonic_ns() - began_ns
        self._cost.add(answer_ns)
        cost_us = answer_ns // 1000
        self._room.add_look(Look(at_ns=at_ns, seconds=seconds, cost_us=cost_us, seen=seen))
        return True

    def _tell_joined(self) -> None:
        joined = list(self._joined())
        self._teller.tell(*joined)
        self.samples += len(joined)

    def _joined(self) -> Iterator[Waits]:
        for look, activity in self._room.pairs():
            try:
                yield self._joiner.join(look, activity, self._ours)
            except Exception as error:  # whatever it is, the run goes on
                self._teller.lack(SOURCE, told(error))
