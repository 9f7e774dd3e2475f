"""What a sysbench script does apart from its events: its data, its ``init`` and its ``done``.

Does nothing in a run without such a script. All output goes to the run's log.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dbdyno.errors import DbdynoError
from dbdyno.model.frame import Survey
from dbdyno.model.plan import Plan
from dbdyno.run.lua.commands import perform, survey_command
from dbdyno.run.tools import Tools


@dataclass(frozen=True)
class ScriptHooks:
    """What a run's script does apart from its events; ``survey`` is None for other scripts."""

    tools: Tools
    plan: Plan
    survey: Survey | None
    say: Callable[[str], None]

    def make_data(self, log: Path) -> None:
        """Create the script's data again, after removing what may be left of it."""
        for command in ("cleanup", "prepare"):
            if self.survey and command in self.survey.commands:
                survey = survey_command(self.tools, self.plan, command)
                self._perform(command, log, is_parallel=survey.is_parallel)

    def begin(self, log: Path) -> None:
        """Do what has to be done once before the events."""
        if self.survey and self.survey.has_init:
            self._perform("init", log, is_parallel=False)

    def end(self, log: Path) -> str | None:
        """Do what has to be done once after the events; return why it failed.

        That is no exception, because the events were measured and their results are kept.
        """
        try:
            if self.survey and self.survey.has_done:
                self._perform("done", log, is_parallel=False)
        except DbdynoError as error:
            return f"after the events, {error.message}"
        return None

    def _perform(self, command: str, log: Path, *, is_parallel: bool) -> None:
        with log.open("a", encoding="utf-8") as out:
            perform(self.tools, self.plan, command, self.say, out, is_parallel=is_parallel)
