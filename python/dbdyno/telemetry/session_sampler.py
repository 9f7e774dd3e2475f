"""Samples the server's sessions at the instants at which the engine reports on its clients.

Sessions and locks are read together, and the locks only if a session waits for one: reading them
takes the locks of the server's own lock table. Where that is expensive, only some samples include
the locks, and each of these stands for the time since the one before. Samples are processed once a
second, all together: processed one by one, each would find the CPU caches full of the load's data.
"""

import time
from collections.abc import Callable, Iterator

from msgspec.structs import replace

from dbdyno.databases.connection import Connection
from dbdyno.databases.telemetry import PendingSample
from dbdyno.model.frame import Started
from dbdyno.model.telemetry import Waits
from dbdyno.telemetry.joining import Joiner, SessionSample
from dbdyno.telemetry.load_clock import LoadClock
from dbdyno.telemetry.pace import Stride
from dbdyno.telemetry.publisher import FramePublisher, error_line
from dbdyno.telemetry.sample_cost import SampleCost
from dbdyno.telemetry.sample_matcher import SampleMatcher
from dbdyno.telemetry.telemetry_connection import TelemetryConnection, Unavailable

SOURCE = "waits"
PUBLISH_INTERVAL_NS = 1_000_000_000


class SessionSampler:
    """Takes samples, and joins each with the engine's frame of the same instant."""

    name = SOURCE

    def __init__(
        self,
        connection: TelemetryConnection,
        matcher: SampleMatcher,
        joiner: Joiner,
        stride: Stride,
        publisher: FramePublisher,
    ) -> None:
        self._connection = connection
        self._matcher = matcher
        self._joiner = joiner
        self._stride = stride
        self._publisher = publisher
        self._cost = SampleCost(connection.served_ns)
        self._without_locks_s = 0.0
        self.samples = self.samples_of_locks = 0

    def prepare(self) -> None:
        """Connect early, while the server still has room for a session."""
        self._connection.call(self._connection.telemetry.pid)

    def read_baseline(self) -> None:
        """Read nothing: a sample shows an instant, not what was before it."""

    def watch(self, started: Started, load_clock: LoadClock) -> None:
        """Sample at every chosen instant until the load ends."""
        begin_ns, interval_ns = started.monotonic_ns, self._stride.interval_ns
        number, before, publish_at_ns = 1, 0, begin_ns + PUBLISH_INTERVAL_NS
        while load_clock.sleep_until(at_ns := begin_ns + number * interval_ns):
            seconds = self._stride.seconds(number - before, self._cost.of_each)
            if self._sample(number, at_ns, seconds, started.measure_end_ns):
                before = number
            if time.monotonic_ns() >= publish_at_ns:
                self._publish_joined()
                publish_at_ns += PUBLISH_INTERVAL_NS
            passed = (time.monotonic_ns() - begin_ns) // interval_ns
            number = self._stride.after(number, passed, self._cost.of_each)
        self._publish_joined()

    def conclude(self) -> None:
        """Report if no sample could be joined."""
        self._matcher.close()
        if self._matcher.samples_lost and not self.samples:
            self._publisher.publish_lack(
                SOURCE, "the engine and the server were never sampled together"
            )

    def _sample(self, number: int, at_ns: int, seconds: float, end_ns: int | None) -> bool:
        """Take a sample; return whether the server answered in time."""
        telemetry = self._connection.telemetry
        alone = None if self._stride.is_at_locks(number) else telemetry.sample_sessions
        began_ns = time.monotonic_ns()
        pending = self._answer(alone or telemetry.sample_with_locks)
        if pending is None:
            return False
        answered_ns = time.monotonic_ns()
        if end_ns is not None and at_ns <= end_ns < answered_ns:
            return False  # the server may have ended sessions that the engine counted at at_ns
        answer_ns = answered_ns - began_ns
        self._cost.add(answer_ns, with_locks=alone is None)
        self._without_locks_s += seconds
        sample = SessionSample(
            at_ns=at_ns, seconds=seconds, cost_us=answer_ns // 1000, pending=pending
        )
        self._matcher.add_sample(sample if alone else self._with_locks(number, sample))
        return True

    def _answer(self, question: Callable[[Connection], PendingSample]) -> PendingSample | None:
        try:
            return self._connection.call(question)
        except Unavailable as unavailable:
            self._publisher.publish_unavailable(str(unavailable))
        except Exception as error:  # the run continues, whatever the error
            self._publisher.publish_lack(SOURCE, error_line(error))
        return None

    def _with_locks(self, number: int, sample: SessionSample) -> SessionSample:
        """Return the sample as one with locks, which stands for the time since the last one."""
        seconds, self._without_locks_s = self._without_locks_s, 0.0
        self._stride.locks_seen(number, self._cost.of_each)
        return replace(sample, locks_seconds=seconds)

    def _publish_joined(self) -> None:
        joined = list(self._joined())
        self._publisher.publish(*joined)
        self.samples += len(joined)
        self.samples_of_locks += sum(its.locks_seconds is not None for its in joined)
        self._cost.add_joined(len(joined))

    def _joined(self) -> Iterator[Waits]:
        for sample, activity in self._matcher.pairs():
            try:
                yield self._joiner.join(sample, activity)
            except Exception as error:  # the run continues, whatever the error
                self._publisher.publish_lack(SOURCE, error_line(error))
