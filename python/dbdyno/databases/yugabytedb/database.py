"""YugabyteDB: PostgreSQL's query layer over a storage of its own.

From its documentation (2024.1); never run against a server here. Its tables are tablets, each
replicated by Raft and stored in an LSM tree: VACUUM does nothing, there is no autovacuum, no
checkpoint, no HOT and no pg_stat_wal.
"""

from dbdyno.databases.postgresql.database import ISOLATION
from dbdyno.model.database import Database, Terms

TERMS = Terms(
    log="Raft log",
    session="process",
    pooler="its connection manager",
    end_session="Find it (pg_locks, yb_get_current_transaction_priority(), pg_stat_activity) and "
    "end it: COMMIT, or pg_terminate_backend(pid).",
    end_by_itself="idle_in_transaction_session_timeout for the blocker, lock_timeout for the "
    "waiters",
    online_ddl="CREATE INDEX lets others write; run other DDL while there is little load.",
    full_reads=frozenset({"Seq Scan", "YB Seq Scan"}),
    put_off="splits and moves of tablets, compactions",
    against_conflicts=(
        "Let the application retry SQLSTATE 40001 as well (here: --max-tries), also at READ "
        "COMMITTED if yb_enable_read_committed_isolation is off.",
        "Lock the rows to be changed in the first statement of the transaction (SELECT … FOR "
        "UPDATE), and enable wait queues: others then queue instead of failing.",
        "Read reports in read-only transactions with yb_read_from_followers = on: the nearest "
        "replica answers.",
    ),
)

DATABASE = Database(
    name="yugabytedb",
    title="YugabyteDB",
    protocol="postgresql",
    base="postgresql",
    product="yugabytedb",
    known_from="documentation",
    says=r"^PostgreSQL \d.*-YB-",
    capabilities=frozenset({"function_indexes"}),
    terms=TERMS,
    isolation=ISOLATION,
)
