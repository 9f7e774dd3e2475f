"""Where a run's server and engine are: put there, verified once they run, and written down.

A placement that the kernel did not keep to is an error: its numbers would be told of another.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from dbdyno.errors import DbdynoError
from dbdyno.host.cpu import numa_nodes
from dbdyno.host.describe import ROOT
from dbdyno.host.placement import memory_by_node, verified
from dbdyno.run.options import RunOptions
from dbdyno.run.plan import cores_available
from dbdyno.servers.base import Server
from dbdyno.servers.groups import Group
from dbdyno.servers.placement import ANYWHERE, Cpus, refuse_missing_cpus
from dbdyno.servers.private import PrivateServer


def refuse_missing_engine_cpus(options: RunOptions) -> None:
    """Before there is a server that would have started for nothing."""
    if options.engine_cpus:
        refuse_missing_cpus("--engine-cpus", options.engine_cpus)


@contextmanager
def on_cpus(wanted: Cpus | None) -> Iterator[None]:
    """What is started within the block runs on these processors alone."""
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
    """What was asked for, what was seen, and where the server's memory was, begin and end."""

    def __init__(self, server: Server, options: RunOptions) -> None:
        """Verifies it at once: the server has started."""
        self._process_id = server.process_id
        self._memory: dict[str, dict[str, int]] = {}
        placement, groups = ANYWHERE, tuple[Group, ...]()
        if isinstance(server, PrivateServer):
            placement, groups = server.placement, server.guard.groups
        self._asked = placement.told()
        # The kernel walks all of the server's pages to tell it: seconds, where memory is large.
        self._is_memory_told = placement.numa is not None or numa_nodes(ROOT) > 1
        if options.engine_cpus:
            self._asked["engine-cpus"] = str(options.engine_cpus)
        self.verified = verified(placement, groups, server.process_id)

    def look(self, when: Literal["begin", "end"]) -> None:
        """Sees where the server's memory is, before the load and after it.

        Not on a machine with one node, unless a policy was asked for: there it can be nowhere else.
        """
        if self._process_id is not None and self._is_memory_told:
            self._memory[when] = memory_by_node(self._process_id)

    def told(self) -> dict[str, Any]:
        """As ``server.json`` has it."""
        return {
            "asked": self._asked,
            "verified": self.verified,
            "memory_by_node_bytes": self._memory,
        }


def placement_doubts(server: Server, options: RunOptions) -> list[str]:
    """On the same cores, the load takes processor time from the server."""
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
