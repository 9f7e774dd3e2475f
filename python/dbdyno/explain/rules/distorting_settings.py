"""Settings that distort the results: with them, the numbers are another system's.

Looks for: settings, and kinds of builds, under which a result does not carry over to a production
server: less durable, slower for everyone, or left at a small default.

Arithmetic: only sizes: the server's cache against the tables and indexes of the statements, the
estimated cost of a plan against the cost from which JIT compiles, where the statement is short or
costs less than what the server compiles by default.

Source: PostgreSQL manual, server configuration; MySQL manual, InnoDB startup options.

Wrong when: the production server has the same settings on purpose.
"""

from collections.abc import Callable, Iterator
from typing import ClassVar, TypeAlias

from msgspec import Struct

from dbdyno.analysis.processor.profile import server_profile
from dbdyno.analysis.summarize import full_record
from dbdyno.explain.needs import LackingError, server_facts
from dbdyno.explain.resources.settings import is_off, is_on, plain, size_bytes
from dbdyno.explain.rule import SEVERITIES, Aside, Claim, NotFound, Rule
from dbdyno.explain.statements.statements import plans_of, statements_of
from dbdyno.formatting import count, percent, size
from dbdyno.model.record import Certainty, Severity
from dbdyno.model.run import Run
from dbdyno.model.telemetry import ServerFacts

CACHE_TINY = 0.25
CACHE_DEFAULT = 128 << 20  # bytes, of shared_buffers and of innodb_buffer_pool_size
SHORT_MS = 100.0
_COMMITS = "innodb_flush_log_at_trx_commit"
_UNFLUSHED = ("0", "2")
JIT_COST_DEFAULT = 100_000.0
"""A cheaper plan is short by itself, however long its compilation makes it."""


class Distortion(Struct, frozen=True):
    """A setting, its effect on the numbers, and what to set instead."""

    setting: str
    effect: str
    instead: str
    severity: Severity = "minor"


_Judge: TypeAlias = Callable[[Run, ServerFacts], Iterator[Distortion]]


class DistortingSettings(Claim, frozen=True, kw_only=True):
    """All settings that distort the numbers."""

    settings: list[str]
    distortions: Aside[list[Distortion]]
    certainty: ClassVar[Certainty] = "sure"

    @property
    def severity(self) -> Severity:
        return max((one.severity for one in self.distortions), key=SEVERITIES.index)

    @property
    def summary(self) -> str:
        return f"The run was measured on a server with {', '.join(self.settings)}."

    @property
    def seen(self) -> list[str]:
        return [f"{one.setting}: {one.effect}" for one in self.distortions]

    why: ClassVar[str] = (
        "Results measured with these settings do not apply to a server without them."
    )

    @property
    def advice(self) -> list[str]:
        return [one.instead for one in self.distortions]

    refute: ClassVar[str] = (
        "Run again without them: equal throughput shows that they did not matter."
    )


def look(run: Run) -> DistortingSettings | NotFound:
    """Report all of them in one finding."""
    facts = server_facts(run)
    # Of what a profile shows the share, another finding speaks.
    is_profiled = server_profile(run) is not None
    judges = [judge for judge in _JUDGES if not (is_profiled and judge in _WITH_SHARES)]
    known = [one for judge in judges for one in _distortions_of(judge, run, facts)]
    if not known:
        return NotFound("no setting distorts the numbers")
    return DistortingSettings(settings=[one.setting for one in known], distortions=known)


def _distortions_of(judge: _Judge, run: Run, facts: ServerFacts) -> list[Distortion]:
    """A judge's distortions; none from a setting that was not recorded."""
    try:
        return list(judge(run, facts))
    except LackingError:
        return []


def _build(_run: Run, facts: ServerFacts) -> Iterator[Distortion]:
    if facts.is_debug_build or is_on(facts, "debug_assertions"):
        yield Distortion(
            "a debug build",
            "every operation runs assertions; it is slower by a large and uneven factor.",
            "Measure a release build, without assertions.",
        )


def _durability(_run: Run, facts: ServerFacts) -> Iterator[Distortion]:
    if is_off(facts, "fsync"):
        yield Distortion(
            "fsync = off", "a crash of the host loses the database.", "Set fsync = on."
        )
    if is_off(facts, "full_page_writes"):
        yield Distortion(
            "full_page_writes = off",
            "a crash can leave torn pages behind; less WAL is written than with it on.",
            "Set full_page_writes = on.",
        )
    if is_off(facts, "synchronous_commit"):
        yield Distortion(
            "synchronous_commit = off",
            "commits do not wait for their WAL; a crash loses the most recent ones.",
            "Compare only with servers of the same durability, or set it to on.",
            "note",
        )


