"""What every planted cause on PostgreSQL needs to know about it."""

from tests.planted import disturbances
from tests.planted.causes import Ground


def filled(width: int, rows: int, fillfactor: int = 100) -> str:
    """Return the SQL of a table whose pages are filled to this fill factor."""
    return f"""
    create table planted (id int primary key, value int not null, filler text not null)
        with (fillfactor = {fillfactor});
    insert into planted select i, 0, repeat('x', {width}) from generate_series(1, {rows}) i;
    vacuum (freeze, analyze) planted"""


def in_partitions(rows: int, parts: int) -> str:
    """Return the SQL of such a table with partitions, whose pages are half empty."""
    each = "; ".join(
        f"create table planted_{part} partition of planted for values "
        f"with (modulus {parts}, remainder {part}) with (fillfactor = 50)"
        for part in range(parts)
    )
    return f"""
    create table planted (id int primary key, value int not null) partition by hash (id);
    {each};
    insert into planted select i, 0 from generate_series(1, {rows}) i;
    vacuum (freeze, analyze) planted"""


POSTGRESQL = Ground(
    kind="postgres",
    filled=filled,
    keyless=lambda width, rows: (
        filled(width, rows) + "; alter table planted drop constraint planted_pkey"
    ),
    relaxed={"synchronous_commit": "off"},
    deadlocks_seen_soon={"deadlock_timeout": "100ms"},
    idle_transaction=disturbances.idle_transaction,
    lock_by_name="advisory_lock",
)
