"""HOT updates: what prevents them, by made-up counters and facts."""

import msgspec
import pytest

from dbdyno.explain.rule import NotFound
from tests.explain.made import facts, index, made_run, table, with_looks
from tests.explain.rule_outcomes import outcome_of

UPDATE = "UPDATE accounts SET balance = balance + :delta WHERE id = :id;"
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


def test_no_unique_index_is_advised_to_be_dropped():
    unique = msgspec.structs.replace(index("accounts.by_balance", "balance"), is_unique=True)
    found = outcome_of("hot_updates", updating(unique))
    assert not [text for text in (*found.advice, found.refute) if "rop " in text or "DROP" in text]
    assert "separate table" in found.advice[0]


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


def test_hot_updates_are_not_blamed():
    assert isinstance(outcome_of("hot_updates", updating(hot=980)), NotFound)
    assert isinstance(outcome_of("hot_updates", updating(updates=0)), NotFound)
    assert "made 2.5" in outcome_of("hot_updates", updating(updates=100)).reason


def test_a_numbered_table_has_its_hot_updates_prevented_by_the_form_of_its_statement():
    run = made_run("UPDATE sbtest# SET k=k+? WHERE id=?")
    known = table("sbtest2", columns=("id", "k"), indexes=(index("sbtest2.k_2", "k"),))
    run.facts(facts(known)).counters("pg_stat_wal", {"wal_records": 4000})
    counted = {"n_tup_upd": 1000, "n_tup_hot_upd": 0}
    found = outcome_of("hot_updates", run.counters("pg_stat_user_tables", counted, of="sbtest2"))
    assert found.evidence["columns"] == "k"
