"""TiDB: what differs from MySQL, whose protocol it speaks.

From its documentation (v8); never run against a server here. It keeps its data in regions, each
replicated by Raft and stored in an LSM tree: there is no InnoDB, and no lock on what lies between
rows.
"""

from msgspec.structs import replace

from dbdyno.databases.mysql.database import ISOLATION
from dbdyno.model.database import Database, Terms

TERMS = Terms(
    log="Raft log",
    pooler="ProxySQL, TiProxy",
    end_session="Find it (information_schema.data_lock_waits, cluster_tidb_trx) and end it: "
    "COMMIT, or KILL its session.",
    end_by_itself="innodb_lock_wait_timeout for the waiters, tidb_idle_transaction_timeout for "
    "the blocker",
    online_ddl="DDL runs in the background and lets others write; start it while there is little "
    "load.",
    create_index="CREATE INDEX {table}_{name} ON {table} ({key});",
    full_reads=frozenset({"TableFullScan"}),
    put_off="splits and moves of regions, compactions, garbage collection of old versions",
    against_conflicts=(
        "Let the application retry errors 1213, 8002, 8022 and 9007 as well (here: --max-tries), "
        "or use pessimistic transactions (tidb_txn_mode), which wait for locks.",
        "Read reports AS OF TIMESTAMP, or with tidb_read_staleness: they conflict with no writer, "
        "and followers can answer.",
    ),
)

DATABASE = Database(
    name="tidb",
    title="TiDB",
    protocol="mysql",
    base="mysql",
    product="tidb",
    known_from="documentation",
    says="TiDB",
    capabilities=frozenset({"function_indexes"}),
    terms=TERMS,
    # READ ONLY is one of the statements that it takes without effect, or refuses.
    isolation=replace(ISOLATION, levels=("read-committed", "repeatable-read"), read_only=""),
)
