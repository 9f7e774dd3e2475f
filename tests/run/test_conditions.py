"""The conditions of a workload's data, read while a load runs and after it."""

import dataclasses
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from msgspec.structs import replace

from dbdyno.model.frame import Interval
from dbdyno.run.connected_server import ConnectedServer, connect_to
from dbdyno.run.invariants import (
    LAST_READING_TRIES,
    ConditionReader,
    Excused,
    Watch,
    begin_watch,
    read_before,
)
from dbdyno.run.job import check
from dbdyno.run.options.grammar import WeightedName
from dbdyno.run.options.run_options import RunOptions
from dbdyno.run.runner import run
from dbdyno.run.tools import engine_tools
from dbdyno.servers.base import Server
from dbdyno.workloads.base import Workload
from dbdyno.workloads.conditions import Condition
from dbdyno.workloads.invariants import OnePerTransaction, SameChange
from dbdyno.workloads.registry import find_workload
from tests.run.test_runner import Observer
from tests.support.frames import SECOND_NS, done, interval
from tests.support.patience import PATIENCE_S, wait_until

NONE_NEGATIVE = Condition(
    id="a",
    claim="no part is negative",
    columns=("id", "n"),
    broken="select id, n from part where n < 0",
    is_cheap=True,
)
SUM_IS_ZERO = Condition(
    id="b",
    claim="all parts add up to 0",
    columns=("total",),
    broken="select sum(n) as total from part having sum(n) <> 0",
)


def workload(**changes) -> Workload:
    return dataclasses.replace(
        find_workload("tpcb"),
        measures=lambda _values: {},
        laws=lambda _values: (),
        conditions=(NONE_NEGATIVE, SUM_IS_ZERO),
        **changes,
    )


VALUES = workload().complete({})


def watched(connected: ConnectedServer, one: Workload) -> Watch:
    before = read_before(connected, one, VALUES)
    return begin_watch(connected, one, VALUES, before)


@pytest.fixture(params=["postgres_server", "mariadb_server"])
def connected(
    request: pytest.FixtureRequest, new_database: Callable[[Server], Server]
) -> Iterator[ConnectedServer]:
    server = new_database(request.getfixturevalue(request.param))
    with connect_to(server) as made:
        made.control.execute("create table part (id int primary key, n int)")
        made.control.execute("insert into part values (1, 5), (2, -5)")
        yield made


def until(second: float, phase: str = "measure") -> Interval:
    one = interval(phase=phase)
    end_ns = 1000 * SECOND_NS + round(second * SECOND_NS)
    return replace(one, begin_ns=end_ns - SECOND_NS, end_ns=end_ns)


def read_at(reader: ConditionReader, *seconds: float) -> None:
    """Pass intervals; each reading ends before the next interval."""
    for second in seconds:
        reader.take(until(second))
        reader.finish()


def test_cheap_ones_are_read_once_a_minute(connected: ConnectedServer) -> None:
    reader = ConditionReader(connected, workload(), VALUES)
    read_at(reader, 1, 59, 60, 61, 119)
    connected.control.execute("update part set n = 7 where id = 2")
    read_at(reader, 120, 121, 122)
    assert reader.doubt is None
    assert [
        [(one.id, one.rows, one.broken_at_s) for one in found] for found in reader.readings
    ] == [
        [("a", 1, 60.0)],
        [("a", 0, None)],
    ]
    assert reader.readings[0][0].example == {"id": 2, "n": -5}
    reader.take(until(200, "drain"))
    reader.finish()
    assert len(reader.readings) == 2


def test_of_much_data_none_is_read_while_the_load_runs(connected: ConnectedServer) -> None:
    large = workload(reads_all_conditions=lambda _values: False)
    reader = ConditionReader(connected, large, VALUES)
    read_at(reader, 1, 61, 121)
    assert reader.readings == []
    watch = watched(connected, large)
    broken = watch.violations(connected, done(), None)
    assert [(one.id, one.ok) for one in watch.checks] == [("a", False)]
    assert len(broken) == 1


def test_a_condition_that_cannot_be_read_is_a_doubt_and_not_read_again(
    connected: ConnectedServer,
) -> None:
    reader = ConditionReader(connected, workload(), VALUES)
    connected.control.execute("drop table part")
    read_at(reader, 1, 61)
    assert reader.doubt is not None
    assert reader.doubt.startswith("conditions could not be read while the load ran: ")
    doubt = reader.doubt
    connected.control.execute("create table part (id int, n int)")
    read_at(reader, 122, 190)
    assert (reader.doubt, reader.readings) == (doubt, [])


def test_what_was_broken_in_between_makes_a_run_invalid(connected: ConnectedServer) -> None:
    watch: Watch = watched(connected, workload())
    for second in (1, 61):
        watch.take(until(second))
        watch.reader.finish()
    connected.control.execute("update part set n = 1")
    first, second = watch.violations(connected, done(), None)
    assert first == (
        "condition a, no part is negative: broken by 1 row with id = 2, n = -5, 61 s after the "
        "load began"
    )
    assert second == "condition b, all parts add up to 0: broken by 1 row with total = 2"
    assert [(one.id, one.ok, one.times) for one in watch.checks] == [
        ("a", False, 2),
        ("b", False, 1),
    ]


