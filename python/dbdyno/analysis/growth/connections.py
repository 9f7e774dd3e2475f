"""How many connections to allow, from how throughput grew with them."""

from msgspec import Struct

from dbdyno.analysis.growth.scaling import KNEE_SHARE, Scaling
from dbdyno.analysis.statistics.estimate import IntervalEstimate
from dbdyno.formatting import counted, percent, significant


class ConnectionAdvice(Struct, frozen=True):
    """``limit`` is None if the runs do not show where it lies."""

    limit: int | None
    text: str
    doubt: str = ""


def advise_connections(of: Scaling) -> ConnectionAdvice:
    """The knee: beyond it more clients only add waiting (Little: N = X·R)."""
    if of.still_rises:
        return ConnectionAdvice(
            limit=None,
            text=f"Throughput still rose with {of.clients_max} clients, the most that were "
            "measured: these runs show no limit.",
        )
    limit = round(of.knee.value)
    text = (
        f"{counted(limit, 'connection')}{_between(of.knee)}: throughput is within "
        f"{percent(KNEE_SHARE)} of its maximum there, and further clients only wait."
    )
    doubt = ""
    if of.is_structured is None:
        doubt = "each number of clients was measured once, so noise cannot be told from the knee"
    elif of.is_structured:
        doubt = (
            f"the scalability law misses the means by {percent(of.misfit)}, more than noise does: "
            "the knee is one of the numbers of clients measured, and the true one may lie between"
        )
    if of.peak is not None:
        text += f" The peak is at {significant(of.peak.value)} clients{_between(of.peak)}."
    if of.most.tps < (1 - KNEE_SHARE) * of.best.tps:
        left = percent(of.most.tps / of.best.tps)
        text += f" With {of.most.clients} clients throughput is {left} of the maximum."
    return ConnectionAdvice(limit, text, doubt)


def _between(knee: IntervalEstimate) -> str:
    if knee.low is None or knee.high is None or round(knee.low) == round(knee.high):
        return ""
    return f" ({round(knee.low)} to {round(knee.high)})"
