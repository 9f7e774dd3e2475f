"""Functions that real profiles of OLTP loads met, and what they are for."""

from typing import get_args

import pytest

from dbdyno.analysis.processor.subsystems import CLASSES, TITLES, subsystem_of
from dbdyno.databases.known import all_databases
from dbdyno.model.database import FunctionKind, Subsystem, Subsystems
from dbdyno.model.telemetry import TaskClass

POSTGRESQL = """
_bt_compare indexes
_bt_checkkeys indexes
heap_hot_search_buffer rows
heap_page_prune_opt vacuum
hash_search_with_hash_value hash_tables
PostgresMain protocol
pq_getbyte protocol
pfree memory
MemoryContextAllocZero memory
bpchartruelen values
int4ge values
HeapTupleSatisfiesMVCC snapshots
GetSnapshotData snapshots
ReadBufferExtended buffers
LockBuffer buffers
LockAcquireExtended locks
LWLockAcquire internal_locks
s_lock internal_locks
ExecScan execution
ExecInterpExpr execution
ExecFindPartition partitions
AfterTriggerEndQuery triggers
RI_FKey_check_ins triggers
base_yyparse parsing
core_yylex parsing
transformStmt parsing
standard_planner planning
create_index_paths planning
eqsel planning
SearchCatCache1 catalog
GetCachedPlan catalog
XLogInsertRecord log
CommitTransaction transactions
errstart logging
pgstat_report_activity statistics
tuplesort_performsort sorting
InitPostgres connecting
GetCurrentTimestamp clocks
lazy_scan_heap vacuum
main other
"""


@pytest.mark.parametrize("line", POSTGRESQL.split("\n")[1:-1])
def test_functions_of_postgresql(line: str) -> None:
    name, expected = line.split()
    assert subsystem_of(all_databases()["postgresql"], "named", name, "postgres") == expected


@pytest.mark.parametrize(
    ("kind", "name", "of", "expected"),
    [
        ("named", "MYSQLparse(THD*)", "mariadbd", "parsing"),
        ("named", "JOIN::optimize_inner()", "mariadbd", "planning"),
        ("named", "JOIN::exec_inner()", "mariadbd", "execution"),
        ("named", "best_access_path(JOIN*, st_join_table*)", "mariadbd", "planning"),
        ("named", "row_search_mvcc(unsigned char*, page_cur_mode_t)", "mariadbd", "rows"),
        ("named", "btr_cur_t::search_leaf(dtuple_t const*)", "mariadbd", "indexes"),
        ("named", "buf_page_get_gen(page_id_t, unsigned long)", "mariadbd", "buffers"),
        ("named", "MDL_lock::can_grant_lock(enum_mdl_type)", "mariadbd", "locks"),
        ("named", "Field_long::store(long long, bool)", "mariadbd", "values"),
        ("named", "alloc_root", "mariadbd", "memory"),
        ("near", "btr/btr0cur.cc", "mariadbd", "indexes"),
        ("near", "trx/trx0trx.cc", "mariadbd", "transactions"),
        ("near", "trx/trx0purge.cc", "mariadbd", "vacuum"),
        ("near", "trx/trx0i_s.cc", "mariadbd", "internal_locks"),
        ("near", "perfschema/table_uvar_by_thread.cc", "mariadbd", "statistics"),
        ("near", "Wsrep_storage_service::store_globals()", "mariadbd", "storage_engine"),
        ("named", "Wsrep_storage_service::store_globals()", "mariadbd", "replication"),
        ("near", "my_hash_search", "mariadbd", "hash_tables"),
    ],
)
def test_functions_of_mariadb(kind: FunctionKind, name: str, of: str, expected: str) -> None:
    assert subsystem_of(all_databases()["mariadb"], kind, name, of) == expected


@pytest.mark.parametrize(
    ("kind", "name", "of", "expected"),
    [
        ("kernel", "unix_stream_read_generic", "recvfrom", "kernel_network"),
        ("kernel", "finish_task_switch.isra.0", "epoll_wait", "kernel_scheduling"),
        ("kernel", "copy_page_to_iter", "pread64", "kernel_files"),
        ("kernel", "ext4_sync_file", "fdatasync", "kernel_syncs"),
        ("kernel", "clear_page_erms", "exc_page_fault", "kernel_memory"),
        ("kernel", "futex_wake", "futex", "kernel_futexes"),
        (
            "kernel",
            "irqentry_exit_to_user_mode",
            "sysvec_apic_timer_interrupt",
            "kernel_interrupts",
        ),
        ("kernel", "something_new", "", "kernel_other"),
        ("named", "__memcmp_evex_movbe", "libc.so.6", "library"),
        ("named", "_int_malloc", "libc.so.6", "memory"),
        ("named", "textdomain", "libc.so.6", "library"),
        ("named", "EVP_EncryptUpdate", "libcrypto.so.3", "tls"),
        ("unnamed", "", "libLLVM-14.so.1", "compilation"),
        ("jit", "", "", "compilation"),
        ("named", "__vdso_gettimeofday", "[vdso]", "clocks"),
        ("unnamed", "", "surprise.so", "other"),
    ],
)
@pytest.mark.parametrize("database", ["postgresql", "mariadb", "unknown"])
def test_kernel_and_libraries_are_the_same_for_all(
    database: str, kind: FunctionKind, name: str, of: str, expected: str
) -> None:
    assert subsystem_of(all_databases()[database], kind, name, of) == expected


def _twice(table: Subsystems) -> list[str]:
    words = [word for words in table.values() for word in words.split()]
    return sorted({word for word in words if words.count(word) > 1})


@pytest.mark.parametrize("database", ["postgresql", "mysql"])
def test_no_beginning_means_two_things(database: str) -> None:
    assert not _twice(all_databases()[database].subsystems)


def test_every_subsystem_and_every_kind_of_process_has_a_title() -> None:
    assert TITLES.keys() == set(get_args(Subsystem))
    assert CLASSES.keys() == set(get_args(TaskClass))
