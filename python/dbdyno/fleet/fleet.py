"""Several engines as one: their agents are started and asked who they are, then given their parts.

A :class:`Fleet` is opened before there is a plan, whose threads are those of all agents; what it
starts yields frames as one engine does, so a run does not know how many there are.
"""

import queue
import resource
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from itertools import islice
from typing import IO, TypeAlias

from msgspec.structs import replace

from dbdyno import engine
from dbdyno.errors import DbdynoError
from dbdyno.fleet.agents import LINE_CHARACTERS, PRINTED_BYTES_MAX, Agent, Arrivals
from dbdyno.fleet.clocks import EXCHANGES, Offset
from dbdyno.fleet.hosts import cpus_each, is_here
from dbdyno.fleet.loading import RunningLoad
from dbdyno.fleet.pulse import Pulse
from dbdyno.fleet.running import RunningFleet
from dbdyno.fleet.shares import apportioned, dealt
from dbdyno.fleet.words import OnLost, Place, Workers
from dbdyno.formatting import counted
from dbdyno.model.frame import Loaded, Progress
from dbdyno.model.frame.parts import Greeting
from dbdyno.model.plan import Endpoint, LoadPlan, Plan
from dbdyno.model.secrets import Masker, secrets_of

GREETING_MAX_S = 20.0
"""How long a command may take to start an agent: a login on another host, for example."""
LOOK_S = 0.25
STARTING_MAX = 8
"""Agents that are started and not heard yet: sshd refuses more logins at once, and several hosts
may have one jump host."""
CLOCK_MAX_S = 2.0
WAITING_SILENCE_MAX_S = 5.0
"""An agent that waits for its job disturbs nothing: its network may be away for a moment."""
FILES_EACH = 3
"""Its standard streams; what it prints goes to a file."""
FILES_BESIDE = 256
OUTPUT_LINES = 5
_Load: TypeAlias = Callable[[LoadPlan], Iterable[Progress | Loaded]]


