"""The order of turns: randomized complete blocks, reproducible by the seed.

Every block runs every point once, in its own random order, so that drift over time (temperature,
neighbours, the state of the disk) affects all points alike and cancels out when points are compared
within blocks.
"""

import random
from collections.abc import Sequence

from dbdyno.model.study import Point, Turn

SEED_BITS = 32


def turns_of(points: Sequence[Point], repeats: int, seed: int) -> list[Turn]:
    """Return all turns, in the order in which they are run."""
    turns: list[Turn] = []
    for block in range(1, repeats + 1):
        chance = random.Random(f"{seed}/{block}")  # the same in every version of Python 3
        work = chance.getrandbits(SEED_BITS)
        keys = [point.key for point in points]
        chance.shuffle(keys)
        turns += [
            Turn(number=len(turns) + place, block=block, point=key, seed=work)
            for place, key in enumerate(keys, start=1)
        ]
    return turns
