"""HOT, indexes, plans, reads, files and growth: each rule firing, quiet, and without data."""

import msgspec
import pytest

from dbdyno.analysis.summarize import full_record
from dbdyno.explain.rule import CouldNotLook, NotFound
from dbdyno.model.telemetry import PlanFacts, ServerFacts
from tests.explain.made import facts, index, made_run, table, with_looks
from tests.explain.rule_outcomes import outcome_of
from tests.store.hdr import HISTOGRAMS

UPDATE = "UPDATE accounts SET balance = balance + :delta WHERE id = :id;"
SELECT = "SELECT * FROM accounts WHERE owner = :owner;"
UNITS = {"shared_buffers": "8kB", "work_mem": "kB"}
THIN = "\u202f"


def updating(*indexes, updates=1000, hot=0, **more):
    """A run of updates of accounts: 4 WAL records each, half of client time is work."""
    run = made_run(UPDATE, clients=4)
    known = table(
        columns=("id", "balance"), indexes=(index("accounts.accounts_pkey", "id"), *indexes), **more
    )
    run.facts(facts(known)).counters("pg_stat_wal", {"wal_records": 4000})
    run.counters("pg_stat_user_tables", {"n_tup_upd": updates, "n_tup_hot_upd": hot}, of="accounts")
    return with_looks(run, (0, "", "", 1), (0, "IO", "WALSync", 1), (-1, "idle", "", 2))


def test_an_index_on_the_updated_column_prevents_hot():
    found = outcome_of("hot_updates", updating(index("accounts.by_balance", "balance")))
    assert found.title == "HOT updates prevented by an index on an updated column"
    assert found.summary == (
        f"100{THIN}% of the updates of accounts were not HOT: the updated column balance is in "
        "the index by_balance."
    )
    assert found.certainty == "sure"
    # Two of four records are index entries, and half of client time was work.
    assert found.share == pytest.approx(0.25)
    assert found.evidence["statement"] == UPDATE
    assert "Drop by_balance" in found.advice[0]


def test_pages_without_room_prevent_hot():
    found = outcome_of("hot_updates", updating(row_bytes=1800, hot=100))
    assert found.title == "HOT updates prevented by full pages (fillfactor)"
    assert "fillfactor 100, rows of about 1.78" in found.summary
    assert "SET (fillfactor = 70)" in found.advice[0]
    assert found.certainty == "likely"


@pytest.mark.parametrize(("fillfactor", "is_low"), [(80, False), (70, True), (60, True)])
def test_a_table_with_free_space_gets_no_advice_to_make_more(fillfactor, is_low):
    found = outcome_of("hot_updates", updating(row_bytes=1800, fillfactor=fillfactor))
    assert ("not pruned" in found.title) == is_low
    assert ("horizon" in " ".join(found.advice)) == is_low
    assert ("SET (fillfactor = 70)" in " ".join(found.advice)) != is_low


def test_recreating_an_index_without_the_column_is_advised_only_if_it_has_others():
    found = outcome_of("hot_updates", updating(index("accounts.by_balance", "balance")))
    assert found.advice[0] == "Drop by_balance if no query needs it."
    found = outcome_of("hot_updates", updating(index("accounts.by_both", "id", "balance")))
    assert found.advice[0].endswith("needs it, or recreate it without balance.")


def test_every_index_that_prevents_hot_is_named():
    both = (index("accounts.by_balance", "balance"), index("accounts.by_both", "id", "balance"))
    found = outcome_of("hot_updates", updating(*both))
    assert found.summary.endswith(
        "the updated column balance is in the indexes by_balance, by_both."
    )
    assert found.advice[0] == "Drop by_balance, by_both if no query needs them."
    assert "DROP INDEX by_balance, by_both;" in found.refute


def test_an_index_that_has_few_of_the_rows_is_written_for_few():
    whole, partial = index("accounts.by_owner", "owner"), index("accounts.open", "balance")
    few = msgspec.structs.replace(partial, rows_share=0.25)
    found = outcome_of("hot_updates", updating(whole, few))
    assert found.evidence["index_writes_per_transaction"] == pytest.approx(2.25)


