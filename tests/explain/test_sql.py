"""What is read from the text of a statement."""

import pytest

from dbdyno.explain.statements.sql import (
    assigned_columns,
    chooses_rows,
    ends_transaction,
    equal_calls,
    equal_columns,
    first_by,
    fits,
    has_alternatives,
    is_update,
    joined_columns,
    key_columns,
    locks_nothing,
    tables_of,
    the_one,
    written_table,
)

BALANCE = "UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;"


@pytest.mark.parametrize(
    ("sql", "table"),
    [
        (BALANCE, "pgbench_tellers"),
        ("insert into public.log values (1, 'update other set a')", "log"),
        ('delete from only app."Order" where id = 1', "app.Order"),
        ("UPDATE `shop`.`Order` SET `paid` = 1", "shop.Order"),
        ("-- update a set b\nselect 1 from b", None),
        (r"insert into log values (E'it\'s; update a set b', 1)", "log"),
        ("select $$update a set b$$, $t$'$$update a set b$t$ from c", None),
        ("delete from `update a` where b = 'update c set d'", "update a"),
        ("select 1 from b for no key update nowait", None),
        ("insert into a values (1) on conflict (b) do update set c = 1", "a"),
        ("copy t (a, b) from stdin", "t"),
        ("COPY public.t FROM STDIN (format csv)", "t"),
        ("copy t to stdout", None),
        ("copy (select a from t) to stdout", None),
    ],
)
def test_the_written_table(sql, table):
    assert written_table(sql) == table


@pytest.mark.parametrize(
    ("sql", "columns"),
    [
        (BALANCE, ["tbalance"]),
        ("update t set a = f(b, c), d = 'x, e = 1' where g = 2", ["a", "d"]),
        ("update `t` set `a` = 1, `Two` = 2 where `c` = 3", ["a", "Two"]),
        ("update t set (a, b) = (select 1, 2), C = 3 returning a", ["c", "a", "b"]),
        ("select a from t where b = 1", []),
    ],
)
def test_assigned_columns(sql, columns):
    assert assigned_columns(sql) == columns


@pytest.mark.parametrize(
    ("sql", "columns"),
    [
        (BALANCE, ["tid"]),
        ("select * from t a where a.id = :id and kind in (1, 2) and x > 3", ["id", "kind"]),
        ("select * from t where b = 1 and b = 2 order by c limit 1", ["b"]),
        ("select 1", []),
    ],
)
def test_equal_columns(sql, columns):
    assert equal_columns(sql) == columns


def test_equal_columns_of_one_table():
    sql = "select 1 from parent p join app.child as c on c.pid = p.id where p.id = :id and c.k = 1"
    assert equal_columns(sql, "parent") == ["id"]
    assert equal_columns(sql, "app.child") == ["k"]
    assert equal_columns("select 1 from a, b where a.x = :x and y = 1", "b") == ["y"]


@pytest.mark.parametrize(
    ("sql", "table", "columns"),
    [
        ("select 1 from parent p join child c on c.pid = p.id where p.id = 1", "child", ["pid"]),
        ("select 1 from parent p join child c on c.pid = p.id where p.id = 1", "parent", ["id"]),
        ("select 1 from parent p, app.child AS c where p.id = c.pid", "app.child", ["pid"]),
        ("select 1 from parent join app.child on child.pid = parent.id", "app.child", ["pid"]),
        ("select 1 from tree a join tree b on b.parent = a.id", "tree", []),
        ("select 1 from child c where c.pid = :id", "child", []),
        ("insert into a values (1) on conflict (b) do update set c = a.c + 1", "a", []),
    ],
)
def test_joined_columns(sql, table, columns):
    assert joined_columns(sql, table) == columns


@pytest.mark.parametrize(
    ("sql", "column"),
    [
        (
            "select a from posts p where k = 1 order by p.Created desc nulls last limit 10",
            "created",
        ),
        ("select a from posts order by created, id desc fetch first 5 rows only", "created"),
        ("select a from posts order by created", None),
        ("select a from posts order by lower(name) limit 10", None),
        ("select a, count(*) from posts group by a order by a limit 10", None),
        ("select p.a from posts p join tags t on t.post = p.id order by p.created limit 10", None),
    ],
)
def test_the_column_by_which_the_first_rows_are_wanted(sql, column):
    assert first_by(sql) == column


def test_equal_calls():
    sql = "select lower(a) = 'x' from t where lower( t.Email ) = :e and f(b) in (1) and g(1, c) = 2"
    assert equal_calls(sql) == [("lower", "email"), ("f", "b")]


def test_alternatives_are_those_of_the_condition():
    assert has_alternatives("select a from t where b = 1 or c = 2")
    assert not has_alternatives("select a or b from t where c = 'this or that' order by d")


def test_tables_and_kind():
    sql = "update a set b = 1 from public.c join d on d.id = c.id"
    assert tables_of(sql) == ["a", "c", "d"]
    assert is_update(sql)
    assert not is_update("select 1 -- update")


