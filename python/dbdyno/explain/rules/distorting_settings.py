"""Settings that distort the results: with them, the numbers are another system's.

Looks for: settings, and kinds of builds, under which a result does not carry over to a production
server: less durable, slower for everyone, or left at a small default.

Arithmetic: only sizes: the server's cache against the tables and indexes of the statements, the
estimated cost of a plan against the cost from which JIT compiles, where the statement is short or
costs less than what the server compiles by default.

Source: PostgreSQL manual, server configuration; MySQL manual, InnoDB startup options.

Wrong when: the production server has the same settings on purpose.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from msgspec import Struct

from dbdyno.analysis.protocol import MYSQL, POSTGRESQL
from dbdyno.explain.case import Case
from dbdyno.explain.databases import database_of
from dbdyno.explain.needs import LackingError, server_facts
from dbdyno.explain.rule import SEVERITIES, NotFound, Outcome, Rule, found
from dbdyno.explain.settings import is_off, is_on, plain, size_bytes
from dbdyno.explain.statements import plans_of, statements_of
from dbdyno.formatting import count, percent, size
from dbdyno.model.record import Severity
from dbdyno.model.telemetry import ServerFacts

CACHE_TINY = 0.25
CACHE_DEFAULT = 128 << 20  # bytes, of shared_buffers and of innodb_buffer_pool_size
SHORT_MS = 100.0
JIT_COST_DEFAULT = 100_000.0
"""A cheaper plan is short by itself, however long its compilation makes it."""


class _Distortion(Struct, frozen=True):
    """A setting, its effect on the numbers, and what to set instead."""

    setting: str
    effect: str
    instead: str
    severity: Severity = "minor"


_Judge: TypeAlias = Callable[[Case, ServerFacts], Iterator[_Distortion]]


def look(case: Case) -> Outcome:
    """Report all of them in one finding."""
    facts = server_facts(case)
    judges = (_build, *_JUDGES.get(case.protocol, ()))
    known = [one for judge in judges for one in _distortions_of(judge, case, facts)]
    if not known:
        return NotFound("no setting distorts the numbers")
    return found(
        f"The run was measured on a server with {', '.join(one.setting for one in known)}.",
        severity=max((one.severity for one in known), key=SEVERITIES.index),
        certainty="sure",
        evidence={"settings": [one.setting for one in known]},
        seen=[f"{one.setting}: {one.effect}" for one in known],
        why="Results measured with these settings do not apply to a server without them.",
        advice=[one.instead for one in known],
        refute="Run again without them: equal throughput shows that they did not matter.",
    )


def _distortions_of(judge: _Judge, case: Case, facts: ServerFacts) -> list[_Distortion]:
    """A judge's distortions; none from a setting that was not recorded."""
    try:
        return list(judge(case, facts))
    except LackingError:
        return []


def _build(_case: Case, facts: ServerFacts) -> Iterator[_Distortion]:
    if facts.is_debug_build or is_on(facts, "debug_assertions"):
        yield _Distortion(
            "a debug build",
            "every operation runs assertions; it is slower by a large and uneven factor.",
            "Measure a release build, without assertions.",
        )


def _durability(_case: Case, facts: ServerFacts) -> Iterator[_Distortion]:
    if is_off(facts, "fsync"):
        yield _Distortion(
            "fsync = off", "a crash of the host loses the database.", "Set fsync = on."
        )
    if is_off(facts, "full_page_writes"):
        yield _Distortion(
            "full_page_writes = off",
            "a crash can leave torn pages behind; less WAL is written than with it on.",
            "Set full_page_writes = on.",
        )
    if is_off(facts, "synchronous_commit"):
        yield _Distortion(
            "synchronous_commit = off",
            "commits do not wait for their WAL; a crash loses the most recent ones.",
            "Compare only with servers of the same durability, or set it to on.",
            "note",
        )


def _logging(_case: Case, facts: ServerFacts) -> Iterator[_Distortion]:
    if facts.settings.get("log_statement") == "all":
        yield _Distortion(
            "log_statement = all",
            "every statement writes a line to the log.",
            "Set log_statement = none while you measure.",
        )
    if facts.settings.get("log_min_duration_statement") == "0":
        yield _Distortion(
            "log_min_duration_statement = 0",
            "every statement writes a line to the log.",
            "Set it to the duration of a slow statement, or to -1.",
        )


