"""Missing indexes: what is searched without one, by made-up counters, facts and plans."""

import pytest

from dbdyno.explain.rule import NotFound
from dbdyno.model.telemetry import PlanFacts, ServerFacts
from tests.explain.made import facts, made_run, table, with_looks
from tests.explain.rule_outcomes import executed, outcome_of

SELECT = "SELECT * FROM accounts WHERE owner = :owner;"
THIN = "\u202f"


def scanning(
    *,
    rows=50_000,
    scans=1000,
    plan="Seq Scan",
    columns=("id", "owner"),
    sql=SELECT,
    processes=1,
    converted=(),
    compared=(),
    finds=1.0,
    above=(),
    seen=((0, "", "", 3),),
    received_bytes=0,
):
    run = made_run(sql, clients=4, engine={"bytes_received": received_bytes * 1000})
    plans = (
        PlanFacts(
            statement=0,
            variant="generic",
            cost=900,
            nodes=(*above, (plan, "accounts", finds)),
            text="",
            converted=converted,
            compared=compared,
        ),
    )
    known = facts(table(rows=rows, columns=columns))
    run.facts(ServerFacts(tables=known.tables, plans=plans))
    counted = {"seq_scan": scans * processes, "seq_tup_read": scans * rows}
    run.counters("pg_stat_user_tables", counted, of="accounts")
    return with_looks(run, *seen, (-1, "idle", "", 1))


def test_a_lookup_without_an_index_is_named_with_the_index_to_make():
    found = outcome_of("missing_index", scanning())
    assert found.severity == "critical"
    assert found.share == pytest.approx(0.75)
    assert found.certainty == "sure"
    assert found.advice == ["CREATE INDEX CONCURRENTLY ON accounts (owner);"]
    assert f"reads 50{THIN}000 rows of accounts" in found.summary


def test_a_lookup_by_several_columns_needs_one_index_on_all_of_them():
    sql = "SELECT id FROM accounts WHERE owner = :owner AND kind = :kind"
    found = outcome_of("missing_index", scanning(sql=sql, columns=("id", "owner", "kind")))
    assert found.advice == ["CREATE INDEX CONCURRENTLY ON accounts (owner, kind);"]
    assert "one value of owner and kind: no index begins with owner or kind." in found.summary
    assert found.evidence["column"] == "owner, kind"


def test_a_lookup_by_one_or_another_column_needs_an_index_on_each():
    sql = "SELECT id FROM accounts WHERE owner = :owner OR kind = :kind"
    found = outcome_of("missing_index", scanning(sql=sql, columns=("id", "owner", "kind")))
    assert found.advice == [
        "CREATE INDEX CONCURRENTLY ON accounts (owner);",
        "CREATE INDEX CONCURRENTLY ON accounts (kind);",
    ]
    assert "one value of owner or kind" in found.summary
    sql = "SELECT owner FROM accounts WHERE id = :id OR owner = :owner"
    found = outcome_of("missing_index", scanning(sql=sql))
    assert found.advice == ["CREATE INDEX CONCURRENTLY ON accounts (owner);"]
    assert isinstance(
        outcome_of("missing_index", scanning(sql=sql, plan="Bitmap Heap Scan")), NotFound
    )
    both = "SELECT owner FROM accounts WHERE id = :id AND owner = :owner"
    assert isinstance(outcome_of("missing_index", scanning(sql=both)), NotFound)


def test_a_lookup_by_what_is_computed_of_a_column_wants_an_index_on_that():
    sql = "SELECT id FROM accounts WHERE lower(owner) = :owner"
    found = outcome_of("missing_index", scanning(sql=sql))
    assert found.advice == ["CREATE INDEX CONCURRENTLY ON accounts (lower(owner));"]
    assert "no index begins with lower(owner)" in found.summary
    assert isinstance(outcome_of("missing_index", scanning(sql=sql, plan="Index Scan")), NotFound)


