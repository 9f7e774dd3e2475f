"""The server's log takes CPU time of each statement.

Looks for: CPU time for messages of the log, and for writing them, in backends that serve the load.

Arithmetic: samples of the profile in functions that format and write messages, and in the system
call by which backends hand them over, and their part of what memory and libraries took, over all
samples of these backends; that part of the clients' time on a CPU, and, of their time waiting for
one, the part of the CPU time in use. The settings say which log it is, if they were recorded.

Source: PostgreSQL manual, *Error Reporting and Logging*; MariaDB manual, *General Query Log*.

Wrong when: production logs the same: then it is a part of its costs.
"""

from typing import ClassVar

from dbdyno.analysis.processor.profile import Part
from dbdyno.explain.needs import LackingError, server_facts
from dbdyno.explain.resources.server_work import (
    WorkClaim,
    claim_of,
    share_of_work,
    with_services,
    work_on,
)
from dbdyno.explain.resources.settings import is_on, plain
from dbdyno.explain.rule import NotFound, Rule
from dbdyno.formatting import percent
from dbdyno.model.record import ProcessorPart
from dbdyno.model.run import Run

FORMATTING_MIN = 0.01
"""Of the CPU time for a load: with less, these system calls write other files.

A setting that logs each statement says more.
"""
_HANDED_OVER_BY = ("write", "writev")


class StatementLogging(WorkClaim, frozen=True, kw_only=True):
    """Formatting and writing messages."""

    what: ClassVar[str] = "Writing the server's log"
    settings: list[str]
    """Those that make the server log each statement."""

    @property
    def seen(self) -> list[str]:
        """The settings, too."""
        return [*super().seen, *([f"Set: {', '.join(self.settings)}."] if self.settings else [])]

    why: ClassVar[str] = (
        "A line for each statement costs as much as a short statement itself, and all "
        "sessions write to one log."
    )
    advice: ClassVar[list[str]] = [
        (
            "Set log_statement = none and log_min_duration_statement to the duration of a "
            "slow statement (MariaDB, MySQL: general_log = OFF, long_query_time above 0); "
            "keep log_min_messages at warning."
        )
    ]
    refute: ClassVar[str] = "Run again without these lines in the log: throughput must rise."


def look(run: Run) -> WorkClaim | NotFound:
    """Backends hand messages over by a system call of their own, whose part counts as well."""
    formatting = share_of_work(run, work_on("logging"))
    settings = _settings(run)
    if formatting < FORMATTING_MIN and not settings:
        return NotFound(f"messages of its log took {percent(formatting)} of its CPU time")
    served = with_services(run, _is_of_log)
    return claim_of(run, StatementLogging, _is_of_log, served=served, settings=settings)


def _settings(run: Run) -> list[str]:
    """Those that make the server log each statement; none if they were not recorded."""
    try:
        facts = server_facts(run)
    except LackingError:
        return []
    is_slow_all = is_on(facts, "slow_query_log") and plain(facts, "long_query_time") == 0
    found = {
        "log_statement = all": facts.settings.get("log_statement") == "all",
        "log_min_duration_statement = 0": facts.settings.get("log_min_duration_statement") == "0",
        "general_log = ON": is_on(facts, "general_log"),
        "long_query_time = 0": is_slow_all,
    }
    return [setting for setting, is_set in found.items() if is_set]


def _is_of_log(part: Part | ProcessorPart) -> bool:
    return part.subsystem == "logging" or part.file in _HANDED_OVER_BY


RULE = Rule(
    id="statement_logging",
    title="The server writes statements to its log",
    look=look,
    accounts_for=frozenset({"cpu", "cpu_queue"}),
)