@pytest.mark.parametrize("level", ["read-committed", "serializable", None])
def test_what_a_level_does_not_promise_is_counted_and_only_more_of_it(
    connected: ConnectedServer, level: str | None
) -> None:
    by_level = replace(NONE_NEGATIVE, isolation_decides=True, is_cheap=False)
    mine = dataclasses.replace(workload(), conditions=(by_level,))

    def found(rows: str) -> tuple[list[str], Watch]:
        watch = watched(connected, mine)
        connected.control.execute(rows)
        return watch.violations(connected, done(), level), watch

    faults, watch = found("update part set n = 3 where id = 1")
    (doubt,) = watch.doubts
    assert (faults, doubt.endswith("; before the load by 1")) == ([], True)
    assert [(one.rows_before, one.rows, one.ok) for one in watch.checks] == [(1, 1, False)]
    faults, watch = found("update part set n = -3 where id = 1")
    assert [(one.rows_before, one.rows) for one in watch.checks] == [(1, 2)]
    text = (
        "condition a, no part is negative: broken by 2 rows, the first with id = 1, n = -3; before "
        "the load by 1"
    )
    if level == "serializable":
        assert (faults, watch.doubts) == ([text], [])
    else:
        assert faults == []
        assert watch.doubts == [text]


LAWS = (OnePerTransaction("all", "tpcb"), SameChange(("all", "small")))
COUNTS = {
    "all": "select count(*) from part",
    "small": "select count(*) from part where n < 9",
}
TORN, MISSING, TOO_MANY = "these must change alike", "all grew by 1", "all grew by 3"


@pytest.mark.parametrize(
    ("rows", "excused", "faults", "doubts"),
    [
        ("(3, 1), (4, 1)", "nothing", [], []),
        ("(3, 1)", "nothing", [MISSING], []),
        ("(3, 1)", "missing commits", [], [MISSING]),
        ("(3, 1), (4, 9)", "missing commits", [TORN], []),
        ("(3, 1), (4, 1), (5, 1)", "missing commits", [TOO_MANY], []),
        ("(3, 1), (4, 9)", "anything", [], [TORN]),
    ],
)
def test_what_may_be_lost_may_be_missing_and_what_is_there_must_be_whole(
    connected: ConnectedServer, rows: str, excused: Excused, faults: list[str], doubts: list[str]
) -> None:
    mine = dataclasses.replace(
        workload(), measures=lambda _values: COUNTS, laws=lambda _values: LAWS, conditions=()
    )
    watch = watched(connected, mine)
    watch.take(interval(ok=2))
    connected.control.execute(f"insert into part values {rows}")
    found = watch.violations(connected, done(), None, excused=excused)
    for told, expected in ((found, faults), (watch.doubts, doubts)):
        assert [one[: len(words)] for one, words in zip(told, expected, strict=True)] == expected


# Of each database: how a table is locked against readers and unlocked; who waits; what ends one.
BLOCKS = {
    "postgresql": (
        ("begin", "lock table part in access exclusive mode"),
        "commit",
        "select pid from pg_stat_activity "
        "where datname = current_database() and wait_event_type = 'Lock'",
        "select pg_terminate_backend({})",
    ),
    "mysql": (
        ("lock tables part write",),
        "unlock tables",
        "select id from information_schema.processlist "
        "where db = database() and state like 'Waiting for table metadata lock%'",
        "kill {}",
    ),
}


@pytest.mark.parametrize("kills", [LAST_READING_TRIES - 1, LAST_READING_TRIES])
def test_the_last_reading_is_tried_again_when_its_session_is_ended(
    connected: ConnectedServer, kills: int
) -> None:
    lock, unlock, find, kill = BLOCKS[connected.target.name]
    watch = watched(connected, workload())
    ended: set[int] = set()

    def next_waits() -> bool:
        found = {int(one) for (one,) in connected.control.execute(find).fetchall()} - ended
        for session in found:
            connected.control.execute(kill.format(session))
        ended.update(found)
        return bool(found)

    with closing(connected.server.connect()) as holder, ThreadPoolExecutor() as beside:
        for statement in lock:
            holder.execute(statement)
        reading = beside.submit(watch.violations, connected, done(), None)
        for _ in range(kills):
            wait_until(next_waits, "the reading")
        holder.execute(unlock)
        broken = reading.result(PATIENCE_S)
    assert len(ended) == kills
    if kills < LAST_READING_TRIES:
        assert [(one.id, one.rows) for one in watch.checks] == [("a", 1), ("b", 0)]
        assert (len(broken), watch.doubts) == (1, [])
    else:
        assert (broken, watch.checks) == ([], [])
        (doubt,) = watch.doubts
        assert doubt.startswith("the invariants could not be checked: cannot ")
        assert doubt.endswith(f" (tried {LAST_READING_TRIES} times)")


@pytest.mark.parametrize("is_broken", [False, True])
@pytest.mark.usefixtures("home")
def test_a_run_reads_them_when_it_has_ended(
    database: Server, monkeypatch: pytest.MonkeyPatch, is_broken: bool
) -> None:
    with database.connect() as control:
        control.execute("create table part (id int primary key, n int)")
        control.execute(f"insert into part values (1, 5), (2, -5), (3, {int(is_broken)})")
    mine = dataclasses.replace(find_workload("tpcb"), conditions=(SUM_IS_ZERO,))
    monkeypatch.setattr("dbdyno.run.work.find_workload", lambda _name: mine)
    options = RunOptions(
        target=database.url, transactions=20, warmup_ns=0, telemetry="off", disturbance_max=1.0
    )
    observer = Observer()
    job = check([WeightedName("tpcb", 1)], options, engine_tools(), observer.say)
    record = run(job, engine_tools(), observer).record
    (found,) = record.checks
    assert (found.ok, found.times, found.broken_at_s) == (not is_broken, 1, None)
    assert record.valid is not is_broken
    assert record.invalid_reasons == (
        ["invariant violated: condition b, all parts add up to 0: broken by 1 row with total = 1"]
        if is_broken
        else []
    )
