"""How far the clocks of two hosts are apart, from questions and answers over a stream.

An exchange has four stamps: asked and answered by one clock, received and sent by the other. The
difference of the clocks is then known up to half of the time that both ways took together: the
quickest exchange says most (D. Mills, RFC 5905). No latency is a difference of two clocks: it only
lets loads begin together, and names the same second on all hosts.
"""

from dataclasses import dataclass

EXCHANGES = 20
FIT_EVERY_NS = 10_000_000_000


@dataclass(frozen=True, order=True)
class Offset:
    """What to add to this host's clock for that of another; the quickest compares as the least."""

    round_trip_ns: int
    offset_ns: int

    @property
    def bound_ns(self) -> int:
        """By how much it may be wrong at most."""
        return -(-self.round_trip_ns // 2)


def exchanged(asked_ns: int, received_ns: int, sent_ns: int, answered_ns: int) -> Offset:
    """Return the offset by one exchange: our stamps are the first and the last."""
    ways_ns = (answered_ns - asked_ns) - (sent_ns - received_ns)
    return Offset(ways_ns, ((received_ns - asked_ns) + (sent_ns - answered_ns)) // 2)


class Drift:
    """The offset to one host while a load runs, fitted anew every 10 seconds."""

    def __init__(self, first: Offset) -> None:
        self.first = first
        self.latest = first
        self._since_ns: int | None = None
        self._quickest: Offset | None = None

    def take(self, now_ns: int, offset: Offset) -> None:
        """Take one more exchange."""
        self._since_ns = now_ns if self._since_ns is None else self._since_ns
        self._quickest = min(offset, self._quickest or offset)
        if now_ns - self._since_ns >= FIT_EVERY_NS:
            self.latest, self._since_ns, self._quickest = self._quickest, now_ns, None

    @property
    def drifted_ns(self) -> int:
        """By how much the clocks have gone apart at least: what the bounds do not explain."""
        apart_ns = abs(self.latest.offset_ns - self.first.offset_ns)
        return max(0, apart_ns - self.latest.bound_ns - self.first.bound_ns)