class Fleet:
    """Agents that are ready for a load."""

    def __init__(
        self, places: Sequence[Place], on_lost: OnLost = "stop", *, has_equal_shares: bool = False
    ) -> None:
        self._places = places
        self._on_lost = on_lost
        self._has_equal_shares = has_equal_shares
        self._arrivals = Arrivals()
        self.agents: list[Agent] = []
        self._offsets: dict[Agent, Offset] = {}
        self._waiting = ExitStack()
        """For a job, while a server is started or data is loaded; they are asked meanwhile."""

    def begin(self, starting: AbstractContextManager[object] | None = None) -> None:
        """Start the agents, ``starting`` meanwhile; raise what is wrong with any of them."""
        _allow_files(FILES_EACH * len(self._places) + FILES_BESIDE)
        with starting or nullcontext():
            self._start_agents()
        if silent := self._compare_clocks():
            raise _no_agent(silent[0], "no answer to the question for its clock")
        beat = Pulse(self.agents, self._take_offsets, WAITING_SILENCE_MAX_S)
        self._waiting.enter_context(beat)

    def known(self) -> Iterator[tuple[Agent, Greeting, Offset]]:
        """Yield each agent with what it said of itself, and how far its clock is ahead."""
        for agent in self.agents:
            yield agent, _greeting(agent), self._offsets[agent]

    def end(self) -> list[str]:
        """End all agents that have not ended; return the names of those out of reach."""
        self._waiting.close()
        for agent in self.agents:
            agent.kill()
            agent.hang_up()
        return [agent.name for agent in self.agents if not agent.close()]

    def shared(self, plan: Plan, threads: int | None) -> Plan:
        """Return the plan of all agents together, with so many threads, or one for each CPU."""
        wanted = threads or sum(self._cpus())
        most = plan.executors or plan.clients
        return replace(plan, threads=min(max(wanted, len(self.agents)), most))

    def refuse(self, plan: Plan, endpoint: Endpoint, threads: int | None) -> None:
        """Refuse a load that the agents cannot share, or a server that they cannot reach."""
        if plan.lua is not None:
            raise DbdynoError(
                "usage",
                "sysbench scripts cannot be shared by workers: each numbers its statements as it "
                "runs",
                "Leave out --workers.",
            )
        self._refuse_out_of_reach(endpoint)
        most = plan.executors or plan.clients
        asked = counted(most, "client")
        if threads and threads < most:
            asked = counted(threads, "thread")
        self._refuse_fewer(min(threads or most, most), asked, "Use more clients (-c)")

    def while_loading(self, load: _Load) -> _Load:
        """Return a load that ends as soon as an agent is lost, which waits for its own job."""

        def loading(plan: LoadPlan) -> Iterator[Progress | Loaded]:
            for frame in load(plan):
                if not self._arrivals.empty():
                    lost = self._arrivals.get()
                    why = lost.agent.with_last_line(lost.end or "it sent what no agent does")
                    raise DbdynoError(
                        "worker",
                        f"worker {lost.agent.name} was lost while data was loaded: {why}",
                        "dbdyno workers check examines the hosts. What was loaded is kept: the "
                        "same command continues.",
                    )
                yield frame

        return loading

    def start(self, plan: Plan, log: IO[str]) -> RunningFleet:
        """Start the load; the agents begin it together."""
        # They may have gone apart while data was loaded. An agent that does not answer keeps its
        # offset: if it was lost, that is told by its name as soon as the load waits for it.
        self._waiting.close()
        self._compare_clocks()
        plan = replace(plan, endpoint=self._reached(plan.endpoint))
        hands = dealt(self._thread_counts(plan.threads))
        masker = Masker(secrets_of(plan))
        with Pulse(self.agents):  # those that have their part bear no silence, either
            for agent, hand in zip(self.agents, hands, strict=True):
                agent.masker = masker
                agent.send({"run": replace(plan, own_threads=hand)})
        return RunningFleet(
            plan=plan,
            hands=hands,
            agents=self.agents,
            offsets=[self._offsets[agent] for agent in self.agents],
            arrivals=self._arrivals,
            goes_on_without=self._on_lost == "continue",
            log=log,
        )

    def load_jobs(self, endpoint: Endpoint, jobs: int | None) -> int:
        """Return how many jobs fill tables, by default one for each CPU; refuse what cannot be."""
        self._refuse_out_of_reach(endpoint)
        if jobs is not None:
            self._refuse_fewer(jobs, counted(jobs, "connection"), "Use more (-j)")
        return jobs or sum(self._cpus())

    def load(self, plan: LoadPlan) -> RunningLoad:
        """Start to fill tables; each agent has some of the jobs."""
        self._waiting.close()
        masker = Masker(secrets_of(plan))
        plan = replace(plan, endpoint=self._reached(plan.endpoint))
        hands = dealt(self._thread_counts(plan.jobs))
        with Pulse(self.agents):
            for agent, hand in zip(self.agents, hands, strict=True):
                agent.masker = masker
                agent.send({"load": replace(plan, own_jobs=hand)})
        return RunningLoad(self.agents, self._arrivals)

    def _refuse_out_of_reach(self, endpoint: Endpoint) -> None:
        if not (away := self._away()):
            return
        found = endpoint.elsewhere
        addresses = (found.address, *found.further_addresses, *(found.standby_addresses or []))
        if any(address.is_on_this_host for address in addresses):
            raise DbdynoError(
                "usage",
                f"worker {away[0].name} is on another host, and a server is reached by an address "
                "of this one alone",
                "Name each server with --target by a host name that all workers know.",
            )

    def _away(self) -> list[Agent]:
        """Return the agents on other hosts."""
        return [agent for agent in self.agents if not is_here(_greeting(agent))]

    def _reached(self, endpoint: Endpoint) -> Endpoint:
        """Return the server as the agents find it."""
        return endpoint.elsewhere if self._away() else endpoint

    def _refuse_fewer(self, count: int, asked: str, hint: str) -> None:
        if count < len(self.agents):
            raise DbdynoError(
                "usage",
                f"{asked} cannot be shared by {len(self.agents)} agents: each needs one",
                f"{hint}, or fewer workers.",
            )

    def _cpus(self) -> list[int]:
        """CPUs of each agent."""
        cpus = cpus_each([_greeting(agent) for agent in self.agents])
        return [min(cpus)] * len(cpus) if self._has_equal_shares else cpus

    def _thread_counts(self, threads: int) -> list[int]:
        """Threads of each agent, at least one: by their CPUs, with the largest remainders."""
        cpus = self._cpus()
        # Each has one already: what the others are dealt makes their numbers proportional.
        beyond_one = [max(0, cpu * threads - sum(cpus)) for cpu in cpus]
        weights = beyond_one if any(beyond_one) else [1] * len(cpus)
        return [1 + more for more in apportioned(threads - len(cpus), weights)]

    def _start_agents(self) -> None:
        """Start each, and hear who it is: a few at a time."""
        left = enumerate(self._places)
        deadlines: dict[Agent, float] = {}

        def start_next() -> None:
            for number, place in islice(left, 1):
                agent = _started(number, place, self._arrivals)
                self.agents.append(agent)
                deadlines[agent] = time.monotonic() + GREETING_MAX_S

        for _ in range(STARTING_MAX):
            start_next()
        while deadlines:
            first = next(iter(deadlines))
            try:
                left_s = deadlines[first] - time.monotonic()
                arrived = self._arrivals.get(timeout=min(max(0.0, left_s), LOOK_S))
            except queue.Empty:
                _refuse_endless_printing(deadlines)
                if left_s > LOOK_S:
                    continue
                raise _no_agent(first, f"nothing within {GREETING_MAX_S:g} s") from None
            agent = arrived.agent
            if agent.greeting or not isinstance(arrived.frame, Greeting):
                raise _no_agent(agent, arrived.end or "another answer")
            agent.greeting = arrived.frame
            _refuse_other_build(agent, arrived.frame)
            del deadlines[agent]
            start_next()

    def _take_offsets(self) -> None:
        """Take what nobody needs while they wait."""
        for agent in self.agents:
            tuple(agent.taken_offsets())

    def _compare_clocks(self) -> list[Agent]:
        """Ask each agent for its clock, again and again: all at once, and each answer awaited.

        Return those that did not answer, which are not asked again.
        """
        found: dict[Agent, list[Offset]] = {agent: [] for agent in self.agents}
        silent: list[Agent] = []
        self._take_offsets()
        for _ in range(EXCHANGES):
            asked = [agent for agent in self.agents if agent not in silent]
            for agent in asked:
                agent.ask_clock()
            # For all together: while one is awaited, nobody asks the others.
            deadline = time.monotonic() + CLOCK_MAX_S
            for agent in asked:
                try:
                    left_s = max(0.0, deadline - time.monotonic())
                    found[agent].append(agent.offsets.get(timeout=left_s))
                except queue.Empty:
                    silent.append(agent)
        self._offsets |= {agent: min(offsets) for agent, offsets in found.items() if offsets}
        return silent


