"""What an engine reports only to whoever adds it up with others that share its load.

Their tallies go from there to Rust as they came: only the fields that are needed on the way are
named here.
"""

from msgspec import Struct

from dbdyno.model.frame.measured import Counters


class Greeting(Struct, frozen=True, tag="greeting", tag_field="kind"):
    """Who an agent is that may run on another host: the first that it says."""

    build: str
    """Names the build of the engine's module: only the same ones share a load."""
    host: str
    boot: str
    """Names the running kernel of the host: agents with the same are on one host."""
    architecture: str
    pid: int
    cpus: int
    """How many it may use: those of ``cpus_allowed``, or fewer if its control group may not use so
    much time."""
    clock_source: str
    open_files_max: int
    """What a process may raise its limit to."""
    cpus_allowed: tuple[int, ...] = ()
    """The numbers of the CPUs on which it may run. An agent of an older build, which is refused by
    name, does not tell this or what follows."""
    cgroup: str = ""
    """Names its control groups on the host: what limits their time, agents in them share."""
    pid_namespace: str = ""
    """Names where ``pid`` is its number: each container counts its processes anew."""


class Clock(Struct, frozen=True, tag="clock", tag_field="kind"):
    """When the agent received a question for its clock, and when it answered."""

    question: int
    received_ns: int
    sent_ns: int


class PartConnected(Struct, frozen=True, tag="part_connected", tag_field="kind"):
    """All clients of this engine are connected."""


class PartBegun(Struct, frozen=True, tag="part_begun", tag_field="kind"):
    """All threads of this engine have let their first clients go."""

    late_ns: int
    """By how much the last of them was late."""


class PartTally(Struct, frozen=True):
    """What a part counted in an interval."""

    completed_ok: int
    counters: Counters


class PartInterval(Struct, frozen=True, tag="part_interval", tag_field="kind"):
    """An interval of this engine alone."""

    phase: str
    begin_ns: int
    end_ns: int
    tally: PartTally
