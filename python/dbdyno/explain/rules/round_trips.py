"""Network round trips: the transaction is on its way most of the time.

Looks for: clients that have asked and are not being worked on, for longer at each round trip
than a machine needs by itself, over a network, while the server's processors are not full.
Where they are full, and are this machine's, nobody can tell a slow network from a long turn.

Arithmetic: the clients' time on the way, with the lock waits behind clients on the way, over
the round trips is the time R of one. A transaction of k statements sent one after the other
takes k·R on the way at least; sent together it would save (k − 1)·R.

Source: the time budget of a closed loop (N·T client-seconds); round trips as the engine counted
them.

Wrong when: a proxy or pooler on the way is what takes the time: then look there first.
"""

from dbdyno.analysis.bounds import pipelining_saves_s, round_trip_floor_s
from dbdyno.explain.case import Case
from dbdyno.explain.needs import LackingError
from dbdyno.explain.processors import SATURATED, processor_time
from dbdyno.explain.rule import NOTICED, NotFound, Outcome, Rule, found
from dbdyno.explain.way import (
    WITHIN_A_MACHINE_S,
    Way,
    is_over_socket,
    stays_within_machine,
    way_of,
)
from dbdyno.explain.words import gain_of_waits
from dbdyno.words import milliseconds, percent, significant


def look(case: Case) -> Outcome:
    """Not where the way is short, or long only because processors are full."""
    way = way_of(case)
    if way.share < NOTICED:
        return NotFound(f"clients were on the way for {percent(way.share)} of their time")
    each = milliseconds(way.trip_s * 1e3)
    if way.trip_s < WITHIN_A_MACHINE_S:
        return NotFound(f"a round trip took {each}, as within a machine")
    if is_over_socket(case):
        return NotFound(f"a round trip took {each}, over a Unix socket: there is no network")
    if _has_full_processors(case):
        return _beside_full_processors(case, each)
    floor_s = round_trip_floor_s(way.trips, way.trip_s)
    saved_s = pipelining_saves_s(way.trips, way.trip_s)
    return found(
        f"Transactions are on the network for {percent(way.share)} of the clients' time: "
        f"{significant(way.trips)} round trips at {each} each.",
        share=way.share,
        share_of="client time",
        certainty="likely",
        evidence={
            "round_trips_per_transaction": way.trips,
            "round_trip_ms": way.trip_s * 1e3,
            "floor_ms": floor_s * 1e3,
            "pipelining_saves_ms": saved_s * 1e3,
        },
        seen=[
            f"No transaction can be faster than {milliseconds(floor_s * 1e3)} with so many round "
            "trips, whatever the server does.",
            *_behind_locks(way),
        ],
        why="While a transaction is on the way the server does nothing for it, and its locks stay.",
        advice=_advice(way, saved_s),
        gain=gain_of_waits(case, way.share * max(way.trips - 1, 0) / way.trips),
        refute="Run the load on the server's own machine: this share must vanish.",
    )


def _has_full_processors(case: Case) -> bool:
    """Of the machine that runs the server; one elsewhere cannot be seen, and is not it."""
    try:
        return processor_time(case).in_use >= SATURATED
    except LackingError:
        return False


def _beside_full_processors(case: Case, each: str) -> NotFound:
    """Who waits for a processor to go on is on the way, too."""
    if stays_within_machine(case):
        return NotFound(f"a round trip took {each} on a machine whose processors are full")
    raise LackingError(
        f"a round trip took {each}: of the network, or because the processors of the server's "
        "machine, which is this one, were full"
    )


def _behind_locks(way: Way) -> list[str]:
    if way.share - way.own < NOTICED:
        return []
    part = percent(way.share - way.own)
    return [f"{part} of the clients' time are waits for locks whose holders were on the way."]


def _advice(way: Way, saved_s: float) -> list[str]:
    nearer = "Run the application nearer to the server: the same zone, the same machine."
    if way.trips <= 1:
        return [nearer, "Use more clients: the server has time for them."]
    return [
        f"Send the statements together, by a pipeline or a function: up to "
        f"{milliseconds(saved_s * 1e3)} less per transaction.",
        nearer,
    ]


RULE = Rule(
    id="round_trips",
    title="Network round trips dominate",
    look=look,
    accounts_for=frozenset({"client_or_network", "lock"}),
)
