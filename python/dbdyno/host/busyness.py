"""How busy other programs keep this host: sampled once, over a fraction of a second.

The run's own processes and their descendants do not count, nor do the kernel's threads, which may
still be writing what was just loaded, nor programs that ended before they could be read twice.
"""

import os
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from dbdyno.host import cpu, files
from dbdyno.host.describe import ROOT
from dbdyno.host.processes import TICK_US, ProcessTable

SAMPLE_S = 0.25
"""The kernel counts in ticks of usually 10 ms: this tells 4 % of a core."""
_STEAL = 7


class Busy(Struct, frozen=True, kw_only=True):
    """What others used of the host's ``cores`` while they were watched."""

    cores: int
    stolen_cores: float
    programs: Sequence[tuple[str, int, float]]
    """Name, process number and cores, the busiest first."""

    @property
    def used_cores(self) -> float:
        """The cores that other programs and the hypervisor used together."""
        return self.stolen_cores + sum(cores for _, _, cores in self.programs)


class Sample:
    """Watches from its creation to :meth:`busy`; in between, other work can be done."""

    def __init__(
        self,
        own: Iterable[int | None],
        root: Path = ROOT,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._own = [pid for pid in own if pid is not None]
        self._root, self._clock, self._sleep = root, clock, sleep
        self._table = ProcessTable(root, clock)
        self._begin_s = clock()
        self._begin_ticks = self._ticks()
        self._before_us = {its.pid: its.used.cpu_us for its in self._table.listed().values()}

    def busy(self) -> Busy:
        """Return what others used since; wait if that was less than the sample's length ago."""
        self._sleep(max(self._begin_s + SAMPLE_S - self._clock(), 0.0))
        listed = self._table.listed(fresh=True)
        own = {its.pid for first in (os.getpid(), *self._own) for its in self._table.tree(first)}
        others = self._table.again(
            its for its in listed.values() if its.pid not in own and not its.of_kernel
        )
        seconds = self._clock() - self._begin_s
        used = [
            (its.name, its.pid, (its.used.cpu_us - self._before_us.get(its.pid, 0)) / 1e6 / seconds)
            for its in others
        ]
        ticks, before = self._ticks(), self._begin_ticks
        is_known = len(ticks) > _STEAL and len(before) > _STEAL
        stolen = ticks[_STEAL] - before[_STEAL] if is_known else 0
        return Busy(
            cores=os.cpu_count() or 1,
            stolen_cores=max(stolen, 0) * TICK_US / 1e6 / seconds,
            programs=sorted((one for one in used if one[2] > 0), key=lambda one: -one[2]),
        )

    def _ticks(self) -> list[int]:
        return cpu.times(files.text(f"{self._root}/proc/stat") or "")
