"""YCSB: its records in both forms, workloads A to F, the keys that each law draws."""

import collections
import json
import math
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
from msgspec import structs

from dbdyno.model.plan import Plan, Scalar, Script
from dbdyno.servers.base import Server
from dbdyno.workloads.audit import Ratio
from dbdyno.workloads.registry import find_workload
from dbdyno.workloads.ycsb.workload import FOLDER
from tests.engine.conftest import checked, log
from tests.engine.running import EngineRun, plan_for, times
from tests.workloads.both_servers import KINDS, Database, command, database_on

__all__ = ["checked", "log"]  # fixtures

YCSB = find_workload("ycsb")
RECORDS = 2000
LOAD = ("--warmup", "0", "--telemetry", "off", "--seed", "3")
FORMS = (("columns", "text"), ("json", "number"))


def fnv1a(number: int) -> int:
    """The 64-bit hash over the number's octets, without its sign."""
    folded = 0xCBF29CE484222325
    for octet in number.to_bytes(8, "little"):
        folded = (folded ^ octet) * 0x100000001B3 % 2**64
    return abs(folded - 2**64 if folded >= 2**63 else folded)


class Records:
    """A database with records in one form."""

    def __init__(self, database: Database, form: str, key: str) -> None:
        self.database, self.one, self.rows = database, database.one, database.rows
        self.given = {"form": form, "key": key, "record_count": RECORDS}
        database.prepare(YCSB, **self.given)  # type: ignore[arg-type]

    def run(self, *options: str, clients: int = 4) -> tuple[int, dict[str, Any]]:
        form = [word for name, value in self.given.items() for word in ("-D", f"{name}={value}")]
        amount = ("-c", str(clients), "-t", "100")
        target = ("--target", self.database.server.url)
        return command("run", "ycsb", *target, *LOAD, *amount, *form, *options)


@pytest.fixture(params=[(kind, *form) for kind in KINDS for form in FORMS], ids="-".join)
def records(request: pytest.FixtureRequest) -> Iterator[Records]:
    kind, form, key = request.param
    with database_on(request.getfixturevalue(kind), f"ycsb_{form}") as database:
        yield Records(database, form, key)


def test_records_are_those_of_their_form(records: Records) -> None:
    keys = {key for (key,) in records.rows("select ycsb_key from usertable")}
    if records.given["key"] == "text":
        assert keys == {f"user{fnv1a(number)}" for number in range(RECORDS)}
    else:
        assert keys == set(range(RECORDS))
    for row in records.rows("select * from usertable order by ycsb_key limit 5"):
        assert row[1] == 0
        fields = list(row[2:])
        if records.given["form"] == "json":
            document = json.loads(row[2]) if isinstance(row[2], str) else row[2]
            assert list(document) == [f"field{place}" for place in range(10)]
            fields = list(document.values())
        assert [len(field) for field in fields] == [100] * 10
        assert len(set(fields)) == 10


MIXES = {
    "a": {"read", "update"},
    "b": {"read", "update"},
    "c": {"read"},
    "d": {"read", "insert"},
    "e": {"scan", "insert"},
    "f": {"read", "read-modify-write"},
}