def test_an_indexed_column_that_the_lookup_converts():
    sql = "SELECT owner FROM accounts WHERE id = :id::numeric"
    found = outcome_of("missing_index", scanning(sql=sql, converted=(("accounts", "id"),)))
    assert found.title == "Unusable index: a lookup converts the indexed column"
    assert "id has an index, but is compared in another type or collation" in found.summary
    assert found.certainty == "sure"
    assert found.advice == [
        "Compare id with values of its own type and collation: bind or cast the value, so that "
        "the column is not converted."
    ]
    assert isinstance(outcome_of("missing_index", scanning(sql=sql)), NotFound)
    elsewhere = scanning(sql=sql, converted=(("others", "id"),))
    assert isinstance(outcome_of("missing_index", elsewhere), NotFound)


@pytest.mark.parametrize("like", ["LIKE 'a' || :start || '%'", "ilike :pattern"])
def test_a_lookup_by_a_pattern_wants_an_index_for_patterns(like):
    """An index on the column for comparisons may exist."""
    sql = f"SELECT id FROM accounts WHERE owner {like}"
    found = outcome_of("missing_index", scanning(sql=sql))
    assert "to find those whose owner matches a pattern: no index serves for that." in found.summary
    assert "ON accounts (owner text_pattern_ops);" in found.advice[0]
    assert "pg_trgm" in found.advice[1]
    assert isinstance(outcome_of("missing_index", scanning(sql=sql, plan="Index Scan")), NotFound)
    assert isinstance(outcome_of("missing_index", scanning(sql=sql, finds=20_000.0)), NotFound)
    without = f"SELECT id FROM accounts WHERE owner NOT {like}"
    assert isinstance(outcome_of("missing_index", scanning(sql=without)), NotFound)


@pytest.mark.parametrize("above", [(), (("ModifyTable", "accounts", 0.0),)])
def test_a_lookup_that_finds_much_of_the_table_needs_no_index(above):
    assert isinstance(outcome_of("missing_index", scanning(above=above, finds=25_000.0)), NotFound)
    assert outcome_of("missing_index", scanning(above=above, finds=2_500.0)).certainty == "sure"


EVERY_ROW = 50_000.0
"""What the server expects if the example's value is the only one in the table."""


@pytest.mark.parametrize(
    ("received_bytes", "more", "is_found"),
    [
        (25, {}, True),
        (25, {"above": (("Gather", "", EVERY_ROW), ("Sort", "", EVERY_ROW))}, True),
        (EVERY_ROW * 30, {}, False),
        (25, {"above": (("Aggregate", "", 1.0),)}, False),
        (25, {"above": (("Hash Join", "", 1.0), ("Seq Scan", "others", 9.0))}, False),
    ],
    ids=["few", "passed on", "many", "counted", "joined"],
)
def test_few_rows_returned_overrule_the_estimate_for_another_value(received_bytes, more, is_found):
    """Not if the plan has steps that return fewer rows than were found."""
    run = scanning(finds=EVERY_ROW, received_bytes=received_bytes, **more)
    found = outcome_of("missing_index", executed(run))
    assert isinstance(found, NotFound) != is_found
    if is_found:
        assert found.certainty == "sure"
        assert found.seen[-1] == (
            "By what it returned or changed, it finds 4 rows on average or fewer; the server "
            f"expects 50{THIN}000."
        )


def test_an_estimate_holds_if_the_executions_were_not_counted():
    assert isinstance(
        outcome_of("missing_index", scanning(finds=EVERY_ROW, received_bytes=25)), NotFound
    )


@pytest.mark.parametrize(
    ("changed", "is_found"),
    [({"n_tup_upd": 3000}, True), ({"n_tup_ins": 40_000_000}, False)],
    ids=["few", "many"],
)
def test_a_change_finds_as_many_rows_as_were_changed(changed, is_found):
    """Clients receive no row of them."""
    sql = "UPDATE accounts SET kind = 1 WHERE owner = :owner"
    above = (("ModifyTable", "accounts", 0.0),)
    run = scanning(sql=sql, finds=EVERY_ROW, above=above, received_bytes=15)
    run.counters("pg_stat_user_tables", changed, of="accounts")
    found = outcome_of("missing_index", executed(run))
    assert isinstance(found, NotFound) != is_found


def test_a_lookup_behind_a_view_is_known_by_its_plan():
    view = {"sql": "SELECT count(*) FROM holders WHERE name = :name"}
    found = outcome_of("missing_index", scanning(**view, compared=(("accounts", "owner"),)))
    assert found.advice == ["CREATE INDEX CONCURRENTLY ON accounts (owner);"]
    assert found.certainty == "sure"
    by_key = scanning(**view, compared=(("accounts", "owner"), ("accounts", "id")))
    assert isinstance(outcome_of("missing_index", by_key), NotFound)
    assert isinstance(outcome_of("missing_index", scanning(**view)), NotFound)


