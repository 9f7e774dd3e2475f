"""A load that several engines share, as one engine: their frames become one stream.

Rust adds up what they counted (:func:`dbdyno.engine.sum_of`); here it is decided what the others
mean for the whole: who is ready, who is lost, how it ended. All begin at one instant, of which each
agent is told the time of its own clock; the offset is then the same for all that it reports.
"""

import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any

import msgspec
from msgspec.structs import replace

from dbdyno import engine
from dbdyno.fleet.agents import Agent, Arrivals, Arrived
from dbdyno.fleet.clocks import Drift, Offset
from dbdyno.fleet.hosts import Share, full_hosts, is_here, processors
from dbdyno.fleet.pulse import EVERY_S, Pulse
from dbdyno.fleet.shares import clients_of
from dbdyno.model.frame import (
    Activity,
    Connected,
    Connecting,
    Done,
    Failed,
    Frame,
    Hello,
    Note,
    Outage,
    OutageBegun,
    Started,
    Statement,
    Transactions,
)
from dbdyno.model.frame.parts import Greeting, PartBegun, PartConnected, PartInterval
from dbdyno.model.plan import Plan
from dbdyno.model.worker import WorkerPart

LEAD_NS = 100_000_000
"""The time between the decision to begin and the beginning, beside four ways over the network."""
AWAITED_MIN_S = 8.0
AWAITED_INTERVALS = 4
"""How long the others wait for an agent's numbers, at least: whoever reads the whole waits longer
for a frame of it, and then ends them all."""
NAMED_MAX = 5
"""So many of those for which the others wait are named."""
SAID_MAX, SAID_PER_S = 10_000, 1000
"""How often an agent may say the same beside its numbers: more would fill whatever keeps it."""
_ONCE = (Greeting, Hello, PartConnected, PartBegun, Started, Done, Failed)
_BESIDE = (Connecting, Note, OutageBegun, Outage, Statement, Transactions)
_NUMBERS = (PartInterval, Activity)
_decode = msgspec.msgpack.Decoder(Frame).decode
_Out = tuple[bytes, Frame]


@dataclass(eq=False)
class _Part:
    """What is known of one agent's part."""

    agent: Agent
    threads: list[int]
    offset: Offset
    drift: Drift
    hello: Hello | None = None
    is_connected: bool = False
    started: Started | None = None
    begun_late_ns: int | None = None
    last: PartInterval | None = None
    awaited: PartInterval | None = None
    awaited_s: float = 0.0
    """For how long the others have waited for what follows this interval, by the naps of
    :class:`Pulse`, whose thread alone counts."""
    done: Done | None = None
    failed: Failed | None = None
    lost_at_s: float | None = None
    why_lost: str = ""
    outages: dict[int, OutageBegun] = field(default_factory=dict)
    """Those of its threads that have not ended, by when they began: all that both frames tell."""
    is_over: bool = False
    said: Counter[type] = field(default_factory=lambda: Counter([Greeting]))
    """How many frames of each kind it has sent."""

    def note_outage(self, frame: Frame) -> None:
        """Note whether a thread of it has lost its connections, or has them again."""
        if isinstance(frame, OutageBegun):
            self.outages[frame.at_ns] = frame
        elif isinstance(frame, Outage):
            self.outages.pop(frame.begin_ns, None)


@dataclass
class _State:
    """What is known of the whole."""

    connecting: set[int] = field(default_factory=set)
    begin_ns: int = 0
    has_begun: bool = False
    """Whether it was told that all have begun."""
    stopped_by: _Part | None = None
    """The part whose end made the others stop."""