def test_a_column_assigned_by_the_table_is_named_if_space_is_not_the_cause():
    by_time, trigger = index("accounts.by_time", "changed"), ("trigger touch",)
    found = outcome_of("hot_updates", updating(by_time, fillfactor=50, assigned_by=trigger))
    assert found.title.endswith("an index on a column that the table sets itself")
    assert "(trigger touch)" in found.summary
    full = updating(by_time, row_bytes=1800, assigned_by=trigger)
    assert "fillfactor" in outcome_of("hot_updates", full).title
    moving = updating(by_time, fillfactor=50, assigned_by=trigger)
    moving.counters("pg_stat_user_tables", {"n_tup_newpage_upd": 990}, of="accounts")
    assert "not pruned" in outcome_of("hot_updates", moving).title


def test_counted_moves_to_new_pages_make_it_sure():
    run = updating(row_bytes=1800)
    run.counters("pg_stat_user_tables", {"n_tup_newpage_upd": 990}, of="accounts")
    assert outcome_of("hot_updates", run).certainty == "sure"


def test_reads_beside_the_updates_are_none_of_their_misses():
    run = made_run(UPDATE, "SELECT 1;", "COMMIT;", clients=10)
    by_balance = index("accounts.by_balance", "balance")
    run.facts(facts(table(columns=("id", "balance"), indexes=(by_balance,))))
    run.counters("pg_stat_wal", {"wal_records": 1000})
    run.counters("pg_stat_user_tables", {"n_tup_upd": 1000, "n_tup_hot_upd": 0}, of="accounts")
    seen = [(0, "", "", 2), (1, "", "", 7), (2, "IO", "WALSync", 1)]
    found = outcome_of("hot_updates", with_looks(run, *seen))
    assert found.share == pytest.approx(0.3)


def in_partitions(*, fillfactor=100, row_bytes=100.0, misses=(900, 800), of_first=()):
    """Updates of a partitioned table whose own counters and pages are zero.

    ``of_first`` are the only indexes besides the keys, and only on the first partition.
    """
    run = made_run(UPDATE, clients=4).counters("pg_stat_wal", {"wal_records": 8000})
    is_indexed = row_bytes < 1000 and not of_first
    both = (index("accounts.by_balance", "balance"),) if is_indexed else ()
    key, columns = index("accounts.accounts_pkey", "id"), ("id", "balance")
    whole = table(columns=columns, indexes=(key, *both))
    parts = [
        table(
            f"accounts_{number}",
            columns=columns,
            indexes=(
                index(f"accounts_{number}.key", "id"),
                *both,
                *(of_first if number == 1 else ()),
            ),
            fillfactor=fillfactor,
            row_bytes=row_bytes,
            partition_of="accounts",
        )
        for number, _ in enumerate(misses, 1)
    ]
    for part, missed in zip(parts, misses, strict=True):
        counted = {"n_tup_upd": 1000, "n_tup_hot_upd": 1000 - missed}
        run.counters("pg_stat_user_tables", counted, of=part.name)
    run.facts(facts(whole, *parts))
    return with_looks(run, (0, "", "", 2), (-1, "idle", "", 2))


def test_updates_of_partitions_are_those_of_the_whole_table():
    found = outcome_of("hot_updates", in_partitions())
    assert found.summary.startswith(f"85{THIN}% of the updates of accounts were not HOT")
    assert "the index by_balance" in found.summary
    assert found.evidence["updates_per_transaction"] == pytest.approx(2)
    # 1.7 misses of two indexes each in 8 records.
    assert found.evidence["of_wal_records"] == pytest.approx(3.4 / 8)


def test_an_index_of_one_partition_alone_is_named():
    alone = index("accounts_1.first_by_balance", "balance")
    found = outcome_of("hot_updates", in_partitions(misses=(1000, 0), of_first=(alone,)))
    assert found.title.endswith("an index on an updated column")
    assert found.summary.endswith("the updated column balance is in the index first_by_balance.")
    assert any("into 2 indexes" in one for one in found.seen)


