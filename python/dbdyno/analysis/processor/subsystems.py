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

MEANINGS: Mapping[str, str] = {
    "protocol": "reading requests, writing replies, and leading from one to the other",
    "parsing": "from text to a tree, from names to tables and columns, from views to their queries",
    "planning": "the choice of a plan",
    "partitions": "which of many partitions a statement needs",
    "execution": "the steps of a plan, without what they call",
    "values": "arithmetic, comparison and conversion of data types and characters",
    "procedures": "languages of functions and procedures",
    "triggers": "triggers, and foreign keys, which are checked by triggers or like them",
    "indexes": "finding, adding and removing entries of indexes",
    "rows": "pages of tables: finding, reading and changing rows",
    "buffers": "the server's own cache of pages, and its files",
    "storage_engine": "rows, indexes and page cache, where functions do not tell which of them",
    "locks": "locks of rows, tables and names",
    "internal_locks": "short locks on the server's own memory: latches, mutexes, spinlocks",
    "transactions": "beginning, committing and rolling back",
    "snapshots": "which transactions are running, and which versions of a row are seen",
    "log": "the log that commits wait for: WAL, redo log, binary log",
    "catalog": "caches of definitions and of plans",
    "hash_tables": "hash tables that many others use",
    "memory": "allocating and freeing memory",
    "logging": "messages that are written for people to read",
    "statistics": "counts and times that the server keeps of itself",
    "compilation": "compiling expressions to machine code, and that code",
    "sorting": "sorting rows",
    "connecting": "logins, and sessions that begin or end",
    "tls": "encryption, of connections above all",
    "compression": "compressing and decompressing",
    "vacuum": "removing rows that nobody sees any more",
    "replication": "sending changes to other servers and applying theirs",
    "clocks": "reading the time, timers, alarms",
    "library": "the libraries of C and C++, without what has a subsystem of its own",
    "kernel_network": "system calls on sockets, and waiting for them",
    "kernel_files": "system calls that read, write, open and close files, with the copies from and "
    "to the kernel's cache",
    "kernel_syncs": "system calls that wait until data is on stable storage",
    "kernel_scheduling": "putting processes to sleep and waking them, whatever they wait for",
    "kernel_memory": "page faults, and system calls that map memory",
    "kernel_futexes": "system calls on futexes and semaphores, by which processes wait for locks",
    "kernel_interrupts": "what interrupted the process: devices, timers, other CPUs",
    "kernel_processes": "starting and ending processes and threads, signals",
    "kernel_other": "any other way into the kernel",
    "other": "what matches nothing",
}
"""Of subsystems, in a few words."""

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

LIBRARIES: Subsystems = {
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

WAYS_IN: Subsystems = {
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
SLEEPING: Subsystems = {
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
        return _of(name, SLEEPING) or _of(of, WAYS_IN) or "kernel_other"
    own, its = database.subsystems, f"[{of}]"
    if found := _of(its, own):
        return found
    if library := _of(its, LIBRARIES):
        return _of(name, LIBRARIES) or library
    unnamed = _of(f"~{name}", own) if kind == "near" else None
    return unnamed or _of(name, own) or _of(name, LIBRARIES) or "other"
