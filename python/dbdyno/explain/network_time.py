"""Time between client and server: how long a round trip is, how many, and their share of time.

A client is on the network if it has sent a request that the server is not working on. Within one
host that is short; if it is long there is a network between, or it waits for a CPU.
"""

from msgspec import Struct

from dbdyno.explain.case import Case
from dbdyno.explain.needs import client_time, committed, needed
from dbdyno.model.plan import is_loopback

WITHIN_A_MACHINE_S = 100e-6
"""Two wake-ups and two copies take tens of microseconds; anything longer is farther away."""


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


def is_over_socket(case: Case) -> bool:
    """Whether a Unix socket is used: then there is no network between client and server."""
    return "unix" in _address(case)


def stays_within_machine(case: Case) -> bool:
    """Whether there is no network between: then long round trips are waits for CPU."""
    tcp = _address(case).get("tcp", {})
    return is_over_socket(case) or is_loopback(tcp.get("numeric") or tcp.get("host", ""))


def _address(case: Case) -> dict[str, dict[str, str]]:
    address: dict[str, dict[str, str]] = case.recording.plan.get("endpoint", {}).get("address", {})
    return address


def network_time_of(case: Case) -> NetworkTime:
    """From the session samples and the engine's count of round trips."""
    spent = client_time(case)
    intervals = case.recording.tables["intervals"]
    counted = float(intervals["round_trips"][intervals["phase"] == "measure"].sum())
    trips = needed(counted or None, "round trips were not counted")
    own = spent.share("client_or_network")
    return NetworkTime(
        share=spent.charged("client_or_network"),
        own=own,
        trip_s=own * spent.total / trips,
        trips=trips / committed(case),
    )