class RunningFleet:
    """Engines that share a load. Iterating yields each frame of the whole, until all have ended."""

    def __init__(  # noqa: PLR0913 - what a fleet knows
        self,
        *,
        plan: Plan,
        hands: Sequence[list[int]],
        agents: Sequence[Agent],
        offsets: Sequence[Offset],
        arrivals: Arrivals,
        goes_on_without: bool,
        log: IO[str],
    ) -> None:
        self._plan = plan
        self._parts = [
            _Part(agent, hand, offset, Drift(offset))
            for agent, hand, offset in zip(agents, hands, offsets, strict=True)
        ]
        self._arrivals = arrivals
        self._goes_on_without = goes_on_without
        self._log = log
        self._state = _State()
        self._sum: engine.Sum | None = None
        self._counters: list[str] = []
        self._from_s = time.monotonic()
        # Set by signals, which may come while this thread holds any lock.
        self._is_killed = False
        self._is_stop_wanted = False
        self._telling = threading.Lock()
        """Each learns first that it begins, then that it stops."""

    def __iter__(self) -> Iterator[_Out]:
        """Yield (bytes of the frame, frame); the load begins as that of one engine does."""
        with Pulse([part.agent for part in self._parts], self._beat) as pulse:
            while not all(part.is_over for part in self._parts):
                arrived = self._arrivals.get()
                part = self._parts[arrived.agent.number]
                if part.is_over:
                    continue
                for raw, frame in self._understood(part, arrived):
                    yield raw, frame
                    if isinstance(frame, Connected):
                        self._begin()
                    if isinstance(frame, Failed):
                        self._keep_printed()
                        self.abandon()
                        return
                if part.is_over:
                    pulse.forget(part.agent)
            if not self._is_killed:
                yield from self._end()
        self._keep_printed()

    def stop(self) -> None:
        """Ask for an early end: nothing new starts, transactions in flight get their grace."""
        self._is_stop_wanted = True

    def served_by(self, tasks: Mapping[int, int]) -> None:
        """Ignore it: clients of a shared load stay on their threads."""

    def awaited(self) -> str:
        """Say for which agents the others wait, and for what of them."""
        going = [part for part in self._parts if not part.is_over]
        steps = (
            ("did not take its part", [part for part in going if part.hello is None]),
            ("did not connect its clients", [part for part in going if not part.is_connected]),
            ("did not begin", [part for part in going if part.started is None]),
            ("sent no further numbers", self._behind()),
        )
        for what, parts in steps:
            if parts:
                names = ", ".join(part.agent.name for part in parts[:NAMED_MAX])
                more = f" and {len(parts) - NAMED_MAX} others" if len(parts) > NAMED_MAX else ""
                said = f"worker {names}{more} {what}"
                return parts[0].agent.with_last_line(said) if len(parts) == 1 else said
        return ""

    def kill(self) -> None:
        """End all at once, and the frames with them; does not wait."""
        self._is_killed = True

    def abandon(self) -> None:
        """End all at once and wait until they have ended."""
        self._is_killed = True
        self._give_up_all()
        for part in self._parts:
            part.agent.close()

    def _give_up_all(self) -> None:
        for part in self._parts:
            part.agent.give_up("it was ended")

    def workers(self) -> list[WorkerPart]:
        """Return what each agent did."""
        return [self._worker(part) for part in self._parts]

    def _worker(self, part: _Part) -> WorkerPart:
        counters = part.last.tally.counters if part.last else None
        plan, done, greeting = self._plan, part.done, part.agent.greeting
        assert greeting is not None, "it was asked before the load began"
        return WorkerPart(
            name=part.agent.name,
            host=greeting.host,
            clients=clients_of(part.threads, plan.threads, plan.clients),
            threads=len(part.threads),
            transactions=done.counters.ok if done else counters.ok if counters else 0,
            cpu_us=done.cpu_us if done else None,
            response=done.response if done else None,
            clock_offset_ns=part.offset.offset_ns,
            clock_bound_ns=part.offset.bound_ns,
            clock_drifted_ns=part.drift.drifted_ns,
            begun_late_ns=part.begun_late_ns,
            lost_at_s=part.lost_at_s,
            why_lost=part.why_lost,
        )

    def _beat(self) -> None:
        if self._is_stop_wanted:
            self._is_stop_wanted = False
            self._stop_all()
        if self._is_killed:
            self._give_up_all()
        if self._state.has_begun:
            self._lose_the_awaited()

    def _lose_the_awaited(self) -> None:
        """Lose those for whose next interval the others have waited for too long."""
        awaited_max_s = max(AWAITED_MIN_S, AWAITED_INTERVALS * self._plan.interval_ns / 1e9)
        for part in self._behind():
            if part.awaited is not part.last:
                part.awaited, part.awaited_s = part.last, 0.0
            # What has arrived and is not read yet may be what the others wait for.
            if not self._arrivals.may_have_of(part.agent):
                part.awaited_s += EVERY_S
            if part.awaited_s >= awaited_max_s:
                part.awaited_s = 0.0
                part.agent.give_up(f"its numbers did not come for {awaited_max_s:g} s")

    def _behind(self) -> list[_Part]:
        """Return the parts whose last interval is the earliest."""
        ends_ns = {
            part: part.last.end_ns - part.offset.offset_ns if part.last else 0
            for part in self._parts
            if not part.is_over
        }
        first_ns = min(ends_ns.values(), default=0) + self._plan.interval_ns // 2
        return [part for part, end_ns in ends_ns.items() if end_ns < first_ns]

    def _soon(self) -> int:
        """Return an instant of which the slowest has certainly learned before."""
        return (
            time.monotonic_ns() + LEAD_NS + 2 * max(it.offset.round_trip_ns for it in self._parts)
        )

    def _begin(self) -> None:
        """Let all begin together."""
        with self._telling:
            self._state.begin_ns = self._soon()
            for part in self._parts:
                part.agent.send({"begin_at": self._state.begin_ns + part.offset.offset_ns})

    def _stop_all(self) -> None:
        """Let all stop together: else their last intervals would not be the same ones."""
        with self._telling:
            end_ns = self._soon()
            for part in self._parts:
                if not part.is_over:
                    at = {"stop_at": end_ns + part.offset.offset_ns}
                    part.agent.send(at if self._state.begin_ns else "stop")

    def _understood(self, part: _Part, arrived: Arrived) -> list[_Out]:
        """What a frame means for the whole; an agent whose frame means nothing is lost."""
        try:
            return list(self._take(part, arrived))
        except ValueError as error:
            why = f"it sent what no agent does: {error}"
            part.agent.give_up(why)
            return list(self._lose(part, why))

    def _take(self, part: _Part, arrived: Arrived) -> Iterator[_Out]:
        for offset in part.agent.taken_offsets():
            part.drift.take(time.monotonic_ns(), offset)
        if arrived.frame is None:
            yield from self._lose(part, arrived.end)
            return
        self._refuse_what_no_agent_says(part, arrived.frame)
        number, shift = part.agent.number, -part.offset.offset_ns
        at = (shift, self._state.begin_ns, time.monotonic_ns())
        match arrived.frame:
            case PartInterval() as interval:
                yield from _decoded(self._total.interval(number, at, arrived.raw))
                part.last = interval
                for slow in self._total.too_slow():
                    self._parts[slow].agent.give_up("it is too far behind the others")
            case Activity():
                yield from _decoded(self._total.activity(number, at, arrived.raw))
            case PartConnected():
                part.is_connected = True
                self._state.connecting.clear()
                yield from _decoded(self._total.connected(number, arrived.raw))
            case Done() as done:
                part.done, part.is_over = done, True
                yield from self._begun()
                if done.end in ("aborted", "stalled") and not self._state.stopped_by:
                    yield from self._fail(part, done)
                yield from _decoded(self._total.over(number))
            case frame:
                yield from self._said(part, frame, shift)

    def _refuse_what_no_agent_says(self, part: _Part, frame: object) -> None:
        kind = type(frame)
        part.said[kind] += 1
        if kind in _ONCE and part.said[kind] > 1:
            raise ValueError(f"a second {kind.__name__}")
        often = SAID_MAX + SAID_PER_S * (time.monotonic() - self._from_s)
        if kind in _BESIDE and part.said[kind] > often:
            raise ValueError(f"{kind.__name__} {part.said[kind]} times")
        if kind not in (*_ONCE, *_BESIDE, *_NUMBERS):
            raise ValueError(f"a {kind.__name__}, which is of a whole load")

    @property
    def _total(self) -> engine.Sum:
        if self._sum is None:
            raise ValueError("numbers before any greeting of an engine")
        return self._sum

    def _said(self, part: _Part, said: Any, shift: int) -> Iterator[_Out]:
        """What an engine says beside its numbers."""
        frame: Frame | None = None
        match said:
            case Hello():
                part.hello = said
                frame = self._hello()
            case Connecting():
                self._state.connecting.add(part.agent.number)
                waited = {own.agent.number for own in self._parts if not own.is_connected}
                if waited <= self._state.connecting:
                    self._state.connecting.clear()
                    frame = said
            case PartBegun(late_ns=late_ns):
                part.begun_late_ns = late_ns
            case Started():
                part.started = said
                yield from self._begun()
            case Failed():
                part.failed = said
                if not self._state.begin_ns:
                    frame = replace(said, message=f"worker {part.agent.name}: {said.message}")
            case _:
                frame = _by_our_clock(part.agent.name, said, shift)
                part.note_outage(frame)
        if frame is not None:
            yield msgspec.msgpack.encode(frame), frame

    def _hello(self) -> Hello | None:
        """Return what all say together, once they have."""
        hellos = [part.hello for part in self._parts if part.hello]
        first = hellos[0]
        if self._sum is None:  # others may be connected before the last one has said hello
            hands = [part.threads for part in self._parts]
            self._sum = engine.sum_of(self._plan, hands, len(first.statements))
            self._counters = first.counters
        if len(hellos) < len(self._parts):
            return None
        warnings = [warning for hello in hellos for warning in hello.warnings]
        here, carriers = self._processes()
        reasons = {hello.io_reason for hello in hellos}
        io_reasons = [
            f"{part.agent.name}: {hello.io_reason}"
            for part, hello in zip(self._parts, hellos, strict=True)
            if hello.io_reason
        ]
        return replace(
            first,
            io=" and ".join(sorted({hello.io for hello in hellos})),
            io_reason=first.io_reason if len(reasons) == 1 else "; ".join(io_reasons),
            pid=here[0] if here else 0,
            further_pids=here[1:],
            carrier_pids=carriers,
            threads=sum(hello.threads for hello in hellos),
            processors=processors(self._shares()),
            warnings=list(dict.fromkeys(warnings)),
            workers=[part.agent.name for part in self._parts],
        )

    def _processes(self) -> tuple[list[int], list[int]]:
        """Return the processes here that make the load, and those that reach agents elsewhere."""
        making: dict[int, None] = {}
        reaching: dict[int, None] = {}
        for part in self._parts:
            assert part.agent.greeting is not None, "it was asked before the load began"
            if part.agent.pid is not None:
                making[part.agent.pid] = None
            own = making if is_here(part.agent.greeting) else reaching
            own[part.agent.carrier_pid] = None
        return [*making], [pid for pid in reaching if pid not in making]

    def _begun(self) -> Iterator[_Out]:
        """The beginning of all, by this host's clock, once, when the last one has begun.

        One that was lost is not waited for: it may be the last one.
        """
        started = [part.started for part in self._parts if part.started]
        is_known = all(part.started or part.is_over for part in self._parts)
        if self._state.has_begun or not started or not is_known:
            return
        self._state.has_begun = True
        first, begin_ns = started[0], self._state.begin_ns
        shift = begin_ns - first.monotonic_ns
        end_ns = first.measure_end_ns
        of_all = Started(
            monotonic_ns=begin_ns,
            unix_ns=time.time_ns() + begin_ns - time.monotonic_ns(),
            measure_begin_ns=first.measure_begin_ns + shift,
            measure_end_ns=None if end_ns is None else end_ns + shift,
        )
        yield msgspec.msgpack.encode(of_all), of_all

    def _fail(self, part: _Part, done: Done) -> Iterator[_Out]:
        """The load of an agent was given up, which may be the way from its host to the server."""
        others_go_on = any(not other.is_over for other in self._parts)
        if self._goes_on_without and others_go_on:
            yield self._lost(part, f"its load was {done.end}{_judged(done)}: {done.reason}")
        else:
            self._state.stopped_by = part
            self._stop_all()

    def _lost(self, part: _Part, why: str) -> _Out:
        """Note when a part was lost, and why."""
        part.lost_at_s = max(0.0, (time.monotonic_ns() - self._state.begin_ns) / 1e9)
        part.why_lost = why
        text = f"worker {part.agent.name} was lost after {part.lost_at_s:.1f} s: {why}"
        note = Note(at_ns=time.monotonic_ns(), source="workers", text=text)
        return msgspec.msgpack.encode(note), note

    def _lose(self, part: _Part, why: str) -> Iterator[_Out]:
        """An agent has ended without an end of its load."""
        part.is_over = True
        if part.failed:
            why = part.failed.message
        why = part.agent.with_last_line(why)
        if self._is_killed:
            return
        if not self._state.begin_ns:
            failed = Failed(
                code="worker",
                message=f"worker {part.agent.name} was lost before the load began: {why}",
                hint="dbdyno workers check examines the hosts.",
            )
            yield msgspec.msgpack.encode(failed), failed
            return
        yield self._lost(part, why)
        for begun in part.outages.values():
            # Its threads cannot end them any more; one lost connection is known of.
            outage = Outage(begun.at_ns, None, 1, begun.message)
            yield msgspec.msgpack.encode(outage), outage
        yield from self._begun()
        if not self._goes_on_without and not self._state.stopped_by:
            self._state.stopped_by = part
            self._stop_all()
        if self._sum is not None:
            yield from _decoded(self._total.over(part.agent.number))

    def _end(self) -> Iterator[_Out]:
        """The last frames: the histograms, and the end of the whole."""
        if self._sum is None:
            return
        for raw, frame in _decoded(self._sum.end(self._counters)):
            if isinstance(frame, Done):
                done = self._concluded(frame)
                yield msgspec.msgpack.encode(done), done
            else:
                yield raw, frame

    def _concluded(self, totals: Done) -> Done:
        """Return the totals with how the load ended, and what the engines say of themselves."""
        done = [part.done for part in self._parts if part.done]
        end, reason = self._how_it_ended(done)
        return replace(
            totals,
            end=end,
            reason=reason,
            measured_ns=max(map(_measured_ns, self._parts)),
            unfinished_ages_ns=[age for each in done for age in each.unfinished_ages_ns],
            invalid_reasons=[
                *(
                    f"{reason} (worker {part.agent.name})"
                    for part in self._parts
                    if part.done
                    for reason in part.done.invalid_reasons
                ),
                *full_hosts(self._shares()),
            ],
        )

    def _shares(self) -> list[Share]:
        """What each agent has of its host."""
        return [
            Share(
                name=part.agent.name,
                greeting=part.agent.greeting,
                processors=part.hello.processors,
                cpu_us=part.done.cpu_us if part.done else 0,
                measured_ns=part.done.measured_ns if part.done else 0,
            )
            for part in self._parts
            if part.agent.greeting and part.hello
        ]

    def _how_it_ended(self, done: Sequence[Done]) -> tuple[str, str]:
        cause = self._state.stopped_by
        if cause is not None and cause.done is not None:
            who = f"worker {cause.agent.name}{_judged(cause.done)}"
            return cause.done.end, f"{who}: {cause.done.reason}"
        if cause is not None:
            return "aborted", f"worker {cause.agent.name} was lost: {cause.why_lost}"
        if not done:
            return "aborted", "all workers were lost"
        if any(each.end == "interrupted" for each in done):
            return "interrupted", "the run was stopped from outside"
        return "complete", ""

    def _keep_printed(self) -> None:
        """Keep in the log what the agents have printed."""
        for part in self._parts:
            for line in part.agent.printed().splitlines():
                self._log.write(f"{part.agent.name}: {line}\n")
        self._log.flush()


def _measured_ns(part: _Part) -> int:
    """Return how long an agent measured; of one that was lost, until the last that was heard."""
    if part.done:
        return part.done.measured_ns
    if part.last is None or part.started is None:
        return 0
    end_ns = min(part.last.end_ns, part.started.measure_end_ns or part.last.end_ns)
    return max(0, end_ns - part.started.measure_begin_ns)


def _judged(done: Done) -> str:
    """Say of a stall who has judged it: others may have had answers."""
    return ", by its own clients alone" if done.end == "stalled" else ""


def _decoded(frames: Iterable[bytes]) -> Iterator[_Out]:
    return ((raw, _decode(raw)) for raw in frames)


def _by_our_clock(name: str, frame: Frame, shift: int) -> Frame:
    """Return what an engine reported as if its clock were that of this host."""
    match frame:
        case OutageBegun():
            return replace(frame, at_ns=frame.at_ns + shift)
        case Outage(end_ns=end_ns):
            end_ns = None if end_ns is None else end_ns + shift
            return replace(frame, begin_ns=frame.begin_ns + shift, end_ns=end_ns)
        case Note():
            return replace(frame, at_ns=frame.at_ns + shift, text=f"{name}: {frame.text}")
        case _:
            return frame
