"""Bounds on what a workload can reach whatever the server does; they need no sampling.

Plain arithmetic on measured numbers; each function gives its formula and its source. Times are in
seconds, rates per second. This module knows nothing of runs.
"""

import math
from collections.abc import Iterable

UNBOUNDED = math.inf

EXCEEDED = 1.3
"""Measured / bound: above this a row is not held for as long as clients see."""


def row_hold_bound_tps(holds: Iterable[tuple[float, float]]) -> float:
    """Transactions per second that one row allows: 1 / Σ pᵢ·hᵢ.

    Each (p, h) is the probability that a transaction locks the row in one way, and how long it then
    holds it: from the locking statement to the end of the commit. The row is a server of
    utilization X·Σ pᵢ·hᵢ, which cannot exceed 1 (the utilization law; Denning and Buzen, *Computing
    Surveys* 10, 1978).
    """
    busy_s = sum(probability * hold_s for probability, hold_s in holds)
    return 1 / busy_s if busy_s > 0 else UNBOUNDED


def let_past(rows: float, clients: float) -> float:
    """Upper bound of the clients that get past a statement that locks one of ``rows``: min(N, K).

    Each row has one holder, so a statement before the hottest row shields it.
    """
    return min(rows, clients)


def expected_distinct(rows: float, clients: float) -> float:
    """Distinct rows held by N clients that choose uniformly among K: K·(1 − (1 − 1/K)^N).

    The occupancy problem (Feller, *An Introduction to Probability Theory* I, §IV.2).
    """
    return rows * (1 - math.pow(1 - 1 / rows, clients))


def round_trip_floor_s(statements: float, round_trip_s: float) -> float:
    """Time that k statements sent one after the other spend on the network alone: k·RTT."""
    return statements * round_trip_s


def pipelining_saves_s(statements: float, round_trip_s: float) -> float:
    """Time saved by sending them together, in a pipeline or a function: (k − 1)·RTT."""
    return max(statements - 1, 0) * round_trip_s


def commit_bound_tps(flush_s: float, commits_per_flush: float = 1.0) -> float:
    """Commits per second if flushes follow each other: commits per flush / flush time.

    One client commits alone; with N of them group commit lets at most N share a flush.
    """
    return commits_per_flush / flush_s if flush_s > 0 else UNBOUNDED


def free_row_versions(page_bytes: float, fillfactor: float, row_bytes: float) -> int:
    """Row versions that fit into the space that the fillfactor (0 to 1) leaves free on a page."""
    return int(page_bytes * (1 - fillfactor) // row_bytes)


def cached_share(cache_bytes: float, touched_bytes: float) -> float:
    """The share of uniform accesses that a cache can serve: min(1, C/W).

    Under uniform independent references every page is equally likely to be cached, whatever the
    replacement policy (King, *Proc. IFIP* 1971). Skewed keys are served better.
    """
    return min(cache_bytes / touched_bytes, 1.0) if touched_bytes > 0 else 1.0


def gain_factor(share: float, next_utilization: float | None = None) -> float:
    """Largest factor by which throughput can rise if a cause that takes this share is removed.

    1/(1 − w) in a closed loop whose clients spend w of their time on it, bounded by the next
    resource, which can carry 1/u of its present rate (Amdahl, *AFIPS* 1967; the utilization law).
    Where that utilization is not known, only the cause bounds it.
    """
    alone = 1 / (1 - share) if share < 1 else UNBOUNDED
    return min(alone, 1 / next_utilization) if next_utilization else alone


def clients_at_work(tps: float, response_s: float) -> float:
    """Mean number of clients in the system: N = X·R (Little, *Operations Research* 9, 1961)."""
    return tps * response_s
