"""TATP: its population, what is asked for in vain, and its rows by the clients' counts."""

from collections.abc import Iterator
from itertools import combinations, product

import pytest

from dbdyno.workloads.audit import Ratio
from dbdyno.workloads.invariants import Committed
from dbdyno.workloads.registry import find_workload
from tests.workloads.both_servers import KINDS, Database, command, database_on
from tests.workloads.row_hashes import row_hashes

TATP = find_workload("tatp")
SUBSCRIBERS = 100_000
LOAD = ("--warmup", "0", "--telemetry", "off", "--seed", "3")


@pytest.fixture(scope="module")
def loaded(
    request: pytest.FixtureRequest,
) -> Iterator[dict[str, Database]]:
    servers = [request.getfixturevalue(kind) for kind in KINDS]
    with database_on(servers[0], "tatp") as one, database_on(servers[1], "tatp") as other:
        one.prepare(TATP, jobs=1)
        other.prepare(TATP, jobs=2)
        yield dict(zip(KINDS, (one, other), strict=True))


@pytest.fixture(params=KINDS)
def whole(request: pytest.FixtureRequest, loaded: dict[str, Database]) -> Database:
    return loaded[request.param]


def share(database: Database, query: str) -> float:
    return float(database.one(query)) / SUBSCRIBERS


def test_the_population_is_that_of_the_definition(whole: Database) -> None:
    assert whole.one("select count(*) from subscriber") == SUBSCRIBERS
    numbers = "select s_id, sub_nbr from subscriber where s_id in (1, 99, 100000) order by s_id"
    assert whole.rows(numbers) == [
        (1, "000000000000001"),
        (99, "000000000000099"),
        (100_000, "000000000100000"),
    ]
    for table in ("access_info", "special_facility"):
        counts = whole.rows(
            f"select n, count(*) from (select count(*) as n from {table} group by s_id) c "
            "group by n order by n"
        )
        assert [n for n, _ in counts] == [1, 2, 3, 4]
        assert [many for _, many in counts] == pytest.approx([SUBSCRIBERS / 4] * 4, rel=0.03)
    for kind in range(1, 5):
        for table, column in (("access_info", "ai_type"), ("special_facility", "sf_type")):
            found = share(whole, f"select count(*) from {table} where {column} = {kind}")
            assert found == pytest.approx(0.625, abs=0.01)
    facilities = whole.one("select count(*) from special_facility")
    active = whole.one("select count(*) from special_facility where is_active = 1")
    assert active / facilities == pytest.approx(0.85, abs=0.01)
    forwarded = whole.one("select count(*) from call_forwarding")
    assert forwarded / facilities == pytest.approx(1.5, abs=0.02)
    starts = whole.rows(
        "select start_time, count(*) from call_forwarding group by start_time order by start_time"
    )
    assert [start for start, _ in starts] == [0, 8, 16]
    for _, many in starts:
        assert many / facilities == pytest.approx(0.5, abs=0.01)


def test_rows_are_the_same_on_every_server_and_number_of_connections(
    loaded: dict[str, Database],
) -> None:
    tables = TATP.tables(TATP.complete({}))
    one, other = (row_hashes(database, tables) for database in loaded.values())
    assert one == other
    for database in loaded.values():  # and stay the same, if runs draw alike
        url, amount = database.server.url, ("-c", "1", "-t", "400")
        code, record = command("run", "tatp", "--target", url, *LOAD, *amount)
        assert (code, record["invalid_reasons"], record["failures"]) == (0, [], [])
    changed, changed_alike = (row_hashes(database, tables) for database in loaded.values())
    assert changed == changed_alike != one


# By condition: what breaks it, and what mends it.
PLANTED = {
    "1": (
        "insert into call_forwarding values (200000, 1, 8, 9, '1')",
        "delete from call_forwarding where s_id = 200000",
    ),
    "2": (
        "update call_forwarding set end_time = end_time + 24 where s_id = 5",
        "update call_forwarding set end_time = end_time - 24 where s_id = 5",
    ),
    "3": (
        "insert into special_facility select 200001, s_id % 5, 1, 0, 0, 'A' from subscriber "
        "where s_id <= 5",
        "delete from special_facility where s_id = 200001",
    ),
    "4": (
        "insert into access_info select 200001, s_id % 5, 0, 0, 'A', 'A' from subscriber "
        "where s_id <= 5",
        "delete from access_info where s_id = 200001",
    ),
}


def test_conditions_hold_and_find_what_breaks_them(whole: Database) -> None:
    assert broken(whole) == set()
    whole.connection.execute(
        "insert into call_forwarding select s_id, sf_type, 0, 1, '1' from special_facility "
        "where s_id = 5 and not exists (select 1 from call_forwarding cf where cf.s_id = 5)"
    )
    for number, (plant, mend) in PLANTED.items():
        whole.connection.execute(plant)
        assert broken(whole) == {number}
        whole.connection.execute(mend)
    assert broken(whole) == set()


def test_a_subscriber_without_facilities_is_seen(whole: Database) -> None:
    kept = whole.rows("select sf_type, is_active, data_a from special_facility where s_id = 77")
    whole.connection.execute("create table kept as select * from special_facility where s_id = 77")
    whole.connection.execute("delete from special_facility where s_id = 77")
    assert "3" in broken(whole)
    whole.connection.execute("insert into special_facility select * from kept")
    whole.connection.execute("drop table kept")
    assert kept == whole.rows(
        "select sf_type, is_active, data_a from special_facility where s_id = 77"
    )
    assert broken(whole) == set()


