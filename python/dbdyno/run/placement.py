"""Where a run's server and engine are placed: set, verified once they run, and recorded.

A placement that the kernel did not apply is an error: the results would be attributed to another.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from dbdyno.errors import DbdynoError
from dbdyno.host.cpu import numa_nodes
from dbdyno.host.describe import ROOT
from dbdyno.host.placement import memory_by_node, verified
from dbdyno.run.options.run_options import RunOptions
from dbdyno.run.plan import cores_available
from dbdyno.servers.base import Server
from dbdyno.servers.groups import Group
from dbdyno.servers.placement import ANYWHERE, Cpus
from dbdyno.servers.private import PrivateServer


@contextmanager
def on_cpus(wanted: Cpus | None) -> Iterator[None]:
    """What is started within the block runs only on these CPUs."""
    if wanted is None:
        yield
        return
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, wanted.numbers)
        if os.sched_getaffinity(0) != set(wanted.numbers):
            raise DbdynoError(
                "placement_refused",
                f"the kernel did not bind the engine to CPUs {wanted}",
                "dbdyno may be running in a cpuset with fewer CPUs",
            )
        yield
    finally:
        os.sched_setaffinity(0, before)


class PlacementRecord:
    """The requested placement, the observed one, and the server's memory by node, begin and end."""

    def __init__(self, server: Server, options: RunOptions) -> None:
        """Verify the placement at once: the server has started."""
        self._process_id = server.process_id
        self._memory: dict[str, dict[str, int]] = {}
        placement, groups = ANYWHERE, tuple[Group, ...]()
        if isinstance(server, PrivateServer):
            placement, groups = server.placement, server.guard.groups
        self._requested = placement.as_options()
        # To report this, the kernel walks all of the server's pages: seconds, if its memory is
        # large.
        self._is_memory_recorded = placement.numa is not None or numa_nodes(ROOT) > 1
        if options.engine_cpus:
            self._requested["engine-cpus"] = str(options.engine_cpus)
        self.verified = verified(placement, groups, server.process_id)

    def record_memory(self, when: Literal["begin", "end"]) -> None:
        """Record on which nodes the server's memory is, before the load or after it.

        Omitted on a host with a single node, where it can be nowhere else, unless a policy was
        requested.
        """
        if self._process_id is not None and self._is_memory_recorded:
            self._memory[when] = memory_by_node(self._process_id)

    def as_record(self) -> dict[str, Any]:
        """Return the contents for ``server.json``."""
        return {
            "asked": self._requested,
            "verified": self.verified,
            "memory_by_node_bytes": self._memory,
        }


def placement_doubts(server: Server, options: RunOptions) -> list[str]:
    """Return a doubt if load generator and server share cores and so take each other's CPU time."""
    if server.process_id is None:
        return []
    everywhere = Cpus(tuple(sorted(os.sched_getaffinity(0))))
    engine = set((options.engine_cpus or everywhere).numbers)
    placed = server.placement.server_cpus if isinstance(server, PrivateServer) else None
    shared = engine & set((placed or everywhere).numbers)
    if not shared:
        return []
    return [
        f"the load generator and the server share {len(shared)} of the {cores_available()} cores "
        "of this host: each takes CPU time from the other"
    ]
