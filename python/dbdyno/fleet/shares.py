"""How a load is split: whole threads, dealt out so that every beginning of them is in proportion.

A client belongs to a thread, and an arrival to a client: with the threads, clients, rates and
stages are split. What a client does depends on its number alone, so all agents together do the
transactions of one.
"""

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


def dealt(counts: Sequence[int]) -> list[list[int]]:
    """Deal the numbers from 0 on, to each so many, evenly: whoever is furthest behind is next.

    The first clients of a stage, or of a workload's group, are then spread like all.
    """
    total = sum(counts)
    hands: list[list[int]] = [[] for _ in counts]
    for number in range(total):
        behind = [
            (number + 1) * count - len(hand) * total if len(hand) < count else -total * total
            for count, hand in zip(counts, hands, strict=True)
        ]
        hands[behind.index(max(behind))].append(number)
    return hands