def test_each_workload_leaves_what_its_clients_have_counted(records: Records) -> None:
    inserted = written = 0
    options: dict[str, tuple[str, ...]] = {
        "a": ("-D", "distribution=hotspot", "-D", "write_all=on"),
        "b": ("-D", "distribution=exponential", "-D", "read_all=off"),
        "f": ("--isolation", "read-committed"),
    }
    for name, scripts in MIXES.items():
        code, record = records.run("-D", f"workload={name}", *options.get(name, ()))
        assert (code, record["invalid_reasons"], record["failures"]) == (0, [], []), name
        assert len(record["invariants_read"]) == 3
        done = {script["name"]: script["ok"] for script in record["scripts"]}
        assert set(done) == scripts
        assert sum(done.values()) == 400
        audit = {one["name"]: one for one in record["audit"]}
        assert set(audit) & set(done) == (scripts if len(scripts) > 1 else set())
        first = audit.get("draws of the first rank")
        assert (first is not None) == (name in "cef")
        if first:
            assert first["count"] == 400 - done.get("insert", 0)
            assert first["value"] == pytest.approx(1 / ZETA, abs=0.035)
        if name == "e":
            assert audit["records asked for by a scan"]["value"] == pytest.approx(50.5, abs=7)
        inserted += done.get("insert", 0)
        written += done.get("read-modify-write", 0)
    assert records.one("select count(*) from usertable") == RECORDS + inserted > RECORDS
    assert int(records.one("select sum(counter) from usertable")) == written > 100
    if records.given["key"] == "number":
        counters = records.rows(
            "select counter from usertable order by counter desc, ycsb_key limit 1"
        )
        assert counters[0][0] > 3  # the skew


def test_a_later_run_continues_to_insert(records: Records) -> None:
    """With more clients, each of which continues its own sequence or begins one."""
    done = []
    for clients in (2, 5, 3):
        code, record = records.run("-D", "workload=d", clients=clients)
        assert (code, record["invalid_reasons"], record["failures"]) == (0, [], [])
        done.append({script["name"]: script["ok"] for script in record["scripts"]}["insert"])
    assert records.one("select count(*) from usertable") == RECORDS + sum(done)
    if records.given["key"] == "number":
        new = [key - RECORDS for (key,) in records.rows(NEW_KEYS)]
        lanes = collections.Counter(key % 65_536 for key in new)
        assert set(lanes) <= set(range(5))
        assert all(lane + 65_536 * place in new for lane, n in lanes.items() for place in range(n))


NEW_KEYS = f"select ycsb_key from usertable where ycsb_key >= {RECORDS}"


def test_a_field_of_another_length_is_seen(records: Records) -> None:
    target = ("--target", records.database.server.url)
    form = [word for name, value in records.given.items() for word in ("-D", f"{name}={value}")]
    code, answer = command("check", "ycsb", *target, *form)
    assert (code, answer["broken"]) == (0, [])
    change = "field3 = 'short'"
    if records.given["form"] == "json":
        documents = records.rows("select doc from usertable order by ycsb_key limit 1")[0][0]
        document = json.loads(documents) if isinstance(documents, str) else documents
        document["field3"] = "short"
        change = f"doc = '{json.dumps(document)}'"
    (first,) = records.rows("select min(ycsb_key) from usertable")[0]
    records.database.connection.execute(f"update usertable set {change} where ycsb_key = '{first}'")
    code, answer = command("check", "ycsb", *target, *form)
    assert code == 4
    assert "records with a field of another length by +1" in answer["broken"][0]["message"]


def test_records_of_another_form_are_refused(records: Records) -> None:
    other = "json" if records.given["form"] == "columns" else "columns"
    records.given["form"] = other
    code, answer = records.run()
    assert code != 0
    assert "usertable has other columns" in json.dumps(answer)


# ---- what the laws draw ----

Check = Callable[[Plan], EngineRun]
DRAWS = 3000


