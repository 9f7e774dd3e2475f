"""How a load is split: whole threads, dealt out so that every beginning of them is in proportion.

A client belongs to a thread, and an arrival to a client: with the threads, clients, rates and
stages are split. What a client does depends on its number alone, so all agents together do the
transactions of one.
"""

import heapq
from collections.abc import Sequence


def apportioned(total: int, weights: Sequence[int]) -> list[int]:
    """Split a number by these weights: what is left goes to the largest remainders."""
    all_weights = sum(weights)
    shares = [total * weight // all_weights for weight in weights]
    remainders = [total * weight % all_weights for weight in weights]
    by_remainder = sorted(range(len(weights)), key=lambda place: -remainders[place])
    for place in by_remainder[: total - sum(shares)]:
        shares[place] += 1
    return shares


def clients_of(threads: Sequence[int], all_threads: int, all_clients: int) -> list[int]:
    """Return the clients of these threads, as each engine deals them out."""
    return [client for thread in threads for client in range(thread, all_clients, all_threads)]


def dealt(counts: Sequence[int]) -> list[list[int]]:
    """Deal the numbers from 0 on, to each so many, evenly.

    Of the first n numbers each has its quota, rounded down or up: the k-th of c numbers falls
    between k and k + 1 c-ths of all, and of those that may have the next number, whoever must have
    one soonest gets it (R. Tijdeman, The chairman assignment problem, 1980). The first clients of a
    stage, or of a workload's group, are then spread like all.
    """
    total = sum(counts)
    turns = sorted(
        (turn * total // count, -(-(turn + 1) * total // count), place)
        for place, count in enumerate(counts)
        for turn in range(count)
    )
    hands: list[list[int]] = [[] for _ in counts]
    open_turns: list[tuple[int, int]] = []
    later = iter([*turns, (total, total, 0)])
    first, *window = next(later)
    for number in range(total):
        while first <= number:
            heapq.heappush(open_turns, (window[0], window[1]))
            first, *window = next(later)
        _, place = heapq.heappop(open_turns)
        hands[place].append(number)
    return hands
