"""Sentences that several rules say."""

from dbdyno.analysis.bounds import gain_factor


def gain_words(share: float, next_utilisation: float = 0.0) -> str:
    """What removing a cause with this share of the clients' time can bring at most."""
    factor = gain_factor(share, next_utilisation)
    return f"Throughput rises by a factor of {min(factor, 100):.2g} at most."


def and_so_on(names: list[str], limit: int = 3) -> str:
    """The first few of a list, and how many more there are."""
    rest = len(names) - limit
    return ", ".join(names[:limit]) + (f" and {rest} more" if rest > 0 else "")