@contextmanager
def opened(
    workers: Workers | None, on_lost: OnLost, say: Callable[[str], None]
) -> Iterator[Fleet | None]:
    """Open the fleet that ``--workers`` asks for, if it does, for the duration of the block."""
    if workers is None:
        yield None
        return
    fleet = Fleet(workers.places(), on_lost, has_equal_shares=workers.has_counts)
    try:
        fleet.begin()
        for agent, greeting, offset in fleet.known():
            say(
                f"worker {agent.name}: {greeting.host}, {greeting.cpus} CPUs, clock "
                f"{offset.offset_ns / 1e3:+z.0f} µs ± {offset.bound_ns / 1e3:.0f} µs"
            )
        yield fleet
    finally:
        for name in fleet.end():
            say(
                f"worker {name}: what its command has started cannot be ended from here; it ends "
                "by itself, since its input has ended"
            )


def _allow_files(count: int) -> None:
    """Let this process have so many open files, as far as it may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = count if hard == resource.RLIM_INFINITY else min(count, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def _started(number: int, place: Place, arrivals: Arrivals) -> Agent:
    try:
        return Agent(number, place, arrivals)
    except OSError as error:
        raise DbdynoError(
            "worker",
            f"worker {place.name} could not be started: {error}",
            "dbdyno workers list shows each worker's command.",
        ) from error


def _greeting(agent: Agent) -> Greeting:
    assert agent.greeting is not None, "the fleet has begun"
    return agent.greeting


def _refuse_endless_printing(agents: Iterable[Agent]) -> None:
    for agent in agents:
        if agent.printed_bytes() > PRINTED_BYTES_MAX:
            raise _no_agent(agent, "it prints without end")


def _refuse_other_build(agent: Agent, greeting: Greeting) -> None:
    own = engine.build()
    if greeting.build == own:
        return
    raise DbdynoError(
        "worker_build",
        f"worker {agent.name} ({greeting.host}, {greeting.architecture}) has another build of "
        f"dbdyno: {greeting.build}, and here it is {own}",
        "Install the same dbdyno on all hosts: their numbers could not be added up.",
    )


def _no_agent(agent: Agent, why: str) -> DbdynoError:
    lines = agent.printed().strip().splitlines()[-OUTPUT_LINES:]
    said = f"; it printed: {' / '.join(lines)[-LINE_CHARACTERS:]}" if lines else ""
    return DbdynoError(
        "worker",
        f"worker {agent.name} is no agent of dbdyno: {why}{said}",
        "The command has to start `dbdyno agent` with its standard input and output.",
    )
