"""What a sysbench script does apart from its events: its commands, its ``init`` and its ``done``.

A command, such as prepare or cleanup, is a transaction of its own, executed once by one client, or
by all of them if the script declares it parallel. None of it is measured.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from msgspec.structs import replace

from dbdyno.errors import DbdynoError
from dbdyno.model.frame import Frame, OutageBegun, Survey
from dbdyno.model.plan import Arrivals, ClosedArrivals, Lua, Plan, Retry, Stage
from dbdyno.run.measure import measure
from dbdyno.run.observer import Observer
from dbdyno.run.tools import Tools

# No limit in practice: building an index may take a server arbitrarily long.
_PATIENCE_NS = 365 * 24 * 3600 * 10**9


def survey_command(tools: Tools, plan: Plan, command: str) -> Survey:
    """Return the script's survey for this command; raise an error if it cannot run."""
    survey = tools.survey(_plan_for(plan, command), None)
    refuse_problem(plan, survey)
    return survey


def print_help(tools: Tools, plan: Plan, out: IO[str]) -> None:
    """Print the script's own help, which needs no server."""
    refuse_problem(plan, tools.survey(_plan_for(plan, "help"), out))


def refuse_problem(plan: Plan, survey: Survey) -> None:
    """Raise the script's problem, if it has one."""
    problem = survey.problem
    if problem is None:
        return
    place = f"{plan.scripts[0].name}:{problem.line}: " if problem.line else ""
    raise DbdynoError(
        code="script",
        message=f"{place}{problem.message}",
        hint=f"Nothing was done. dbdyno script {_lua(plan).path} help lists the script's options.",
    )


def perform(  # noqa: PLR0913
    tools: Tools,
    plan: Plan,
    command: str,
    say: Callable[[str], None],
    log: IO[str],
    *,
    is_parallel: bool,
) -> None:
    """Execute a command of this plan's script; an error says why it failed."""
    planned = _once(_plan_for(plan, command), plan.clients if is_parallel else 1)
    name = plan.scripts[0].name

    def failed(reason: str) -> DbdynoError:
        return DbdynoError("script", f"{command} of {name} failed: {reason}", "")

    def refuse_loss(_raw: bytes, frame: Frame) -> None:
        """A command ends with its session, and a lost server may never come back."""
        if isinstance(frame, OutageBegun):
            raise failed(f"the connection to the server was lost: {frame.message}")

    say(f"{name}: {command}")
    measured = measure(tools.start(planned, log), planned, _Listener(say), refuse_loss, say)
    if measured.was_interrupted:
        raise KeyboardInterrupt
    if measured.failed is not None:
        raise failed(measured.failed.message)
    if measured.done is None:
        is_silent = measured.was_silent
        raise failed(silence_reason(plan) if is_silent else "the engine ended without a message")
    if measured.done.end != "complete":
        raise failed(measured.done.reason or f"it was {measured.done.end}")
    if measured.done.failures:
        raise failed(measured.done.failures[0].message)


def _plan_for(plan: Plan, command: str) -> Plan:
    return replace(plan, lua=replace(_lua(plan), command=command))


def _once(plan: Plan, clients: int) -> Plan:
    """Return a plan of one transaction for each client, without a time limit."""
    return replace(
        plan,
        clients=clients,
        threads=min(plan.threads, clients),
        arrivals=Arrivals(closed=ClosedArrivals()),
        stages=[Stage(duration_ns=None)],
        transactions_per_client=1,
        warmup_ns=0,
        activity_interval_ns=None,
        latency_limit_ns=None,
        reconnect_each_transaction=False,
        retry=Retry(tries_max=1),
        stall_limit_ns=_PATIENCE_NS,
    )


def _lua(plan: Plan) -> Lua:
    assert plan.lua is not None
    return plan.lua


def silence_reason(plan: Plan) -> str:
    """Return why an engine that runs Lua falls silent."""
    return (
        f"the script {plan.scripts[0].name} kept running without sending a request (an endless "
        "loop?) and was stopped"
    )


class _Listener(Observer):
    """An observer of a command, which shows only messages."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say

    def say(self, text: str) -> None:
        """Show the message."""
        self._say(text)


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