def _vacuum(_case: Case, facts: ServerFacts) -> Iterator[_Distortion]:
    if is_off(facts, "autovacuum"):
        yield _Distortion(
            "autovacuum = off",
            "dead rows are not removed: a long run slows down, a short one looks too good.",
            "Set autovacuum = on.",
            "note",
        )


def _cache(case: Case, facts: ServerFacts) -> Iterator[_Distortion]:
    database = database_of(case)
    setting = database.cache_setting
    cache = size_bytes(facts, setting)
    data = sum(table.bytes + sum(one.bytes for one in table.indexes) for table in facts.tables)
    if cache <= CACHE_DEFAULT and cache < CACHE_TINY * data:
        yield _Distortion(
            f"{setting} = {size(cache)}",
            f"it holds {percent(cache / data)} of the statements' tables and indexes.",
            f"Set {setting} to {database.cache_usual}.",
            "note",
        )


def _jit(case: Case, facts: ServerFacts) -> Iterator[_Distortion]:
    if not is_on(facts, "jit"):
        return
    limit = plain(facts, "jit_above_cost")
    for statement in statements_of(case):
        costs = [plan.cost for plan in plans_of(facts, statement.number).values()]
        is_cheap = max(costs, default=0.0) < JIT_COST_DEFAULT
        is_short = is_cheap or _is_short(case, statement.number)
        if limit >= 0 and min(costs, default=0.0) > limit and is_short:
            yield _Distortion(
                "JIT on short queries",
                f"“{statement.text}” has an estimated cost of {count(max(costs))}, above "
                f"jit_above_cost = {count(limit)}: it is compiled at each execution, if the server "
                "has its JIT compiler installed (pg_jit_available()).",
                "Set jit = off, or raise jit_above_cost.",
            )
            return


def _is_short(case: Case, statement: int) -> bool:
    measured = case.record.statements
    mean_ms = measured[statement].mean_ms if statement < len(measured) else None
    return mean_ms is not None and mean_ms < SHORT_MS


def _redo(case: Case, facts: ServerFacts) -> Iterator[_Distortion]:
    database = database_of(case)
    level = facts.settings.get(database.commit_setting)
    if level in database.commit_unflushed:
        yield _Distortion(
            f"{database.commit_setting} = {level}",
            "commits do not wait for their redo; a crash of the "
            f"{'server' if level == '0' else 'host'} loses the last second of commits.",
            "Compare only with servers of the same durability, or set it to 1.",
            "note",
        )
    if is_off(facts, "innodb_doublewrite"):
        yield _Distortion(
            "innodb_doublewrite = OFF",
            "a crash can leave torn pages behind; pages are written once instead of twice.",
            "Set innodb_doublewrite = ON, unless the storage writes whole pages atomically.",
        )
    if is_on(facts, "log_bin") and facts.settings.get("sync_binlog") != "1":
        yield _Distortion(
            f"sync_binlog = {facts.settings.get('sync_binlog')}",
            "a crash can lose transactions from the binary log that the tables contain.",
            "Set sync_binlog = 1, or compare only with servers that have the same value.",
            "note",
        )


def _statement_logs(_case: Case, facts: ServerFacts) -> Iterator[_Distortion]:
    if is_on(facts, "general_log"):
        yield _Distortion(
            "general_log = ON",
            "every statement writes a line to the log.",
            "Set general_log = OFF while you measure.",
        )
    if is_on(facts, "slow_query_log") and plain(facts, "long_query_time") == 0:
        yield _Distortion(
            "long_query_time = 0",
            "every statement writes lines to the slow query log.",
            "Set it to the duration of a slow statement.",
        )


def _query_cache(_case: Case, facts: ServerFacts) -> Iterator[_Distortion]:
    if is_on(facts, "query_cache_type") and size_bytes(facts, "query_cache_size") > 0:
        yield _Distortion(
            "query_cache_type = ON",
            "a repeated query is answered from memory, behind one lock for all sessions.",
            "Set query_cache_type = OFF.",
        )


_JUDGES: Mapping[str, tuple[_Judge, ...]] = {
    POSTGRESQL: (_durability, _logging, _vacuum, _cache, _jit),
    MYSQL: (_redo, _statement_logs, _cache, _query_cache),
}

RULE = Rule(id="distorting_settings", title="Settings that distort the results", look=look)
