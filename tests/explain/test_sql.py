"""What is read from the text of a statement."""

import pytest

from dbdyno.explain.statements.sql import Sql, fits, the_one

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
    assert Sql(sql).written_table == table


@pytest.mark.parametrize(
    ("sql", "columns"),
    [
        (BALANCE, ["tbalance"]),
        ("update t set a = f(b, c), d = 'x, e = 1' where g = 2", ["a", "d"]),
        ("update `t` set `a` = 1, `Two` = 2 where `c` = 3", ["a", "Two"]),
        ("update t set (a, b) = (select 1, 2), C = 3 returning a", ["a", "b", "c"]),
        ("select a from t where b = 1", []),
    ],
)
def test_assigned_columns(sql, columns):
    assert Sql(sql).assigned_columns == columns


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
    assert Sql(sql).equal_columns() == columns


def test_equal_columns_of_one_table():
    sql = "select 1 from parent p join app.child as c on c.pid = p.id where p.id = :id and c.k = 1"
    assert Sql(sql).equal_columns("parent") == ["id"]
    assert Sql(sql).equal_columns("app.child") == ["k"]
    assert Sql("select 1 from a, b where a.x = :x and y = 1").equal_columns("b") == ["y"]


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
    assert Sql(sql).joined_columns(table) == columns


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
    assert Sql(sql).first_by == column


def test_equal_calls():
    sql = "select lower(a) = 'x' from t where lower( t.Email ) = :e and f(b) in (1) and g(1, c) = 2"
    assert Sql(sql).equal_calls == [("lower", "email"), ("f", "b")]


def test_alternatives_are_those_of_the_condition():
    assert Sql("select a from t where b = 1 or c = 2").has_alternatives
    assert not Sql("select a or b from t where c = 'this or that' order by d").has_alternatives


def test_tables_and_kind():
    sql = "update a set b = 1 from public.c join d on d.id = c.id"
    assert Sql(sql).tables == ["a", "c", "d"]
    assert Sql(sql).verb == "update"
    assert Sql("-- update\nselect 1").verb == "select"


@pytest.mark.parametrize("sql", ["COMMIT", "-- so be it\nend;", "commit and chain;"])
def test_what_ends_a_transaction(sql):
    assert Sql(sql).ends_transaction


@pytest.mark.parametrize("sql", ["\\endif", "ended", "select 'commit'", "rollback;"])
def test_what_ends_none(sql):
    assert not Sql(sql).ends_transaction


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
    assert Sql(sql).locks_nothing == expected


def test_names_of_a_form_for_several_statements():
    assert Sql("SELECT c FROM sbtest# JOIN t# ON a=b WHERE id=?").tables == ["sbtest#", "t#"]
    assert Sql("UPDATE shop.sbtest# SET k=k+? WHERE id=?").written_table == "shop.sbtest#"
    assert Sql("UPDATE stock# SET s_dist_#=?, s_ytd=?").assigned_columns == ["s_dist_#", "s_ytd"]
    assert Sql("SELECT s FROM stock# WHERE s.w_# = ? AND i IN (?, …)").equal_columns() == [
        "w_#",
        "i",
    ]


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
    assert Sql(sql).chooses_rows == expected


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
    assert Sql(sql).key_columns == expected


@pytest.mark.parametrize(
    ("dialect", "sql", "tables"),
    [
        ("postgresql", r"update a set b = E'\'' from c", ["a", "c"]),
        ("postgresql", r"update a set b = '\' from c where d = ' from e '", ["a", "c"]),
        ("mysql", r"update a set b = '\'' where d = ' from e '", ["a"]),
        ("mysql", r"select '\' from e ' from a", ["a"]),
        ("postgresql", "select $$ from e $$, $t$ from $$ f $t$ from a", ["a"]),
        ("mysql", "select $$ from a", ["a"]),
        ("postgresql", "select 1 -- ' from e\nfrom a -- '", ["a"]),
        ("mysql", "select 1 -- ' from e\nfrom a where b = 5--1", ["a"]),
        ("postgresql", "select /* ' */ 1 from a /* ' from e */", ["a"]),
        ("postgresql", "select 1 /* /* */ from e */ from a", ["a"]),
        ("mysql", "select 1 /* /* */ from a /* from e */", ["a"]),
        ("mysql", "select 1 # from e '\nfrom a # '", ["a"]),
        ("postgresql", "select 1 # 2 from a", ["a"]),
        ("mysql", "select `from e` from `update f`", ["update f"]),
        ("postgresql", 'select "from e" from "update f"', ["update f"]),
        ("mysql", 'select " from e " from a', ["a"]),
        ("mysql", "SELECT c FROM sbtest# JOIN t# ON a=b WHERE id=?", ["sbtest#", "t#"]),
    ],
)
def test_the_servers_grammar_decides_where_strings_names_and_comments_end(dialect, sql, tables):
    assert Sql(sql, dialect).tables == tables


def test_a_clause_ends_with_the_query_that_it_is_of():
    found = Sql("with a as (select 1 from b where c = 1 for update) update d set e = 1 where f = 2")
    assert found.equal_columns() == ["c", "f"]
    limited = Sql("select 1 from a where b in (select c from d order by e limit 1) or f = 2")
    assert limited.has_alternatives
    assert Sql(
        "update a set b = case when c = 1 then 2 end, d = (select e from f)"
    ).assigned_columns == ["b", "d"]
