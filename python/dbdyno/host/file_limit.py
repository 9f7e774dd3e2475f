"""How many clients the limit on open files allows; the engine raises it, and refuses the rest."""

import os
import resource

from dbdyno.engine import files_beside_clients


def hard_limit() -> int | None:
    """Return the number of files that this process may have open; None without a limit."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return None if files == resource.RLIM_INFINITY else files


def clients_admitted(files: int) -> int:
    """Return the clients that a run with a thread on each CPU may have."""
    return max(files - files_beside_clients(len(os.sched_getaffinity(0))), 0)
