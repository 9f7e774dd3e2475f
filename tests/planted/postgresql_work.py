"""The truth set on PostgreSQL: work of the server that a transaction could do without."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import pairwise

from dbdyno.servers.base import Server
from tests.planted import disturbances
from tests.planted.causes import Cause, script
from tests.planted.postgresql_ground import POSTGRESQL, filled

IDLE_SESSIONS = 1000
LEVELS = 10
OTHER_TABLES = 4
PARTITIONS = 2000


def causes_of_work() -> list[Cause]:
    """Return them; each has the same run without it."""
    return [*_in_statements(), *_around_statements(), *_beside_statements()]


def _in_statements() -> list[Cause]:
    return [
        POSTGRESQL.cause(
            "jit",
            "JIT compilation of every short query (jit_above_cost = 0)",
            *("select-only", "-s", "1", "-c", "4"),
            finding="jit_compilation",
            settings={
                "jit_above_cost": "0",
                "jit_inline_above_cost": "0",
                "jit_optimize_above_cost": "0",
            },
            otherwise={"settings": {}},
            proves="a profile of the server's sessions",
        ),
        POSTGRESQL.cause(
            "joins-parsed",
            "joins of twelve tables, parsed and planned at each execution",
            *(script("join_many"), "-c", "4", "-M", "simple"),
            finding="parse_and_plan",
            sql=filled(10, 1000) + "; update planted set value = id; vacuum analyze planted",
            otherwise={"run": (script("join_many"), "-c", "4", "-M", "prepared")},
        ),
        POSTGRESQL.cause(
            "partitions",
            "lookups that no partition key restricts, in 2000 partitions",
            *(script("select_by_code"), "-c", "4"),
            finding="many_partitions",
            sql=_coded(PARTITIONS),
            settings={"max_locks_per_transaction": "1024"},
            otherwise={"sql": _coded(0)},
            seconds=4,
            proves="partitions in plans",
        ),
        POSTGRESQL.cause(
            "deep-trigger",
            "updates whose trigger updates a table with a trigger, ten levels deep",
            *(script("update_value"), "-c", "4"),
            finding="trigger_work",
            sql=filled(10, 20_000) + _chained(LEVELS),
            settings=POSTGRESQL.relaxed,
            otherwise={"sql": filled(10, 20_000)},
            proves="scans and changes of tables that no script names",
        ),
    ]


def _around_statements() -> list[Cause]:
    return [
        POSTGRESQL.cause(
            "statements-logged",
            "every statement in the server's log (log_statement = all, debug1)",
            *("select-only", "-s", "1", "-c", "4"),
            finding="statement_logging",
            settings={"log_statement": "all", "log_min_messages": "debug1"},
            otherwise={"settings": {}},
        ),
        POSTGRESQL.cause(
            "cache-of-the-kernel",
            "shared buffers of 1 MB for 400,000 wide rows",
            *(script("select_wide"), "-c", "4"),
            finding="page_copies",
            sql=filled(400, 400_000),
            settings={"shared_buffers": "1MB"},
            otherwise={"settings": {"shared_buffers": "512MB"}},
        ),
        POSTGRESQL.cause(
            "heavy-cipher",
            "rows of 10 kB over TLS with a cipher without the CPU's help",
            *(script("select_long"), "-c", "4"),
            finding="tls_work",
            sql=filled(10_000, 200),
            settings={"ssl": "on"},
            environment={"OPENSSL_ia32cap": "0:0"},
            sslmode="require",
            otherwise={"sslmode": "disable"},
        ),
    ]


def _beside_statements() -> list[Cause]:
    return [
        POSTGRESQL.cause(
            "autovacuum-loop",
            "autovacuum of other tables without a pause",
            *("select-only", "-s", "1", "-c", "4"),
            finding="background_work",
            sql=_others(OTHER_TABLES, 150_000),
            settings={
                "autovacuum_naptime": "1",
                "autovacuum_analyze_threshold": "0",
                "autovacuum_analyze_scale_factor": "0",
                "autovacuum_vacuum_threshold": "0",
                "autovacuum_vacuum_scale_factor": "0",
                "autovacuum_vacuum_cost_delay": "0",
            },
            disturb=_changes_of_others,
            otherwise={"settings": {"autovacuum": "off"}},
            proves="CPU time of the server's processes by what they are for",
        ),
        POSTGRESQL.cause(
            "idle-writers",
            f"{IDLE_SESSIONS} idle sessions, each within a transaction that deleted a row",
            *(script("count_all"), "-c", "4"),
            finding="snapshot_work",
            sql=filled(10, IDLE_SESSIONS),
            disturb=_idle_writers,
            clients_max=IDLE_SESSIONS + 20,
            otherwise={"disturb": disturbances.nothing},
        ),
    ]


def _coded(partitions: int) -> str:
    """Return the SQL of a table with a column besides its key, in partitions or whole."""
    parts = "; ".join(
        f"create table planted_{part} partition of planted for values "
        f"with (modulus {partitions}, remainder {part})"
        for part in range(partitions)
    )
    return f"""
    create table planted (id int primary key, code int not null, value int not null)
        {"partition by hash (id)" if partitions else ""};
    {parts};
    create index on planted (code);
    insert into planted select i, i, 0 from generate_series(1, 20000) i;
    vacuum (freeze, analyze) planted"""


def _chained(levels: int) -> str:
    """Return the SQL of tables, each updated by the trigger of the one before."""
    names = ["planted", *(f"planted_{level}" for level in range(1, levels + 1))]
    return "".join(
        f""";
        create table {name} as select id, value from planted;
        alter table {name} add primary key (id);
        create function update_{name}() returns trigger language plpgsql as $$ begin
            update {name} set value = value + 1 where id = new.id; return new; end $$;
        create trigger update_{name} after update on {before}
            for each row execute function update_{name}();
        vacuum (freeze, analyze) {name}"""
        for before, name in pairwise(names)
    )


def _others(tables: int, rows: int) -> str:
    return "; ".join(
        f"""
        create table other_{number} as
            select i as id, md5(i::text) as a, md5((i + 1)::text) as b
            from generate_series(1, {rows}) i;
        alter table other_{number} alter a set statistics 10000, alter b set statistics 10000"""
        for number in range(tables)
    )


@contextmanager
def _changes_of_others(server: Server) -> Iterator[None]:
    """Change a row of each other table again and again: there is always something to analyze."""
    with server.connect() as connection:

        def change() -> None:
            for number in range(OTHER_TABLES):
                connection.execute(f"update other_{number} set id = id where id = 1")

        with disturbances.again_and_again(change, 0.3):
            yield


@contextmanager
def _idle_writers(server: Server) -> Iterator[None]:
    """Leave transactions open, each of which has deleted a row of its own."""
    with ExitStack() as opened:
        for number in range(1, IDLE_SESSIONS + 1):
            connection = opened.enter_context(server.connect())
            connection.execute("begin")
            connection.execute(f"delete from planted where id = {number}")
        # One that is over lies after them all: only then are they looked for in each snapshot.
        with server.connect() as connection:
            connection.execute("select txid_current()")
        yield
