"""CockroachDB: what differs from PostgreSQL, whose protocol it speaks.

From its documentation (v24); never run against a server here. It keeps its data in ranges, each
replicated by Raft and stored in an LSM tree: there is no vacuum, no checkpoint and no WAL with
counters of its own.
"""

from msgspec.structs import replace

from dbdyno.databases.postgresql.database import ISOLATION
from dbdyno.model.database import Database, Terms

TERMS = Terms(
    log="Raft log",
    pooler="a pool in the application",
    end_session="Find it (crdb_internal.cluster_locks, SHOW SESSIONS) and end it: COMMIT, or "
    "CANCEL SESSION.",
    end_by_itself="idle_in_transaction_session_timeout for the blocker, lock_timeout for the "
    "waiters",
    online_ddl="A schema change runs in the background and lets others write; start it while there "
    "is little load.",
    full_reads=frozenset({"scan"}),
    put_off="splits and moves of ranges, compactions, garbage collection of old versions",
    against_conflicts=(
        "Let the application retry SQLSTATE 40001 as well (here: --max-tries): at SERIALIZABLE, "
        "the default, each client has to expect it.",
        "Lock the rows to be changed in the first statement of the transaction (SELECT … FOR "
        "UPDATE): others then queue instead of failing.",
        "Read reports AS OF SYSTEM TIME follower_read_timestamp(): they conflict with no writer, "
        "and the nearest replica answers.",
    ),
)

DATABASE = Database(
    name="cockroachdb",
    title="CockroachDB",
    protocol="postgresql",
    product="cockroachdb",
    known_from="documentation",
    says=r"^CockroachDB",
    capabilities=frozenset({"function_indexes"}),
    terms=TERMS,
    isolation=replace(ISOLATION, levels=("read-committed", "serializable")),
)
