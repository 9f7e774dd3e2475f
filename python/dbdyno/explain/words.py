"""Sentences that several rules say."""

from dbdyno.analysis.bounds import gain_factor
from dbdyno.explain.case import Case
from dbdyno.explain.processors import own_utilisation
from dbdyno.explain.rule import NOTICED
from dbdyno.words import significant, tps

_FACTOR_MAX = 100
_THROUGHPUT_RISES = "Throughput rises"


def gain_words(share: float, next_utilisation: float = 0.0) -> str:
    """What removing a cause with this share of the clients' time can bring at most."""
    factor = min(gain_factor(share, next_utilisation), _FACTOR_MAX)
    return f"{_THROUGHPUT_RISES} by a factor of {factor:.3g} at most." if share >= NOTICED else ""


def gain_of_waits(case: Case, share: float) -> str:
    """The same of a cause that takes no processor time: processors are then the next bound."""
    own = own_utilisation(case)
    gain = gain_words(share, own)
    is_bounded = gain_factor(share, own) < gain_factor(share)
    return f"{gain[:-1]}: then the processors are full." if gain and is_bounded else gain


def at_a_given_rate(gain: str) -> str:
    """A gain where transactions come at a rate that no finding changes."""
    if not gain.startswith(_THROUGHPUT_RISES):
        return gain
    return "Response times fall; the rate is what was asked for."


def bound_exceeded_words(bound_tps: float, measured_tps: float) -> str:
    """What is told of a row's bound that was exceeded."""
    return (
        f"As long as clients see a row held, {tps(bound_tps)} TPS could pass, and "
        f"{tps(measured_tps)} did: the server lets go of it before they hear of the commit."
    )


def amount(of: float, one: str, many: str) -> str:
    """So many of something."""
    return f"{significant(of)} {one if of == 1 else many}"


def and_so_on(names: list[str], limit: int = 3) -> str:
    """The first few of a list, and how many more there are."""
    rest = len(names) - limit
    return ", ".join(names[:limit]) + (f" and {rest} more" if rest > 0 else "")
