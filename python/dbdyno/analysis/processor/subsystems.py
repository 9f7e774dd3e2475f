"""What a function that a profile met is for.

A database declares it for its own functions and libraries. The kernel and the common libraries
serve every database alike, and are here: for the kernel it matters how the process came into it
(the system call, the fault, the interrupt), except for the work of putting processes to sleep and
waking them, which is the same whoever waits for what.
"""

from collections.abc import Mapping
from functools import cache

from dbdyno.model.database import Database, FunctionKind, Subsystem, Subsystems

TITLES: Mapping[str, str] = {
    "protocol": "protocol and statement handling",
    "parsing": "parsing",
    "planning": "planning",
    "partitions": "choice of partitions",
    "execution": "execution",
    "values": "data types",
    "procedures": "procedures and functions",
    "triggers": "triggers and foreign keys",
    "indexes": "indexes",
    "rows": "rows",
    "buffers": "page cache",
    "storage_engine": "storage engine",
    "locks": "locks",
    "internal_locks": "internal locks",
    "transactions": "transactions",
    "snapshots": "snapshots and visibility",
    "log": "log of changes",
    "catalog": "catalog and plan caches",
    "hash_tables": "hash tables",
    "memory": "memory allocation",
    "logging": "server log",
    "statistics": "statistics and instrumentation",
    "compilation": "compilation (JIT)",
    "sorting": "sorting",
    "connecting": "connecting",
    "tls": "TLS",
    "compression": "compression",
    "vacuum": "vacuum or purge",
    "replication": "replication",
    "clocks": "clocks and timers",
    "library": "C library",
    "kernel_network": "kernel: sockets",
    "kernel_files": "kernel: reads and writes of files",
    "kernel_syncs": "kernel: syncs",
    "kernel_scheduling": "kernel: sleeping and waking",
    "kernel_memory": "kernel: memory",
    "kernel_futexes": "kernel: futexes",
    "kernel_interrupts": "kernel: interrupts",
    "kernel_processes": "kernel: processes",
    "kernel_other": "kernel: other",
    "other": "other",
}
"""Of subsystems, for people."""

CLASSES: Mapping[str, str] = {
    "client": "sessions of the load",
    "foreign": "other sessions",
    "telemetry": "dbdyno's own sessions",
    "cleanup": "vacuum or purge",
    "writer": "checkpoints and page writers",
    "wal": "log writers",
    "logger": "logger",
    "worker": "workers (I/O, parallel)",
    "rest": "the rest",
}
"""Of kinds of processes or threads (``TaskClass``), for people."""

_LIBRARIES: Subsystems = {
    "library": "[libc. [libc- [libm. [libpthread [libstdc++ [libgcc [librt",
    "memory": (
        "[libjemalloc [libtcmalloc [libmimalloc malloc( cfree free( calloc( realloc( "
        "_int_malloc _int_free _int_realloc __libc_malloc __libc_free malloc_consolidate "
        "unlink_chunk sysmalloc tcache_ __default_morecore operator"
    ),
    "clocks": "[vdso] [[vdso] __vdso_ clock_gettime gettimeofday",
    "tls": "[libssl [libcrypto [libgnutls [libwolfssl",
    "compression": "[libz. [liblz4 [libzstd [libsnappy",
    "compilation": "[libLLVM",
    "values": "[libicu strcoll __strcoll strxfrm",
    "connecting": "[ld-",
}
"""By functions and files of libraries that serve many servers; the server's own come first."""

_WAYS_IN: Subsystems = {
    "kernel_network": (
        "recv send epoll_ ep_ poll( ppoll do_sys_poll select( pselect accept connect( socket "
        "shutdown( getsockopt setsockopt getpeername net_rx unix_"
    ),
    "kernel_files": (
        "read( pread preadv readv write( pwrite pwritev writev lseek open openat close "
        "fallocate ftruncate truncate fadvise io_ stat fstat newfstat statx rename unlink mkdir "
        "getdents readahead copy_file_range sendfile"
    ),
    "kernel_syncs": "fsync fdatasync sync_file_range sync( msync syncfs",
    "kernel_scheduling": "exit_to_user sched_ nanosleep clock_nanosleep pause( schedule",
    "kernel_memory": (
        "exc_page_fault do_user_addr_fault mmap munmap mprotect brk madvise mremap page_fault"
    ),
    "kernel_futexes": "futex semop semtimedop semctl",
    "kernel_interrupts": (
        "sysvec_ common_interrupt irq handle_irq exc_nmi do_IRQ reschedule apic asm_sysvec"
    ),
    "kernel_processes": (
        "clone vfork fork exec exit wait4 waitid kill tgkill setitimer getppid getpid rt_sig "
        "set_robust arch_prctl prctl"
    ),
    "clocks": "gettimeofday clock_gettime times( getrusage timer_",
}
_SLEEPING: Subsystems = {
    "kernel_scheduling": (
        "schedule __schedule finish_task_switch pick_next pick_task pick_eevdf dequeue_ "
        "enqueue_ try_to_wake_up ttwu_ update_curr update_load update_rq select_task_rq "
        "set_next_ put_prev_ switch_mm switch_fpu __switch_to load_balance newidle psi_ "
        "place_entity check_preempt wakeup_preempt reweight_ sched_ cpuacct_ "
        "native_smp_send_reschedule resched_ context_switch prepare_task_switch "
        "available_idle_cpu sugov_ update_se avg_vruntime __pick rseq_ __rseq"
    ),
}
"""By the kernel's innermost function, whichever the way in."""


@cache
def _by_beginning(table: tuple[tuple[Subsystem, str], ...]) -> tuple[dict[str, Subsystem], int]:
    found = {word: subsystem for subsystem, words in table for word in words.split()}
    return found, max(map(len, found), default=0)


def _of(name: str, table: Subsystems) -> Subsystem | None:
    """The one with the longest beginning of this name; ``name(`` means the whole of it."""
    known, longest = _by_beginning(tuple(table.items()))
    whole = f"{name}("
    for length in range(min(len(whole), longest), 0, -1):
        if found := known.get(whole[:length]):
            return found
    return None


def subsystem_of(database: Database, kind: FunctionKind, name: str, of: str) -> Subsystem:
    """What a function is for.

    ``name`` is its own, or for one without a name (``near``) that of the one before it; ``of`` is
    the file's name, or the way into the kernel.
    """
    if kind == "jit":
        return "compilation"
    if kind == "kernel":
        return _of(name, _SLEEPING) or _of(of, _WAYS_IN) or "kernel_other"
    own, its = database.subsystems, f"[{of}]"
    if found := _of(its, own):
        return found
    if library := _of(its, _LIBRARIES):
        return _of(name, _LIBRARIES) or library
    unnamed = _of(f"~{name}", own) if kind == "near" else None
    return unnamed or _of(name, own) or _of(name, _LIBRARIES) or "other"
