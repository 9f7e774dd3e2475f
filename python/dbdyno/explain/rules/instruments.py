"""What the server counts and times of itself takes CPU time.

Looks for: CPU time in the server's statistics and instruments, and in reading the clock, in
backends that serve the load.

Arithmetic: samples of the profile in these functions, over all samples of these backends; that part
of the clients' time on a CPU, and, of their time waiting for one, the part of the CPU time in use.
What instruments make of the functions that call them is not in it: this is a lower bound. At most
it is that with all that serves others, such as locks, into which compilers put instruments.

Source: MariaDB manual, *Performance Schema*; PostgreSQL manual, *track_io_timing*.

Wrong when: production runs with the same instruments: then it is a part of its costs.
"""

from typing import ClassVar

from dbdyno.explain.needs import LackingError, server_facts
from dbdyno.explain.resources.server_work import WorkClaim, claim_of, with_services, work_on
from dbdyno.explain.resources.settings import is_on
from dbdyno.explain.rule import NotFound, Rule
from dbdyno.model.run import Run

ORDINARY = 0.08
"""Of the CPU time for a load: what a server without such a setting spends on it as well."""
_ADVICE = {
    "performance_schema": (
        "Set performance_schema = OFF and start the server again, or disable the instruments and "
        "consumers that nobody reads (setup_instruments, setup_consumers): waits cost most."
    ),
    "track_io_timing": "Set track_io_timing = off.",
    "track_wal_io_timing": "Set track_wal_io_timing = off.",
}


class Instruments(WorkClaim, frozen=True, kw_only=True):
    """Statistics, instruments and clocks."""

    what: ClassVar[str] = "What the server counts and times of itself"
    settings: list[str]
    """Those that are on."""
    why: ClassVar[str] = (
        "Each wait, each row and each statement is counted, and the clock is read twice for what "
        "is timed."
    )
    refute: ClassVar[str] = "Run again without these instruments: throughput must rise."

    @property
    def seen(self) -> list[str]:
        """The settings, too."""
        is_on = [f"{name} = ON" for name in self.settings]
        return [*super().seen, *([f"Set: {', '.join(is_on)}."] if is_on else [])]

    @property
    def advice(self) -> list[str]:
        """By the settings that are on."""
        known = [_ADVICE[name] for name in self.settings]
        return known or ["Look for extensions and settings that count or time each statement."]


def look(run: Run) -> WorkClaim | NotFound:
    """Where a setting explains it, less is spoken of."""
    settings = _settings(run)
    ordinary = 0.0 if settings else ORDINARY
    its = work_on("statistics", "clocks")
    return claim_of(run, Instruments, its, ordinary, with_services(run, its), settings=settings)


def _settings(run: Run) -> list[str]:
    """None if they were not recorded."""
    try:
        facts = server_facts(run)
    except LackingError:
        return []
    return [name for name in _ADVICE if is_on(facts, name)]


RULE = Rule(
    id="instruments",
    title="The server's instruments",
    look=look,
    accounts_for=frozenset({"cpu", "cpu_queue"}),
)