def checking(*, rows=30_000, table_read="lines", seen=3):
    """A run of deletes, with scans of a table that no statement or plan names."""
    run = made_run("DELETE FROM accounts WHERE id = :id;", clients=4)
    nodes = (("ModifyTable", "accounts", 0.0), ("Index Scan", "accounts", 1.0))
    plan = PlanFacts(statement=0, variant="generic", cost=8, nodes=nodes, text="")
    run.facts(ServerFacts(tables=facts(table()).tables, plans=(plan,)))
    counted = {"seq_scan": 1000, "seq_tup_read": 1000 * rows}
    run.counters("pg_stat_user_tables", counted, of=table_read)
    return with_looks(run, (0, "", "", seen), (-1, "idle", "", 4 - seen))


def test_scans_that_no_statement_explains_are_of_a_foreign_key_trigger_or_function():
    found = outcome_of("missing_index", checking())
    assert found.title == "Missing index: a foreign key, trigger or function reads a whole table"
    assert f"reads lines, yet all of its 30{THIN}000 rows are read" in found.summary
    assert found.share == pytest.approx(0.75 * 30 / 31)
    assert found.certainty == "likely"
    assert isinstance(outcome_of("missing_index", checking(rows=500)), NotFound)
    assert isinstance(outcome_of("missing_index", checking(table_read="accounts")), NotFound)
    assert isinstance(outcome_of("missing_index", checking(seen=0)), NotFound)


def joining(*, joined=30.0, orders=("id", "customer")):
    sql = "SELECT o.id FROM customers c JOIN orders o ON o.customer = c.id WHERE c.id = :id"
    run = made_run(sql, clients=4)
    nodes = (
        ("Hash Join", "", joined),
        ("Seq Scan", "orders", 50_000.0),
        ("Index Scan", "customers", 1.0),
    )
    plan = PlanFacts(statement=0, variant="generic", cost=900, nodes=nodes, text="")
    known = facts(table("orders", rows=50_000, columns=orders), table("customers"))
    run.facts(ServerFacts(tables=known.tables, plans=(plan,)))
    counted = {"seq_scan": 1000, "seq_tup_read": 1000 * 50_000}
    run.counters("pg_stat_user_tables", counted, of="orders")
    return with_looks(run, (0, "", "", 3), (-1, "idle", "", 1))


def test_a_join_to_one_row_needs_an_index_on_its_column():
    found = outcome_of("missing_index", joining())
    assert found.advice == ["CREATE INDEX CONCURRENTLY ON orders (customer);"]
    assert "those with one value of customer: no index begins with customer." in found.summary
    assert found.certainty == "sure"


def test_a_join_of_much_of_a_table_needs_no_index():
    assert isinstance(outcome_of("missing_index", joining(joined=40_000.0)), NotFound)


SORTING = (("Limit", "", 10.0), ("Sort", "", 50_000.0))


def test_the_first_rows_by_a_column_want_an_index_that_orders():
    sql = "SELECT id FROM accounts ORDER BY opened DESC LIMIT 10"
    columns = ("id", "kind", "opened")
    found = outcome_of(
        "missing_index", scanning(sql=sql, columns=columns, above=SORTING, finds=50_000.0)
    )
    assert found.advice == ["CREATE INDEX CONCURRENTLY ON accounts (opened);"]
    assert "to find those that come first by opened: no index begins with opened." in found.summary
    sql = "SELECT id FROM accounts WHERE kind = :k ORDER BY opened LIMIT 10"
    found = outcome_of(
        "missing_index", scanning(sql=sql, columns=columns, above=SORTING, finds=25_000.0)
    )
    assert found.advice == ["CREATE INDEX CONCURRENTLY ON accounts (kind, opened);"]
    assert "those with one value of kind that come first by opened" in found.summary
    many = (("Limit", "", 20_000.0), ("Sort", "", 50_000.0))
    assert isinstance(
        outcome_of("missing_index", scanning(sql=sql, columns=columns, above=many, finds=25_000.0)),
        NotFound,
    )
    sql = "SELECT kind FROM accounts ORDER BY id LIMIT 10"
    assert isinstance(outcome_of("missing_index", scanning(sql=sql, above=SORTING)), NotFound)


