"""A look at the host before a run begins: whether other programs are busy.

A run never waits without being asked: it says who is busy and goes on. With ``--when-quiet`` it
waits until the host has been quiet for some seconds, and gives up after ten minutes, because a run
that was to be undisturbed must not be disturbed after all.
"""

import time
from collections.abc import Callable, Sequence

from dbdyno.analysis.waits.disturbance import NOTICED, busiest_programs
from dbdyno.errors import DbdynoError
from dbdyno.formatting import counted
from dbdyno.host.busyness import Busy, Sample
from dbdyno.run.options.run_options import RunOptions

WAIT_MAX_S = 600.0
QUIET_S = 3.0
"""A program that works in bursts must not look like one that has ended."""
LOOK_EVERY_S = 1.0
SAY_EVERY_S = 15.0


class BeforeRun:
    """The look of one run: it begins with the creation, while other preparation goes on."""

    def __init__(
        self, options: RunOptions, servers: Sequence[int | None], say: Callable[[str], None]
    ) -> None:
        self._options, self._servers, self._say = options, servers, say
        self._first = Sample(servers)

    def look(self) -> None:
        """Report busy programs, or wait for their end; raise if they do not end."""
        busy = self._first.busy()
        if _is_quiet(busy):
            return
        if self._options.when_quiet:
            self._wait(busy)
        elif self._options.disturbance_max < 1:
            self._say(
                f"{_who(busy)}: they will disturb the run, which goes on; --when-quiet waits for "
                "their end"
            )

    def _wait(self, busy: Busy) -> None:
        began_s = said_s = quiet_since_s = time.monotonic()
        self._say(f"{_who(busy)}: waiting for at most {WAIT_MAX_S / 60:.0f} minutes until they end")
        while (now_s := time.monotonic()) - quiet_since_s < QUIET_S:
            if now_s - began_s > WAIT_MAX_S:
                raise DbdynoError(
                    "not_quiet",
                    f"the host was not quiet for {QUIET_S:.0f} s within {WAIT_MAX_S / 60:.0f} "
                    f"minutes: {_who(busy)}",
                    "Stop these programs, or run without --when-quiet: the result tells how much "
                    "they disturbed it.",
                )
            if now_s - said_s >= SAY_EVERY_S:
                said_s = now_s
                self._say(f"{_who(busy)}: still waiting, {began_s + WAIT_MAX_S - now_s:.0f} s left")
            sample = Sample(self._servers)
            time.sleep(LOOK_EVERY_S)
            busy = sample.busy()
            if not _is_quiet(busy):
                quiet_since_s = time.monotonic()
        self._say("the host is quiet: the run begins")


def _is_quiet(busy: Busy) -> bool:
    return busy.used_cores < NOTICED * busy.cores


def _who(busy: Busy) -> str:
    """Who uses how much: ``other programs use 1.40 of 2 CPUs (burn/4242 1.00, …)``."""
    of = f"of {counted(busy.cores, 'CPU')}"
    programs = {f"{name}/{pid}": cores for name, pid, cores in busy.programs}
    uses = {
        f"other programs use {{}} {of} ({busiest_programs(programs, 0.0)})": sum(programs.values()),
        f"the hypervisor withholds {{}} {of} (steal)": busy.stolen_cores,
    }
    said = [use.format(f"{cores:.2f}") for use, cores in uses.items() if cores > 0]
    return " and ".join(said) or f"other programs use 0 {of}"