def test_room_is_made_in_each_partition():
    found = outcome_of("hot_updates", in_partitions(row_bytes=1800.0))
    assert "rows of about 1.78" in found.summary
    assert found.advice[0].startswith(
        "ALTER TABLE accounts_1 SET (fillfactor = 70); likewise each partition of accounts;"
    )


def test_a_lookup_in_a_partition_needs_an_index_of_the_whole():
    run = made_run(SELECT, clients=4)
    part = table("accounts_1", rows=50_000, columns=("id", "owner"), partition_of="accounts")
    run.facts(facts(part))
    counted = {"seq_scan": 1000, "seq_tup_read": 1000 * 50_000}
    run.counters("pg_stat_user_tables", counted, of="accounts_1")
    assert outcome_of("missing_index", run).advice == ["CREATE INDEX ON accounts (owner);"]


def test_hot_updates_are_not_blamed():
    assert isinstance(outcome_of("hot_updates", updating(hot=980)), NotFound)
    assert isinstance(outcome_of("hot_updates", updating(updates=0)), NotFound)
    assert "made 2.5" in outcome_of("hot_updates", updating(updates=100)).reason


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
):
    run = made_run(sql, clients=4)
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
    assert found.seen[-1].startswith(f"Likewise {SELECT} reads 50{THIN}000 rows of accounts")


@pytest.mark.parametrize("processes", [2, 2.6])
def test_a_scan_that_several_processes_share_is_one(processes):
    recording = scanning(processes=processes).recording()
    record = full_record(recording, HISTOGRAMS)
    timed = [msgspec.structs.replace(one, count=60_000) for one in record.statements]
    recording = msgspec.structs.replace(
        recording, record=msgspec.structs.replace(record, statements=timed)
    )
    found = outcome_of("missing_index", recording)
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


def test_a_numbered_table_has_its_hot_updates_prevented_by_the_form_of_its_statement():
    run = made_run("UPDATE sbtest# SET k=k+? WHERE id=?")
    known = table("sbtest2", columns=("id", "k"), indexes=(index("sbtest2.k_2", "k"),))
    run.facts(facts(known)).counters("pg_stat_wal", {"wal_records": 4000})
    counted = {"n_tup_upd": 1000, "n_tup_hot_upd": 0}
    found = outcome_of("hot_updates", run.counters("pg_stat_user_tables", counted, of="sbtest2"))
    assert found.evidence["columns"] == "k"


def test_scans_that_an_index_would_not_help_are_left_alone():
    assert isinstance(outcome_of("missing_index", scanning(rows=200)), NotFound)
    assert isinstance(outcome_of("missing_index", scanning(scans=0)), NotFound)
    assert isinstance(outcome_of("missing_index", scanning(columns=("id",))), NotFound)


def test_without_the_plan_the_counters_alone_make_it_likely():
    assert outcome_of("missing_index", scanning(plan="Index Scan")).certainty == "likely"


def planned(variant, cost, *nodes):
    return PlanFacts(statement=0, variant=variant, cost=cost, nodes=nodes, text=f"{variant} plan")


SCAN, LOOKUP = ("Seq Scan", "accounts", 9.0), ("Index Scan", "accounts", 1.0)


def test_a_plan_that_changed_in_the_run():
    run = made_run(SELECT)
    before = ServerFacts(plans=(planned("generic", 900, SCAN),))
    after = ServerFacts(plans=(planned("generic", 8, LOOKUP),))
    found = outcome_of("plan_choice", run.facts(before, after))
    assert found.title == "Plan change during the run"
    assert "from Seq Scan accounts to Index Scan accounts" in found.summary


def test_a_change_between_two_cheap_plans_is_not_reported():
    before = ServerFacts(plans=(planned("generic", 1.6, SCAN),))
    after = ServerFacts(plans=(planned("generic", 8.2, LOOKUP),))
    assert isinstance(outcome_of("plan_choice", made_run(SELECT).facts(before, after)), NotFound)