def drawn(checked: Check, server: Server, **given: Any) -> collections.Counter[int]:
    """The numbers of the records that a client draws, over a stand-in for the table."""
    values = YCSB.complete({"key": "number", **given})
    variables: dict[str, Scalar] = YCSB.variables(values, 1, 1)
    text = (FOLDER / "records.lua").read_text(encoding="utf-8")
    text += """
        local note = statement("insert into drawn values (:n)", {n = "bigint"})
        function transaction()
           for _ = 1, 100 do
              note {n = drawn_key()}
           end
        end"""
    plan = plan_for(server.endpoint(), text, clients=1, threads=1, **times(DRAWS // 100))
    script = Script(name="draws", text=text, language="lua")
    with closing(server.connect()) as connection:
        connection.execute("create table usertable (ycsb_key bigint primary key)")
        connection.execute("create table drawn (n bigint)")
        result = checked(structs.replace(plan, scripts=[script], variables=variables))
        assert result.counters.ok == DRAWS // 100, result.done
        rows = connection.execute("select n from drawn").fetchall()
    return collections.Counter(int(row[0]) for row in rows)


@pytest.fixture
def empty(postgres_server: Server, new_database: Callable[[Server], Server]) -> Server:
    return new_database(postgres_server)


ZETA = 26.46902820178302  # the sum of 1 / k ** 0.99 over ten thousand million


def test_scrambled_ranks_are_those_of_ten_thousand_million(checked: Check, empty: Server) -> None:
    """The most frequent records are the hashes of the first ranks, with their weights."""
    records = 1_000_000_000
    found = drawn(checked, empty, record_count=records)
    assert max(found) < records
    for rank in range(3):
        expected = DRAWS / (rank + 1) ** 0.99 / ZETA
        assert found[fnv1a(rank) % records] == pytest.approx(expected, abs=5 * math.sqrt(expected))
    assert len(found) > DRAWS / 2  # and many that are rare


@pytest.mark.parametrize("percent", [1, 50, 99, 100, 150, 1000])
def test_the_share_of_the_first_rank_is_that_of_the_law(percent: int) -> None:
    (first,) = (
        one
        for one in YCSB.demands(YCSB.complete({"workload": "c", "zipf_percent": percent}))
        if one.name == "draws of the first rank"
    )
    assert isinstance(first, Ratio)
    assert first.low is not None
    if percent == 99:
        assert 0.95 / first.low == pytest.approx(ZETA, rel=1e-9)
    # The integral from either side, of the ranks from 100 000 on.
    exponent, few, ranks = percent / 100, 100_000, 10_000_000_000
    head = sum(rank**-exponent for rank in range(1, few))

    def integral(low: float, high: float) -> float:
        if exponent == 1:
            return math.log(high / low)
        return (high ** (1 - exponent) - low ** (1 - exponent)) / (1 - exponent)

    least, most = head + integral(few, ranks + 1), head + integral(few - 1, ranks)
    assert least * 0.999999 <= 0.95 / first.low <= most * 1.000001


def test_latest_are_those_at_the_end(checked: Check, empty: Server) -> None:
    found = drawn(checked, empty, record_count=1000, distribution="latest")
    zeta = sum(1 / rank**0.99 for rank in range(1, 1001))
    for age in range(3):
        expected = DRAWS / (age + 1) ** 0.99 / zeta
        assert found[999 - age] == pytest.approx(expected, abs=5 * math.sqrt(expected))
    assert min(found) >= 0


def test_hot_spots_get_their_share(checked: Check, empty: Server) -> None:
    found = drawn(checked, empty, record_count=1000, distribution="hotspot")
    hot = sum(many for number, many in found.items() if number < 200)
    assert hot / DRAWS == pytest.approx(0.8, abs=0.04)
    assert len([number for number in found if number < 200]) == 200
    assert set(found) <= set(range(1000))


def test_exponential_prefers_the_newest(checked: Check, empty: Server) -> None:
    found = drawn(checked, empty, record_count=1000, distribution="exponential")
    newest = sum(many for number, many in found.items() if number >= 1000 - 1000 * 6 / 7)
    cut = 1 - 0.05 ** (7 / 6)  # older than all records is drawn again
    assert newest / DRAWS == pytest.approx(0.95 / cut, abs=0.015)
    half = sum(many for number, many in found.items() if number >= 500)
    assert half / DRAWS == pytest.approx((1 - 0.05 ** (7 / 12)) / cut, abs=0.04)


def test_uniform_draws_all_alike(checked: Check, empty: Server) -> None:
    found = drawn(checked, empty, record_count=10, distribution="uniform")
    assert set(found) == set(range(10))
    for many in found.values():
        assert many == pytest.approx(DRAWS / 10, abs=5 * math.sqrt(DRAWS / 10))