def broken(database: Database) -> set[str]:
    found = TATP.check_conditions(database.target, database.connection)
    return {one.id for one in found if not one.ok}


# What each transaction finds, by the definition's population.
SUCCESS = {
    "update-subscriber-data": 0.625,
    "insert-call-forwarding": 0.3125,
    "delete-call-forwarding": 0.3125,
}


def test_a_run_changes_what_its_clients_have_counted(whole: Database) -> None:
    before = whole.one("select count(*) from call_forwarding")
    code, record = command(
        *("run", "tatp", "--target", whole.server.url, "-c", "4", "-t", "2500", *LOAD)
    )
    assert (code, record["invalid_reasons"], record["failures"]) == (0, [], [])
    assert "rows of call_forwarding" in record["invariants_read"]
    done = {script["name"]: script["ok"] for script in record["scripts"]}
    assert sum(done.values()) == 10_000
    assert done["get-subscriber-data"] == pytest.approx(3500, abs=250)
    # Of the three that roll back what they asked for in vain; all others are single statements.
    longer = {name: done[name] for name in SUCCESS}
    vain = sum((1 - SUCCESS[name]) * many for name, many in longer.items())
    assert record["transactions"]["rolled_back"] == pytest.approx(vain, abs=60)
    refused = done["insert-call-forwarding"] - next(
        one["committed"] for one in record["scripts"] if one["name"] == "insert-call-forwarding"
    )
    assert record["mqth"]["value"] == pytest.approx((10_000 - refused) / record["duration_s"])
    audit = {one["name"]: one for one in record["audit"]}
    found = audit["get-access-data found"]
    assert found["count"] == done["get-access-data"]
    assert found["value"] == pytest.approx(0.625, abs=0.05)
    destinations = audit["get-new-destination found"]
    assert destinations["value"] == pytest.approx(0.15, abs=0.05)
    for name, share in SUCCESS.items():
        assert audit[f"{name} committed"]["value"] == pytest.approx(share, abs=0.12)
    assert audit["update-location"]["value"] == done["update-location"] / 10_000
    assert [one["id"] for one in record["checks"] if one["ok"]] == ["1", "2", "3", "4"]
    after = whole.one("select count(*) from call_forwarding")
    assert abs(after - before) < done["insert-call-forwarding"]
    assert broken(whole) == set()


def test_the_success_of_a_destination_follows_from_the_population() -> None:
    """14.8 %: of a facility's 0 to 3 forwardings, one must have begun and must not have ended."""
    found = 0.0
    starts = (0, 8, 16)
    for many in range(4):
        forwardings = list(combinations(starts, many))
        for chosen, asked, end in product(forwardings, starts, range(1, 25)):
            none = 1.0
            for start in chosen:
                if start <= asked:
                    none *= sum(start + hours <= end for hours in range(1, 9)) / 8
            found += (1 - none) / (4 * len(forwardings) * 3 * 24)
    assert 0.625 * 0.85 * found == pytest.approx(0.148, abs=0.001)


def test_more_destinations_are_found_when_all_forwardings_are_replaced() -> None:
    """20.4 %: each of the three is there half of the time, and may end at any hour."""
    found = 0.0
    for begun, end in product(range(1, 4), range(1, 25)):
        covers = 0.5 * sum(hour > end for hour in range(1, 25)) / 24
        found += (1 - (1 - covers) ** begun) / (3 * 24)
    assert 0.625 * 0.85 * found == pytest.approx(0.204, abs=0.001)
    (ratio,) = (one for one in TATP.demands({}) if one.name == "get-new-destination found")
    assert isinstance(ratio, Ratio)
    assert ratio.low is not None
    assert ratio.high is not None
    assert ratio.low < 0.148
    assert ratio.high > 0.204


@pytest.mark.parametrize(
    ("scale", "a"),
    [(1, 65_535), (10, 65_535), (11, 1_048_575), (100, 1_048_575), (101, 2_097_151)],
)
def test_subscribers_are_drawn_by_the_law_of_their_number(scale: int, a: int) -> None:
    found = TATP.variables(TATP.complete({"scale": scale}), 1, 1)
    assert found == {"subscribers": scale * SUBSCRIBERS, "nurand_a": a}


@pytest.mark.parametrize(
    ("inserted", "deleted", "change", "is_kept"),
    [
        (Committed(5, 5), Committed(3, 3), 2, True),
        (Committed(5, 5), Committed(3, 3), 3, False),
        (Committed(5, 5), Committed(3, 3), 1, False),
        (Committed(5, 6), Committed(3, 5), 3, True),
        (Committed(5, 6), Committed(3, 5), 0, True),
        (Committed(5, 6), Committed(3, 5), -1, False),
    ],
)
def test_forwardings_are_those_inserted_less_those_deleted(
    inserted: Committed, deleted: Committed, change: int, is_kept: bool
) -> None:
    values = TATP.complete({})
    numbers = dict.fromkeys(TATP.measures(values), 0)
    after = {**numbers, "rows of call_forwarding": change}
    done = {"insert-call-forwarding": inserted, "delete-call-forwarding": deleted}
    assert (TATP.verify(values, numbers, after, done) == []) == is_kept