@pytest.mark.parametrize("sql", ["COMMIT", "-- so be it\nend;", "commit and chain;"])
def test_what_ends_a_transaction(sql):
    assert ends_transaction(sql)


@pytest.mark.parametrize("sql", ["\\endif", "ended", "select 'commit'", "rollback;"])
def test_what_ends_none(sql):
    assert not ends_transaction(sql)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("BEGIN;", True),
        ("select a from b where c = 'for update';", True),
        ("select a from b for no key update;", False),
        ("select a from b for key share;", False),
        ("select a from b lock in share mode", False),
        ("select pay(1);", False),
        ("with a as (update b set c = 1 returning c) select c from a", False),
        ("update a set b = 1", False),
        ("call pay(1)", False),
    ],
)
def test_what_locks_nothing(sql, expected):
    assert locks_nothing(sql) == expected


def test_names_of_a_form_for_several_statements():
    assert tables_of("SELECT c FROM sbtest# JOIN t# ON a=b WHERE id=?") == ["sbtest#", "t#"]
    assert written_table("UPDATE shop.sbtest# SET k=k+? WHERE id=?") == "shop.sbtest#"
    assert assigned_columns("UPDATE stock# SET s_dist_#=?, s_ytd=?") == ["s_dist_#", "s_ytd"]
    assert equal_columns("SELECT s FROM stock# WHERE s.w_# = ? AND i IN (?, …)") == ["w_#", "i"]


@pytest.mark.parametrize(
    ("form", "name", "expected"),
    [
        ("sbtest#", "sbtest1", True),
        ("sbtest#", "sbtest12", True),
        ("sbtest#", "sbtest", False),
        ("sbtest#", "sbtest1_old", False),
        ("sbtest#", "old_sbtest1", False),
        ("sbtest1", "sbtest1", True),
        ("sbtest1", "sbtest12", False),
        (None, "sbtest1", False),
    ],
)
def test_a_form_fits_all_names_that_differ_in_their_last_digits(form, name, expected):
    assert fits(form, name) == expected


@pytest.mark.parametrize(
    ("written", "name", "expected"),
    [
        ("log", "app.log", True),
        ("app.log", "log", True),
        ("app.log", "app.log", True),
        ("app.log", "old.log", False),
        ("orders", "Orders", True),
        ("sbtest#", "app.sbtest12", True),
        ("sbtest#", "app.sbtest_old", False),
        ("catalog", "log", False),
        (None, "log", False),
    ],
)
def test_a_name_fits_with_or_without_its_schema_in_any_case(written, name, expected):
    assert fits(written, name) is expected


def test_of_two_tables_that_fit_the_one_written_alike_counts():
    assert the_one("log", ["log", "app.log"]) == "log"
    assert the_one("log", ["old.log", "app.log"]) is None


def test_the_one_name_that_a_form_stands_for():
    assert the_one("s_dist_#", ["s_id", "s_dist_01"]) == "s_dist_01"
    assert the_one("s_dist_#", ["s_dist_01", "s_dist_02"]) is None
    assert the_one("k", ["id", "k"]) == "k"


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("update a set n = n + :d where id = :id", True),
        ("update a set n = n + 1 where id = $1", True),
        ("update a set n = n + ? where id = ?", True),
        ("update a set n = n + :d where id = 1", False),
        ("update a set n = :d where at < '2026-01-01 :x'::date", False),
        ("insert into a values (:id)", False),
        ("update a set n = :d", False),
    ],
)
def test_a_value_chooses_the_rows_or_they_are_always_the_same(sql, expected):
    assert chooses_rows(sql) == expected


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("select * from a where id = :id;", ["id"]),
        ("select * from s.a x where x.Id = :id::bigint and (n = :n + 1) for update", ["id", "n"]),
        ("select * from sbtest# where id=?", ["id"]),
        ("update a set n = n + :d where id = $1 returning n", ["id"]),
        ("select * from a where id = :id order by n", ["id"]),
        ("select * from a where id = 1", []),
        ("select * from a where n = 'new :x' and id = :id", []),
        ("select * from a where id = :id and n > 0", []),
        ("select * from a where id = :id or n = :n", []),
        ("select * from a where id between :low and :high", []),
        ("select * from a where id in (:a, :b)", []),
        ("select * from a where id = any(:ids)", []),
        ("select * from a where id = (select max(id) from a where n = :n)", []),
        ("select * from a where n = :n order by id limit 1", []),
        ("select * from a where n = :n limit 1 for update skip locked", []),
        ("select * from a join b on a.id = b.id where a.id = :id", []),
        ("delete from a where id = :id", []),
        ("insert into a select * from a where id = :id", []),
        ("select * from a", []),
    ],
)
def test_the_columns_by_which_it_looks_rows_up(sql, expected):
    assert key_columns(sql) == expected
