"""Citus: PostgreSQL with an extension that spreads tables over workers.

From its documentation (v12); never run against a server here. What is read from the server is the
coordinator's: its workers have counters of their own.
"""

from msgspec.structs import replace

from dbdyno.databases.postgresql.database import DATABASE as POSTGRESQL

TERMS = replace(
    POSTGRESQL.terms,
    put_off=f"{POSTGRESQL.terms.put_off}, moves of shards",
    end_session="Find it (citus_lock_waits, citus_stat_activity) and end it: COMMIT, or "
    "pg_terminate_backend(global_pid).",
    online_ddl="DDL on a distributed table locks it on every worker: use CREATE INDEX "
    "CONCURRENTLY, or run it while there is little load.",
    against_conflicts=(
        "Let the application retry SQLSTATE 40001 and 40P01 as well (here: --max-tries).",
        "Keep transactions to the shards of one distribution key: snapshots, and SERIALIZABLE, "
        "hold on each worker alone.",
    ),
)

DATABASE = replace(
    POSTGRESQL,
    name="citus",
    title="Citus",
    base="postgresql",
    product="citus",
    known_from="documentation",
    witness="select count(*) from pg_catalog.pg_extension where extname = 'citus'",
    capabilities=POSTGRESQL.capabilities - {"predicate_locks", "all_waits_named"},
    terms=TERMS,
)