def test_each_lookup_without_an_index_is_reported():
    """More rows of orders are read; lookups with little time or with an index are not reported."""
    run = made_run(
        "SELECT * FROM orders WHERE customer = :c",
        SELECT,
        "SELECT * FROM orders WHERE state = :s",
        "SELECT * FROM orders WHERE id = :id",
        clients=100,
    )
    known = facts(
        table("orders", columns=("id", "customer", "state")), table(columns=("id", "owner"))
    )
    scans = [("orders", 0, "Seq Scan"), ("accounts", 1, "Seq Scan"), ("orders", 2, "Seq Scan")]
    plans = tuple(
        PlanFacts(statement=number, variant="generic", cost=9, nodes=((kind, name, 1.0),), text="")
        for name, number, kind in scans
    )
    run.facts(ServerFacts(tables=known.tables, plans=plans))
    for name, read in (("orders", 90_000), ("accounts", 50_000)):
        run.counters(
            "pg_stat_user_tables", {"seq_scan": 1000, "seq_tup_read": 1000 * read}, of=name
        )
    looks = [(0, "", "", 50), (1, "", "", 20), (2, "", "", 1), (3, "", "", 20)]
    found = outcome_of("missing_index", with_looks(run, *looks))
    assert found.share == pytest.approx(0.7)
    assert "rows of orders" in found.summary
    assert found.summary.endswith("begins with customer. 1 other statement lacks one too.")
    assert found.advice == [
        "CREATE INDEX CONCURRENTLY ON orders (customer);",
        "CREATE INDEX CONCURRENTLY ON accounts (owner);",
    ]
    assert found.evidence["others"] == [SELECT]
    assert found.seen[-1].startswith(f"Likewise “{SELECT}” reads 50{THIN}000 rows of accounts")


@pytest.mark.parametrize("processes", [2, 2.6])
def test_a_scan_that_several_processes_share_is_one(processes):
    found = outcome_of("missing_index", executed(scanning(processes=processes)))
    assert f"reads 50{THIN}000 rows of accounts" in found.summary
    assert found.evidence["scans_per_transaction"] == pytest.approx(1)


def test_waits_for_the_workers_of_a_scan_are_its_time():
    run = scanning(seen=((0, "IPC", "ExecuteGather", 2), (0, "", "", 1)))
    assert outcome_of("missing_index", run).share == pytest.approx(0.75)


def test_a_numbered_table_is_found_in_the_form_of_all_statements_on_such_tables():
    run = made_run("SELECT * FROM sbtest# WHERE owner=?")
    run.facts(facts(*(table(f"sbtest{number}", columns=("id", "owner")) for number in (1, 2))))
    counted = {"seq_scan": 1000, "seq_tup_read": 1000 * 50_000}
    found = outcome_of("missing_index", run.counters("pg_stat_user_tables", counted, of="sbtest2"))
    assert found.evidence["statement"] == "SELECT * FROM sbtest# WHERE owner=?"
    assert found.advice == ["CREATE INDEX CONCURRENTLY ON sbtest2 (owner);"]


def test_scans_that_an_index_would_not_help_are_left_alone():
    assert isinstance(outcome_of("missing_index", scanning(rows=200)), NotFound)
    assert isinstance(outcome_of("missing_index", scanning(scans=0)), NotFound)
    assert isinstance(outcome_of("missing_index", scanning(columns=("id",))), NotFound)


def test_without_the_plan_the_counters_alone_make_it_likely():
    assert outcome_of("missing_index", scanning(plan="Index Scan")).certainty == "likely"


def test_a_lookup_in_a_partition_needs_an_index_of_the_whole():
    run = made_run(SELECT, clients=4)
    part = table("accounts_1", rows=50_000, columns=("id", "owner"), partition_of="accounts")
    run.facts(facts(part))
    counted = {"seq_scan": 1000, "seq_tup_read": 1000 * 50_000}
    run.counters("pg_stat_user_tables", counted, of="accounts_1")
    assert outcome_of("missing_index", run).advice == ["CREATE INDEX ON accounts (owner);"]
