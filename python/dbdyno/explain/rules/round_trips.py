"""Network round trips: transactions spend most of their time on the network.

Looks for: clients that have sent a request which the server is not working on, for longer at each
round trip than it takes within one host, over a network, while the server's CPU is not saturated.
If it is saturated, and is that of this host, a slow network cannot be told from waiting for CPU;
nor can it within one host whose server's CPU time was not read.

Arithmetic: client time on the network, with the lock waits behind clients on the network, over the
number of round trips is the time R of one. A transaction of k statements sent one after the other
takes at least k·R on the network; sent together they would save (k − 1)·R.

Source: the time budget of a closed loop (N·T client-seconds); round trips as the engine counted
them.

Wrong when: a proxy or pooler in between is what takes the time: then look there first.
"""

from dbdyno.analysis.bounds import pipelining_saves_s, round_trip_floor_s
from dbdyno.analysis.processor_time import SATURATED
from dbdyno.explain.case import Case
from dbdyno.explain.needs import LackingError, client_time
from dbdyno.explain.network_time import (
    WITHIN_A_MACHINE_S,
    NetworkTime,
    is_over_socket,
    network_time_of,
    stays_within_machine,
)
from dbdyno.explain.processors import processor_time
from dbdyno.explain.rule import NOTICED, NotFound, Outcome, Rule, found
from dbdyno.explain.sentences import gain_of_waits
from dbdyno.formatting import milliseconds, percent, significant

_NEARER = "Run the application closer to the server: in the same zone or on the same host."
_UNSEEN = (
    "The CPU of the server's host was not seen: sessions that wait there for a CPU look the same."
)
_DIRECTLY = (
    "Connect directly to the server, best over a Unix socket: both are on one host, so something "
    "between them takes this time (a proxy, a pooler, an emulated network)."
)


def look(case: Case) -> Outcome:
    """Not if round trips are short, or long only because the CPU is saturated."""
    network = network_time_of(case)
    if network.share < NOTICED:
        return NotFound(f"clients spent {percent(network.share)} of their time on the network")
    each = milliseconds(network.trip_s * 1e3)
    if network.trip_s < WITHIN_A_MACHINE_S:
        return NotFound(f"a round trip took {each}, as within a host")
    if is_over_socket(case):
        return NotFound(f"a round trip took {each}, over a Unix socket: there is no network")
    if _has_full_processors(case):
        return _beside_full_processors(case, each)
    sees_processors = client_time(case).knows_cpu_queue
    if stays_within_machine(case) and not sees_processors:
        raise LackingError(
            f"a round trip took {each}: because of something on the way, or because sessions "
            "waited for a CPU; the server's CPU time was not read for long enough to tell"
        )
    floor_s = round_trip_floor_s(network.trips, network.trip_s)
    saved_s = pipelining_saves_s(network.trips, network.trip_s)
    return found(
        f"Transactions spend {percent(network.share)} of client time on the network: "
        f"{significant(network.trips)} round trips of {each} each.",
        share=network.share,
        share_of="client time",
        certainty="likely" if sees_processors else "hint",
        evidence={
            "round_trips_per_transaction": network.trips,
            "round_trip_ms": network.trip_s * 1e3,
            "floor_ms": floor_s * 1e3,
            "pipelining_saves_ms": saved_s * 1e3,
        },
        seen=[
            f"With so many round trips no transaction can be faster than "
            f"{milliseconds(floor_s * 1e3)}, whatever the server does.",
            *_behind_locks(network),
            *([] if sees_processors else [_UNSEEN]),
        ],
        why="While a transaction is on the network the server does no work for it, but its locks "
        "are held.",
        advice=_advice(case, network, saved_s),
        gain=gain_of_waits(case, network.share * max(network.trips - 1, 0) / network.trips),
        refute=f"Run the load {_place(case)}: this share must disappear.",
    )


def _has_full_processors(case: Case) -> bool:
    """Whether the server's host is saturated; not visible if the server runs elsewhere."""
    try:
        return processor_time(case).in_use >= SATURATED
    except LackingError:
        return False


def _beside_full_processors(case: Case, each: str) -> NotFound:
    """Time spent waiting for CPU counts as part of a round trip, too."""
    if stays_within_machine(case):
        return NotFound(f"a round trip took {each} on a host whose CPU is saturated")
    raise LackingError(
        f"a round trip took {each}: because of the network, or because the CPU of the server's "
        "host, which is this one, was saturated"
    )


def _place(case: Case) -> str:
    return "over a Unix socket" if stays_within_machine(case) else "on the server's own host"


def _behind_locks(network: NetworkTime) -> list[str]:
    if network.share - network.own < NOTICED:
        return []
    part = percent(network.share - network.own)
    return [f"{part} of client time is spent waiting for locks whose holders were on the network."]


def _advice(case: Case, network: NetworkTime, saved_s: float) -> list[str]:
    nearer = _DIRECTLY if stays_within_machine(case) else _NEARER
    if network.trips <= 1:
        return [nearer, "Use more clients: the server has capacity for them."]
    return [
        f"Send the statements together, in a pipeline or a function: up to "
        f"{milliseconds(saved_s * 1e3)} less per transaction.",
        nearer,
    ]


RULE = Rule(
    id="round_trips",
    title="Network round trips dominate",
    look=look,
    accounts_for=frozenset({"client_or_network", "lock"}),
)