def test_an_expensive_generic_plan_is_a_note_unless_it_is_forced():
    plans = (planned("generic", 900, SCAN), planned("custom", 9, LOOKUP))
    found = outcome_of("plan_choice", made_run(SELECT).facts(ServerFacts(plans=plans)))
    assert found.severity == "note"
    assert "100 times" in found.summary
    forced = ServerFacts(plans=plans, settings={"plan_cache_mode": "force_generic_plan"})
    assert outcome_of("plan_choice", made_run(SELECT).facts(forced)).severity == "minor"


def test_an_example_in_no_partition_says_nothing_about_the_plan():
    plans = (planned("generic", 900, SCAN), planned("custom", 0.01, ("Result", "", 1.0)))
    outcome = outcome_of("plan_choice", made_run(SELECT).facts(ServerFacts(plans=plans)))
    assert isinstance(outcome, NotFound)


def test_partitions_pruned_at_executor_startup_do_not_add_to_the_cost():
    """For unknown values the estimate counts all eight partitions, but one is read."""
    generic = planned("generic", 64, ("Append", "", 8.0), LOOKUP)
    alike = ServerFacts(plans=(generic, planned("custom", 8, LOOKUP)))
    assert isinstance(outcome_of("plan_choice", made_run(SELECT).facts(alike)), NotFound)
    all_read = planned("generic", 64, ("Append", "", 8.0), LOOKUP, LOOKUP)
    costlier = ServerFacts(plans=(all_read, planned("custom", 8, LOOKUP)))
    assert outcome_of("plan_choice", made_run(SELECT).facts(costlier)).severity == "note"


def test_a_plan_for_a_value_in_another_partition_is_no_other_plan():
    parts = tuple(table(f"accounts_{number}", partition_of="accounts") for number in (1, 2))
    reads = [planned("custom", 64, ("Seq Scan", part.name, 9.0)) for part in parts]
    before, after = (ServerFacts(tables=parts, plans=(plan,)) for plan in reads)
    assert isinstance(outcome_of("plan_choice", made_run(SELECT).facts(before, after)), NotFound)


def test_plans_that_agree_are_not_reported():
    plans = (planned("generic", 9, LOOKUP), planned("custom", 8, LOOKUP))
    same = ServerFacts(plans=plans)
    assert isinstance(outcome_of("plan_choice", made_run(SELECT).facts(same, same)), NotFound)


def reading(*, seen=2, read=5000, read_ms=1600.0):
    run = made_run(SELECT, clients=4)
    settings = facts(table(), units=UNITS, shared_buffers="128")
    counted = {"blks_hit": 5000, "blks_read": read, "blk_read_time": read_ms}
    run.facts(settings).counters("pg_stat_database", counted)
    return with_looks(run, (0, "IO", "DataFileRead", seen), (0, "", "", 4 - seen))


def test_reads_that_both_accounts_see_are_sure():
    found = outcome_of("data_read", reading())
    assert found.severity == "critical"
    assert found.share == pytest.approx(0.5)
    assert found.certainty == "sure"
    assert found.evidence["share_counted"] == pytest.approx(0.4)
    assert f"waits for 5 pages from storage: 50{THIN}%" in found.summary
    assert any("shared_buffers is 1" in one for one in found.seen)


def test_reads_that_take_no_time_are_no_bound():
    assert isinstance(outcome_of("data_read", reading(seen=0, read_ms=1.0)), NotFound)


def test_reads_that_the_server_counts_but_no_sample_shows():
    outcome = outcome_of("data_read", reading(seen=0))
    assert isinstance(outcome, CouldNotLook)
    assert f"counted reads for 40{THIN}%" in outcome.reason


def test_reads_that_were_neither_timed_nor_sampled():
    run = made_run(SELECT).counters("pg_stat_database", {"blks_hit": 10, "blks_read": 10})
    assert "track_io_timing" in outcome_of("data_read", run).reason


