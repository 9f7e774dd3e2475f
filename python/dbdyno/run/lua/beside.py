"""What a script for sysbench does beside its events: its data, its ``init`` and its ``done``.

A run without such a script does nothing here. All that is printed goes to the run's log.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dbdyno.model.frame import Survey
from dbdyno.model.plan import Plan
from dbdyno.run.lua.commands import look_at, perform
from dbdyno.run.tools import Tools

_NOTHING = Survey(problem=None, commands=[], is_parallel=False, has_init=False, has_done=False)


@dataclass(frozen=True)
class Beside:
    """What one run's script does beside its events."""

    tools: Tools
    plan: Plan
    survey: Survey
    say: Callable[[str], None]

    def make_data(self, log: Path) -> None:
        """The script's data anew: what may be left of it goes first."""
        for command in ("cleanup", "prepare"):
            if command in self.survey.commands:
                asked = look_at(self.tools, self.plan, command)
                self._perform(command, log, is_parallel=asked.is_parallel)

    def begin(self, log: Path) -> None:
        """What is to be done once before the events."""
        if self.survey.has_init:
            self._perform("init", log, is_parallel=False)

    def end(self, log: Path) -> None:
        """What is to be done once after them."""
        if self.survey.has_done:
            self._perform("done", log, is_parallel=False)

    def _perform(self, command: str, log: Path, *, is_parallel: bool) -> None:
        with log.open("a", encoding="utf-8") as out:
            perform(self.tools, self.plan, command, self.say, out, is_parallel=is_parallel)


def beside(tools: Tools, plan: Plan, say: Callable[[str], None]) -> Beside:
    """Looks at the plan's script, if it is one for sysbench."""
    survey = _NOTHING if plan.lua is None else look_at(tools, plan, "run")
    return Beside(tools, plan, survey, say)
