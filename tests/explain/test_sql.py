"""What is read off the text of a statement."""

import pytest

from dbdyno.explain.sql import (
    assigned_columns,
    equal_columns,
    is_update,
    tables_of,
    written_table,
)

BALANCE = "UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;"


@pytest.mark.parametrize(
    ("sql", "table"),
    [
        (BALANCE, "pgbench_tellers"),
        ("insert into public.log values (1, 'update other set a')", "log"),
        ('delete from only app."Order" where id = 1', "app.Order"),
        ("-- update a set b\nselect 1 from b", None),
        ("select 1 from b for no key update nowait", None),
        ("insert into a values (1) on conflict (b) do update set c = 1", "a"),
    ],
)
def test_the_written_table(sql, table):
    assert written_table(sql) == table


@pytest.mark.parametrize(
    ("sql", "columns"),
    [
        (BALANCE, ["tbalance"]),
        ("update t set a = f(b, c), d = 'x, e = 1' where g = 2", ["a", "d"]),
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


def test_tables_and_kind():
    sql = "update a set b = 1 from public.c join d on d.id = c.id"
    assert tables_of(sql) == ["a", "c", "d"]
    assert is_update(sql)
    assert not is_update("select 1 -- update")