def sorting(files):
    run = made_run("SELECT * FROM accounts ORDER BY owner;", clients=4)
    run.facts(facts(table(), units=UNITS, work_mem="64"))
    run.counters("pg_stat_database", {"temp_files": files, "temp_bytes": files * 3 * 2**20})
    return with_looks(run, (0, "", "", 4))


def test_temporary_files_name_the_setting_and_the_statement():
    found = outcome_of("temporary_files", sorting(1000))
    assert found.severity == "minor"
    assert f"work_mem (64{THIN}KiB)" in found.summary
    assert f"1 temporary file and 3{THIN}MiB per transaction" in found.summary
    assert "ORDER BY owner" in found.seen[1]
    assert f"above 9{THIN}MiB" in found.advice[0]


def test_a_hash_in_many_files_needs_memory_for_all_of_them():
    run = made_run("SELECT count(*) FROM a JOIN b USING (id);")
    run.facts(facts(units=UNITS, work_mem="64"))
    counted = {"temp_files": 60_000, "temp_bytes": 1000 * 6 * 2**20}
    found = outcome_of("temporary_files", run.counters("pg_stat_database", counted))
    assert f"60 files of 102{THIN}KiB per transaction" in found.seen[0]
    assert f"above 18{THIN}MiB" in found.advice[0]


def test_few_temporary_files_are_a_note_and_none_are_nothing():
    assert outcome_of("temporary_files", sorting(1)).severity == "note"
    assert isinstance(outcome_of("temporary_files", sorting(0)), NotFound)


def test_few_temporary_files_beside_lookups_are_another_sessions():
    run = made_run(UPDATE).facts(facts(units=UNITS, work_mem="64"))
    run.counters("pg_stat_database", {"temp_files": 1, "temp_bytes": 2**23})
    assert isinstance(outcome_of("temporary_files", run), NotFound)


def growing(*, to=40, inserted=0, rows=80_000):
    run = made_run(UPDATE).facts(facts(table(rows=rows, row_bytes=100)))
    sizes = [(20 + (to - 20) * place / 62) * 2**20 for place in range(63)]
    run.levels("sizes", {"bytes": sizes}, of="accounts")
    return run.counters("pg_stat_user_tables", {"n_tup_ins": inserted / 60}, of="accounts")


def test_growth_that_no_row_explains():
    found = outcome_of("table_growth", growing())
    assert found.severity == "minor"
    assert found.summary.startswith(f"accounts grew from 20.6{THIN}MiB to 40{THIN}MiB in ")
    assert found.evidence["time_to_double_s"] == pytest.approx(120, rel=0.1)


def test_growth_by_new_rows_and_no_growth_are_nothing():
    # The 20 MiB that were added are 160 000 rows of 128 bytes.
    assert isinstance(outcome_of("table_growth", growing(inserted=165_000)), NotFound)
    assert isinstance(outcome_of("table_growth", growing(to=20.5)), NotFound)


def test_a_table_that_no_statement_names_has_unknown_row_width():
    """Written by a trigger or a function: its new rows are counted, and are no bloat."""
    run = growing().facts(facts(table("others")))
    assert outcome_of("table_growth", run).evidence["bytes_of_new_rows"] == 0
    run.counters("pg_stat_user_tables", {"n_tup_ins": 1000}, of="accounts")
    assert isinstance(outcome_of("table_growth", run), NotFound)


def test_rows_of_unknown_width_are_not_called_bloat():
    assert isinstance(outcome_of("table_growth", growing(inserted=1000, rows=0)), NotFound)
    assert outcome_of("table_growth", growing(rows=0)).evidence["bytes_of_new_rows"] == 0


@pytest.mark.parametrize(
    "rule", ["hot_updates", "missing_index", "data_read", "temporary_files", "table_growth"]
)
def test_missing_readings_are_reported(rule):
    run = made_run(UPDATE).facts(facts(table())).read("machine")
    assert "was not read" in outcome_of(rule, run).reason
