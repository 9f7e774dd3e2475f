"""The pulse of the agents: several times a second, each is heard, or asked for its clock, or lost.

Their answers are signs of life, and keep the offsets of the clocks up to date; for the agents, the
questions are: one that is not asked any more ends.
"""

import itertools
import time
from collections.abc import Callable, Sequence
from types import TracebackType

from dbdyno.fleet.agents import PRINTED_BYTES_MAX, Agent
from dbdyno.watch import Watch

EVERY_S = 0.25
ASKED_EVERY_BEATS = 4
"""One that is heard anyway is asked all the same, now and then."""
SILENCE_MAX_S = 1.5
"""An agent of which nothing was heard for so long is lost: within 2 s of falling silent."""


class Pulse(Watch):
    """Asks agents from a thread of its own for the duration of a block.

    It counts its own naps: while this whole process is stopped, it hears nobody.
    """

    def __init__(
        self,
        agents: Sequence[Agent],
        on_beat: Callable[[], None] = lambda: None,
        silence_max_s: float = SILENCE_MAX_S,
    ) -> None:
        super().__init__()
        self._silent_s = dict.fromkeys(agents, 0.0)
        self._on_beat = on_beat
        self._silence_max_s = silence_max_s

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Ask no more."""
        super().__exit__(kind, error, trace)
        self._thread.join()

    def forget(self, agent: Agent) -> None:
        """An agent has ended."""
        self._silent_s.pop(agent, None)

    def _watch(self) -> None:
        for beat in itertools.count():
            if self._over.is_set():
                return
            self._on_beat()
            begin_s = time.monotonic()
            for agent, silent_s in tuple(self._silent_s.items()):
                if silent_s or beat % ASKED_EVERY_BEATS == 0:
                    agent.ask_clock()
            self._over.wait(EVERY_S)
            for agent, before_s in tuple(self._silent_s.items()):
                silent_s = 0.0 if agent.heard_s >= begin_s else before_s + EVERY_S
                if agent in self._silent_s:
                    self._silent_s[agent] = silent_s
                if silent_s >= self._silence_max_s:
                    self.forget(agent)
                    agent.give_up("nothing was heard of it")
                elif agent.printed_bytes() > PRINTED_BYTES_MAX:
                    self.forget(agent)
                    agent.give_up("it prints without end")
