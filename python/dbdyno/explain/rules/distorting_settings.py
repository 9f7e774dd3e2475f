"""Settings that distort: what makes these numbers another system's.

Looks for: settings, and kinds of builds, under which a result does not carry over to a server
in use: less durable, slower for everyone, or left as the smallest default.

Arithmetic: none but sizes: the server's cache against the tables and indexes of the statements,
the estimated cost of a plan against the cost from which JIT compiles.

Source: PostgreSQL manual, server configuration; MySQL manual, InnoDB startup options.

Wrong when: the server in use has the same settings on purpose.
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
from dbdyno.model.record import Severity
from dbdyno.model.telemetry import ServerFacts
from dbdyno.words import count, percent, size

CACHE_TINY = 0.25
CACHE_DEFAULT = 128 << 20  # bytes, of shared_buffers and of innodb_buffer_pool_size
SHORT_MS = 100.0


class _Distortion(Struct, frozen=True):
    """A setting, what it does to the numbers, and what to set instead."""

    setting: str
    effect: str
    instead: str
    severity: Severity = "minor"


_Judge: TypeAlias = Callable[[Case, ServerFacts], Iterator[_Distortion]]


def look(case: Case) -> Outcome:
    """All of them in one finding."""
    facts = server_facts(case)
    judges = (_build, *_JUDGES.get(case.protocol, ()))
    known = [one for judge in judges for one in _judged(judge, case, facts)]
    if not known:
        return NotFound("no setting distorts the numbers")
    return found(
        f"The numbers are of a server with {', '.join(one.setting for one in known)}.",
        severity=max((one.severity for one in known), key=SEVERITIES.index),
        certainty="sure",
        evidence={"settings": [one.setting for one in known]},
        seen=[f"{one.setting}: {one.effect}" for one in known],
        why="What is measured with them does not hold for a server without them.",
        advice=[one.instead for one in known],
        refute="Run again without them: the same throughput shows that they did not matter.",
    )


def _judged(judge: _Judge, case: Case, facts: ServerFacts) -> list[_Distortion]:
    """What a judge says; a setting that was not recorded is not held against anyone."""
    try:
        return list(judge(case, facts))
    except LackingError:
        return []


def _build(_case: Case, facts: ServerFacts) -> Iterator[_Distortion]:
    if facts.is_debug_build or is_on(facts, "debug_assertions"):
        yield _Distortion(
            "a debug build",
            "every operation checks itself; it is slower by a large and uneven factor.",
            "Measure a release build, one without assertions.",
        )


def _durability(_case: Case, facts: ServerFacts) -> Iterator[_Distortion]:
    if is_off(facts, "fsync"):
        yield _Distortion(
            "fsync = off", "a crash of the machine loses the database.", "Set fsync = on."
        )
    if is_off(facts, "full_page_writes"):
        yield _Distortion(
            "full_page_writes = off",
            "a crash can leave torn pages behind; WAL is smaller than it would be.",
            "Set full_page_writes = on.",
        )
    if is_off(facts, "synchronous_commit"):
        yield _Distortion(
            "synchronous_commit = off",
            "a commit does not wait for its WAL; a crash loses the last of them.",
            "Compare only with servers that promise as little, or set it on.",
            "note",
        )


def _logging(_case: Case, facts: ServerFacts) -> Iterator[_Distortion]:
    if facts.settings.get("log_statement") == "all":
        yield _Distortion(
            "log_statement = all",
            "every statement writes a line into the log.",
            "Set log_statement = none while you measure.",
        )
    if facts.settings.get("log_min_duration_statement") == "0":
        yield _Distortion(
            "log_min_duration_statement = 0",
            "every statement writes a line into the log.",
            "Set it to what you call slow, or to -1.",
        )


def _vacuum(_case: Case, facts: ServerFacts) -> Iterator[_Distortion]:
    if is_off(facts, "autovacuum"):
        yield _Distortion(
            "autovacuum = off",
            "nothing cleans up: a long run gets slower, a short one looks too good.",
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
        if limit >= 0 and any(cost > limit for cost in costs) and _is_short(case, statement.number):
            yield _Distortion(
                "JIT on short queries",
                f"{statement.words} has an estimated cost of {count(max(costs))}, above "
                f"jit_above_cost = {count(limit)}, and is compiled each time.",
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
            "a commit does not wait for its redo; a crash of the "
            f"{'server' if level == '0' else 'machine'} loses the last second of them.",
            "Compare only with servers that promise as little, or set it to 1.",
            "note",
        )
    if is_off(facts, "innodb_doublewrite"):
        yield _Distortion(
            "innodb_doublewrite = OFF",
            "a crash can leave torn pages behind; pages are written once instead of twice.",
            "Set innodb_doublewrite = ON, unless the storage writes pages whole.",
        )
    if is_on(facts, "log_bin") and facts.settings.get("sync_binlog") != "1":
        yield _Distortion(
            f"sync_binlog = {facts.settings.get('sync_binlog')}",
            "a crash can lose transactions of the binary log that the tables have.",
            "Set sync_binlog = 1, or compare only with servers that have the same.",
            "note",
        )


def _statement_logs(_case: Case, facts: ServerFacts) -> Iterator[_Distortion]:
    if is_on(facts, "general_log"):
        yield _Distortion(
            "general_log = ON",
            "every statement writes a line into the log.",
            "Set general_log = OFF while you measure.",
        )
    if is_on(facts, "slow_query_log") and plain(facts, "long_query_time") == 0:
        yield _Distortion(
            "long_query_time = 0",
            "every statement writes lines into the slow log.",
            "Set it to what you call slow.",
        )


def _query_cache(_case: Case, facts: ServerFacts) -> Iterator[_Distortion]:
    if is_on(facts, "query_cache_type") and size_bytes(facts, "query_cache_size") > 0:
        yield _Distortion(
            "query_cache_type = ON",
            "a repeated question is answered from memory, behind one lock for all sessions.",
            "Set query_cache_type = OFF.",
        )


_JUDGES: Mapping[str, tuple[_Judge, ...]] = {
    POSTGRESQL: (_durability, _logging, _vacuum, _cache, _jit),
    MYSQL: (_redo, _statement_logs, _cache, _query_cache),
}

RULE = Rule(id="distorting_settings", title="Settings that distort", look=look)
