"""Busy processes outside the run: who else uses the CPUs.

Only a process's own CPU time counts; many short-lived ones (a compiler's) appear only in the totals
of the host.
"""

import time
from collections.abc import Callable, Iterable

from dbdyno.host.processes import Process

SHARE_MIN = 0.05
"""The share of one core: periods in which a process uses less are left out."""

_Key = tuple[int, int]


class OtherProcesses:
    """Follows processes; adds up the time that each used while it was busy."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._read_at: float | None = None
        self._used_us: dict[_Key, int] = {}
        self._busy_us: dict[_Key, int] = {}

    def read(self, processes: Iterable[Process]) -> dict[str, int]:
        """Return each process's busy microseconds by ``name/number``.

        A process that was never busy has 0, so that its first busy period counts as an increase,
        too.
        """
        now = self._clock()
        elapsed_us = (now - self._read_at) * 1e6 if self._read_at is not None else float("inf")
        strangers = {(p.pid, p.started): p for p in processes}
        used_us = {key: process.used.cpu_us for key, process in strangers.items()}
        grown_us = {key: us - self._used_us.get(key, 0) for key, us in used_us.items()}
        self._busy_us = {
            key: self._busy_us.get(key, 0) + (us if us > SHARE_MIN * elapsed_us else 0)
            for key, us in grown_us.items()
        }
        self._used_us = used_us
        self._read_at = now
        return {f"{p.name}/{p.pid}": self._busy_us[key] for key, p in strangers.items()}
