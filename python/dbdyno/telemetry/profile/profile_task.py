"""Samples which functions the server's processes run in, with the kernel of this host.

Samples are counted as they come, by second, class of the process and function; they are not kept.
Where the kernel does not permit it, the reason is recorded with what would permit it.
"""

import errno
import os
import pwd
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from dbdyno.engine import Profile, ProfileCount, ProfiledFunction, ProfileTaken
from dbdyno.host import files
from dbdyno.host.processes import read_process
from dbdyno.model.counters import PROFILE
from dbdyno.model.frame import Started
from dbdyno.model.telemetry import ProfileCounts, ProfileFacts, ProfileFunction, TaskClass
from dbdyno.telemetry.load_clock import LoadClock
from dbdyno.telemetry.profile.task_classifier import TaskClassifier
from dbdyno.telemetry.publisher import FramePublisher

SECOND_NS = 1_000_000_000
LOOK_NS = SECOND_NS // 10
"""A process that begins is asked for its title while it exists."""
CALM_NS = SECOND_NS // 2
"""Between looks while the server begins no processes: each takes the load's CPU for a moment."""
FOR_EVER_NS = 2**63
ENDED = "the server's process ended during the load: what came after it was not profiled"

_CPUS = "sys/devices/system/cpu/online"
_PARANOID = "proc/sys/kernel/perf_event_paranoid"


class ProfileTask:
    """The profile of one server, whose first process is ``server`` if it is on this host."""

    name = str(PROFILE)

    def __init__(
        self,
        root: Path,
        server: int | None,
        hz: int,
        classifier: TaskClassifier,
        publisher: FramePublisher,
    ) -> None:
        self._root = root
        self._server = server
        self._hz = hz
        self._classifier = classifier
        self._publisher = publisher
        self._profile: Profile | None = None
        self._functions = 0
        self._began: int | None = None
        self._noted: dict[tuple[int, int], str] = {}
        self._lost = 0

    def prepare(self) -> None:
        """Read the symbols of the server's program, which takes a while."""
        if self._server is None:
            reason = "the server's process is not known: it runs on another host or in a container"
            self._publisher.publish_lack(PROFILE, reason)
            return
        first = read_process(self._root, self._server)
        self._began = None if first is None else first.started
        try:
            self._profile = Profile(self._server, self._hz, cpus(self._root))
        except OSError as error:
            self._publisher.publish_lack(PROFILE, reason_of(error, self._root, self._server))

    def read_baseline(self) -> None:
        """Do nothing: samples are taken from the beginning of the load."""

    def watch(self, started: Started, load_clock: LoadClock) -> None:
        """Look several times a second, and publish each second once it is over."""
        if self._profile is None:
            return
        self._profile.begin(started.measure_begin_ns)
        self._publish_facts(self._profile)
        now_ns = time.monotonic_ns()
        published_ns, pause_ns = now_ns, LOOK_NS
        while load_clock.sleep_until(now_ns + pause_ns):
            now_ns = time.monotonic_ns()
            pause_ns = LOOK_NS if self._profile.look() else CALM_NS
            if now_ns - published_ns >= SECOND_NS:
                self._publish(self._profile.take_before(now_ns - SECOND_NS))
                published_ns = now_ns

    def conclude(self) -> None:
        """Publish the last seconds, and how many samples were lost."""
        if self._profile is not None:
            self._publish(self._profile.take_before(FOR_EVER_NS))
            self._publish_facts(self._profile)
            self._profile = None

    def _publish_facts(self, profile: Profile) -> None:
        facts = ProfileFacts(
            at_ns=time.monotonic_ns(),
            hz=self._hz,
            scope=profile.scope,
            source=profile.source,
            names_kernel=profile.names_kernel,
            lost=self._lost,
        )
        self._publisher.publish(facts)

    def _publish(self, taken: ProfileTaken) -> None:
        first = None if self._server is None else read_process(self._root, self._server)
        if first is None or first.ending or first.started != self._began:
            self._publisher.publish_lack(PROFILE, ENDED)
        self._lost += taken.lost
        for task in taken.tasks:
            self._noted[task.pid, task.tid] = task.title
        functions = list(map(_function, range(self._functions, FOR_EVER_NS), taken.functions))
        self._functions += len(functions)
        self._classifier.refresh()
        counted = self._by_class(taken.counts)
        for second_ns, counts in counted.items() or [(time.monotonic_ns(), Counter())]:
            rows = [(*what, samples) for what, samples in counts.items()]
            if rows or functions:
                self._publisher.publish(ProfileCounts(second_ns, functions, rows))
            functions = []

    def _by_class(
        self, counts: Iterable[ProfileCount]
    ) -> dict[int, Counter[tuple[TaskClass, int]]]:
        """Return the samples of each second, by class and function."""
        classes: dict[tuple[int, int], TaskClass] = {}
        seconds: dict[int, Counter[tuple[TaskClass, int]]] = {}
        for its in counts:
            task = (its.pid, its.tid)
            if task not in classes:
                noted = self._noted.get(task, "")
                classes[task] = self._classifier.classify(*task, noted)
            in_second = seconds.setdefault(its.second_ns, Counter())
            in_second[classes[task], its.function] += its.samples
        return seconds


def _function(number: int, of: ProfiledFunction) -> ProfileFunction:
    is_kernel = of.kind == "kernel"
    where, entry = ("", of.object) if is_kernel else (of.object, "")
    return ProfileFunction(number, of.kind, of.name, where, entry)


def cpus(root: Path) -> list[int]:
    """Return the numbers of the CPUs that are switched on."""
    found: list[int] = []
    for part in (files.text(root / _CPUS) or "0").split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def reason_of(error: OSError, root: Path, server: int) -> str:
    """Return why there is no profile, and what would permit it."""
    level = files.number(root / _PARANOID)
    match error.errno:
        case errno.EACCES if (owner := _other_account(root, server)) is not None:
            return (
                f"the server runs under another account: run dbdyno as root, or as {owner} "
                f"(sudo -u {owner})"
            )
        case errno.EACCES if level is not None and level > 1:
            return (
                f"the kernel does not permit it (kernel.perf_event_paranoid is {level}): "
                "sysctl kernel.perf_event_paranoid=1"
            )
        case errno.EACCES | errno.EPERM:
            return (
                "the kernel does not permit it: in a container, --cap-add PERFMON and a seccomp "
                "profile that permits perf_event_open"
            )
        case errno.ENOSYS:
            return (
                "the kernel has no perf_event_open, or a sandbox hides it: run dbdyno outside "
                "of the sandbox"
            )
        case errno.EMFILE:
            return "the server has more threads than files may be open: ulimit -n 1000000"
        case _:
            return f"the kernel cannot: {error.strerror}"


def _other_account(root: Path, server: int) -> str | None:
    """Return the server's account, if it is not ours and we are not root."""
    try:
        owner = Path(f"{root}/proc/{server}").stat().st_uid
    except OSError:
        return None
    if os.geteuid() in (0, owner):
        return None
    try:
        return pwd.getpwuid(owner).pw_name
    except KeyError:  # an account of a container
        return f"#{owner}"
