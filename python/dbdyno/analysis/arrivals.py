"""Whether transactions of an open loop became due faster than they were done."""

from msgspec import Struct

from dbdyno.model.recording import Recording

_QUEUE_S = 0.1
_QUEUE_SHARE = 0.01


class Arrivals(Struct, frozen=True, kw_only=True):
    """What became due while measuring, and how much of it had not begun when the run ended.

    In a closed loop all that is due has begun.
    """

    due: int
    waiting: int
    duration_s: float

    @property
    def due_per_s(self) -> float:
        """How many became due a second."""
        return self.due / self.duration_s if self.duration_s else 0.0

    @property
    def overran(self) -> bool:
        """Whether a queue was left that does not come and go with chance.

        That is one of a tenth of a second's arrivals and of one in a hundred of all. Above
        capacity a queue has no bound (Kleinrock, *Queueing Systems* I, 1975, §2.1): response
        times then only tell how long the run was.
        """
        queue = max(_QUEUE_S * self.due_per_s, _QUEUE_SHARE * self.due)
        return self.waiting > 0 and self.waiting >= queue


def arrivals(recording: Recording, duration_s: float) -> Arrivals:
    """As the engine's counters tell, which run on to the end of the run."""
    intervals = recording.tables["intervals"]
    last = {name: intervals[name][-1:].tolist() for name in ("due", "waiting")}
    due, waiting = ((last[name] or [0])[0] for name in ("due", "waiting"))
    return Arrivals(due=due, waiting=waiting, duration_s=duration_s)
