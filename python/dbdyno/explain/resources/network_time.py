"""Time between client and server: how long a round trip is, how many, and their share of time.

A client is on the network if it has sent a request that the server is not working on. Within one
host that is short; if it is long there is a network between, or it waits for a CPU.
"""

from msgspec import Struct

from dbdyno.analysis.summarize import full_record
from dbdyno.explain.needs import client_time, committed, needed
from dbdyno.model.run import Run

WITHIN_A_MACHINE_S = 100e-6
"""Two wake-ups and two copies take tens of microseconds; anything longer is farther away."""

_IN_ONE_REQUEST = {"tpcc": "style=procedures", "ch": "style=procedures"}
"""The parameters with which workloads send a transaction as one request, by name."""


class NetworkTime(Struct, frozen=True, kw_only=True):
    """A transaction's ``trips`` to the server, of ``trip_s`` seconds each.

    ``own`` is the share of client time on the network, ``share`` includes the waits for locks whose
    holders are on it.
    """

    share: float
    own: float
    trip_s: float
    trips: float

    @property
    def beyond_machine(self) -> float:
        """The share of client time on the network beyond what it takes within one host."""
        return self.own * max(1 - WITHIN_A_MACHINE_S / self.trip_s, 0.0) if self.trip_s else 0.0


def one_request_option(run: Run) -> str:
    """The option that has its workload send a transaction as one request; empty if it has none."""
    record = full_record(run)
    option = _IN_ONE_REQUEST.get(record.workload, "")
    return f"-D {option}" if option and option not in record.command else ""


def is_over_socket(run: Run) -> bool:
    """Whether a Unix socket is used: then there is no network between client and server."""
    return bool(run.plan.endpoint.address.unix) and run.record.network_delay is None


def stays_within_machine(run: Run) -> bool:
    """Whether there is no network between: then long round trips are waits for CPU."""
    return run.plan.endpoint.address.is_on_this_host and run.record.network_delay is None


def network_time_of(run: Run) -> NetworkTime | None:
    """From the session samples of the server, and the engine's count of round trips.

    None with several servers: the clients of the first alone are sampled, and the round trips of
    all are counted.
    """
    if (run.server_intervals.server > 0).any():
        return None
    spent = client_time(run)
    intervals = run.intervals
    counted = float(intervals.round_trips[intervals.phase == "measure"].sum())
    trips = needed(counted or None, "round trips were not counted")
    own = spent.share("client_or_network")
    return NetworkTime(
        share=spent.charged("client_or_network"),
        own=own,
        trip_s=own * spent.total / trips,
        trips=trips / committed(run),
    )
