"""What a sysbench script does beside its events: its data, its ``init`` and its ``done``.

A run without such a script does nothing here. All that is printed goes to the run's log.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dbdyno.model.frame import Survey
from dbdyno.model.plan import Plan
from dbdyno.run.lua.commands import look_at, perform
from dbdyno.run.tools import Tools


@dataclass(frozen=True)
class Beside:
    """What one run's script does beside its events; of any other script there is no survey."""

    tools: Tools
    plan: Plan
    survey: Survey | None
    say: Callable[[str], None]

    def make_data(self, log: Path) -> None:
        """The script's data anew: what may be left of it goes first."""
        for command in ("cleanup", "prepare"):
            if self.survey and command in self.survey.commands:
                asked = look_at(self.tools, self.plan, command)
                self._perform(command, log, is_parallel=asked.is_parallel)

    def begin(self, log: Path) -> None:
        """What is to be done once before the events."""
        if self.survey and self.survey.has_init:
            self._perform("init", log, is_parallel=False)

    def end(self, log: Path) -> None:
        """What is to be done once after them."""
        if self.survey and self.survey.has_done:
            self._perform("done", log, is_parallel=False)

    def _perform(self, command: str, log: Path, *, is_parallel: bool) -> None:
        with log.open("a", encoding="utf-8") as out:
            perform(self.tools, self.plan, command, self.say, out, is_parallel=is_parallel)