def _logging(_run: Run, facts: ServerFacts) -> Iterator[Distortion]:
    if facts.settings.get("log_statement") == "all":
        yield Distortion(
            "log_statement = all",
            "every statement writes a line to the log.",
            "Set log_statement = none while you measure.",
        )
    if facts.settings.get("log_min_duration_statement") == "0":
        yield Distortion(
            "log_min_duration_statement = 0",
            "every statement writes a line to the log.",
            "Set it to the duration of a slow statement, or to -1.",
        )


def _vacuum(_run: Run, facts: ServerFacts) -> Iterator[Distortion]:
    if is_off(facts, "autovacuum"):
        yield Distortion(
            "autovacuum = off",
            "dead rows are not removed: a long run slows down, a short one looks too good.",
            "Set autovacuum = on.",
            "note",
        )


def _cache(run: Run, facts: ServerFacts) -> Iterator[Distortion]:
    terms = run.database.terms
    setting = terms.cache_setting
    cache = size_bytes(facts, setting)
    data = sum(table.bytes + sum(one.bytes for one in table.indexes) for table in facts.tables)
    if cache <= CACHE_DEFAULT and cache < CACHE_TINY * data:
        yield Distortion(
            f"{setting} = {size(cache)}",
            f"it holds {percent(cache / data)} of the statements' tables and indexes.",
            f"Set {setting} to {terms.cache_usual}.",
            "note",
        )


def _jit(run: Run, facts: ServerFacts) -> Iterator[Distortion]:
    if not is_on(facts, "jit"):
        return
    limit = plain(facts, "jit_above_cost")
    for statement in statements_of(run):
        costs = [plan.cost for plan in plans_of(facts, statement.number).values()]
        is_cheap = max(costs, default=0.0) < JIT_COST_DEFAULT
        is_short = is_cheap or _is_short(run, statement.number)
        if limit >= 0 and min(costs, default=0.0) > limit and is_short:
            yield Distortion(
                "JIT on short queries",
                f"“{statement.text}” has an estimated cost of {count(max(costs))}, above "
                f"jit_above_cost = {count(limit)}: it is compiled at each execution, if the server "
                "has its JIT compiler installed (pg_jit_available()).",
                "Set jit = off, or raise jit_above_cost.",
            )
            return


def _is_short(run: Run, statement: int) -> bool:
    measured = full_record(run).statements
    mean_ms = measured[statement].mean_ms if statement < len(measured) else None
    return mean_ms is not None and mean_ms < SHORT_MS


def _redo(_run: Run, facts: ServerFacts) -> Iterator[Distortion]:
    level = facts.settings.get(_COMMITS)
    if level in _UNFLUSHED:
        yield Distortion(
            f"{_COMMITS} = {level}",
            "commits do not wait for their redo; a crash of the "
            f"{'server' if level == '0' else 'host'} loses the last second of commits.",
            "Compare only with servers of the same durability, or set it to 1.",
            "note",
        )
    if is_off(facts, "innodb_doublewrite"):
        yield Distortion(
            "innodb_doublewrite = OFF",
            "a crash can leave torn pages behind; pages are written once instead of twice.",
            "Set innodb_doublewrite = ON, unless the storage writes whole pages atomically.",
        )
    if is_on(facts, "log_bin") and facts.settings.get("sync_binlog") != "1":
        yield Distortion(
            f"sync_binlog = {facts.settings.get('sync_binlog')}",
            "a crash can lose transactions from the binary log that the tables contain.",
            "Set sync_binlog = 1, or compare only with servers that have the same value.",
            "note",
        )


def _statement_logs(_run: Run, facts: ServerFacts) -> Iterator[Distortion]:
    if is_on(facts, "general_log"):
        yield Distortion(
            "general_log = ON",
            "every statement writes a line to the log.",
            "Set general_log = OFF while you measure.",
        )
    if is_on(facts, "slow_query_log") and plain(facts, "long_query_time") == 0:
        yield Distortion(
            "long_query_time = 0",
            "every statement writes lines to the slow query log.",
            "Set it to the duration of a slow statement.",
        )


def _query_cache(_run: Run, facts: ServerFacts) -> Iterator[Distortion]:
    if is_on(facts, "query_cache_type") and size_bytes(facts, "query_cache_size") > 0:
        yield Distortion(
            "query_cache_type = ON",
            "a repeated query is answered from memory, behind one lock for all sessions.",
            "Set query_cache_type = OFF.",
        )


_JUDGES: tuple[_Judge, ...] = (
    _build,
    _durability,
    _logging,
    _vacuum,
    _redo,
    _statement_logs,
    _cache,
    _jit,
    _query_cache,
)
"""Each looks for settings that only its databases have."""
_WITH_SHARES = (_logging, _statement_logs, _jit)

RULE = Rule(id="distorting_settings", title="Settings that distort the results", look=look)
