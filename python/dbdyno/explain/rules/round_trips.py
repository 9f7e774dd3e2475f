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

from typing import ClassVar

from dbdyno.analysis.search.bounds import pipelining_saves_s, round_trip_floor_s
from dbdyno.analysis.waits.processor_time import SATURATED
from dbdyno.explain.gains import WaitClaim, gains_of_waits_in
from dbdyno.explain.needs import LackingError, client_time, needed
from dbdyno.explain.resources.network_time import (
    WITHIN_A_MACHINE_S,
    is_over_socket,
    network_time_of,
    one_request_option,
    stays_within_machine,
)
from dbdyno.explain.resources.processors import processor_time
from dbdyno.explain.rule import NOTICED, Aside, NotFound, Rule
from dbdyno.formatting import milliseconds, percent, significant
from dbdyno.model.record import Certainty
from dbdyno.model.run import Run


class RoundTrips(WaitClaim, frozen=True, kw_only=True):
    """A transaction's round trips, and what they cost."""

    round_trips_per_transaction: float
    round_trip_ms: float
    floor_ms: float
    """No transaction with so many round trips can be faster."""
    pipelining_saves_ms: float
    behind_locks_share: Aside[float] = 0.0
    """Of client time: waits for locks whose holders were on the network."""
    sees_processors: Aside[bool] = True
    """Whether waits for a CPU on the server's host would have been seen."""
    is_within_machine: Aside[bool] = False
    one_request: Aside[str] = ""
    """The option with which the workload sends a transaction as one request."""

    @property
    def certainty(self) -> Certainty:
        return "likely" if self.sees_processors else "hint"

    @property
    def summary(self) -> str:
        return (
            f"Transactions spend {percent(self.share or 0.0)} of client time on the network: "
            f"{significant(self.round_trips_per_transaction)} round trips of "
            f"{milliseconds(self.round_trip_ms)} each."
        )

    @property
    def seen(self) -> list[str]:
        behind_locks = (
            f"{percent(self.behind_locks_share)} of client time is spent waiting for locks whose "
            "holders were on the network."
        )
        unseen = (
            "The CPU of the server's host was not seen: sessions that wait there for a CPU look "
            "the same."
        )
        return [
            "With so many round trips no transaction can be faster than "
            f"{milliseconds(self.floor_ms)}, whatever the server does.",
            *([behind_locks] if self.behind_locks_share >= NOTICED else []),
            *([] if self.sees_processors else [unseen]),
        ]

    why: ClassVar[str] = (
        "While a transaction is on the network the server does no work for it, but its locks are "
        "held."
    )

    @property
    def advice(self) -> list[str]:
        nearer = "Run the application closer to the server: in the same zone or on the same host."
        if self.is_within_machine:
            nearer = (
                "Connect directly to the server, best over a Unix socket: both are on one host, so "
                "something between them takes this time (a proxy, a pooler, an emulated network)."
            )
        if self.round_trips_per_transaction <= 1:
            return [nearer, "Use more clients: the server has capacity for them."]
        return [
            "Send the statements together, in a pipeline or a function"
            f"{self.one_request and f' ({self.one_request})'}: up to "
            f"{milliseconds(self.pipelining_saves_ms)} less per transaction.",
            nearer,
        ]

    @property
    def gain(self) -> str:
        """One round trip remains."""
        trips = self.round_trips_per_transaction
        return self.gains.text((self.share or 0.0) * max(trips - 1, 0) / trips)

    @property
    def refute(self) -> str:
        place = "over a Unix socket" if self.is_within_machine else "on the server's own host"
        return f"Run the load {place}: this share must disappear."


def look(run: Run) -> RoundTrips | NotFound:
    """Not if round trips are short, or long only because the CPU is saturated."""
    network = needed(network_time_of(run), "the clients of the other servers were not sampled")
    if network.share < NOTICED:
        return NotFound(f"clients spent {percent(network.share)} of their time on the network")
    each = milliseconds(network.trip_s * 1e3)
    if network.trip_s < WITHIN_A_MACHINE_S:
        return NotFound(f"a round trip took {each}, as within a host")
    if is_over_socket(run):
        return NotFound(f"a round trip took {each}, over a Unix socket: there is no network")
    if _has_full_processors(run):
        return _beside_full_processors(run, each)
    sees_processors = client_time(run).knows_cpu_queue
    if stays_within_machine(run) and not sees_processors:
        raise LackingError(
            f"a round trip took {each}: because of something on the way, or because sessions "
            "waited for a CPU; the server's CPU time was not read for long enough to tell"
        )
    return RoundTrips(
        share=network.share,
        round_trips_per_transaction=network.trips,
        round_trip_ms=network.trip_s * 1e3,
        floor_ms=round_trip_floor_s(network.trips, network.trip_s) * 1e3,
        pipelining_saves_ms=pipelining_saves_s(network.trips, network.trip_s) * 1e3,
        behind_locks_share=network.share - network.own,
        sees_processors=sees_processors,
        is_within_machine=stays_within_machine(run),
        one_request=one_request_option(run),
        gains=gains_of_waits_in(run),
    )


def _has_full_processors(run: Run) -> bool:
    """Whether the server's host is saturated; not visible if the server runs elsewhere."""
    try:
        return processor_time(run).in_use >= SATURATED
    except LackingError:
        return False


def _beside_full_processors(run: Run, each: str) -> NotFound:
    """Time spent waiting for CPU counts as part of a round trip, too."""
    if stays_within_machine(run):
        return NotFound(f"a round trip took {each} on a host whose CPU is saturated")
    raise LackingError(
        f"a round trip took {each}: because of the network, or because the CPU of the server's "
        "host, which is this one, was saturated"
    )


RULE = Rule(
    id="round_trips",
    title="Network round trips dominate",
    look=look,
    accounts_for=frozenset({"client_or_network", "lock"}),
)
