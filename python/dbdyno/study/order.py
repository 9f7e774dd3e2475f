"""The order of turns: randomised complete blocks, the same for the same seed.

Every block runs every point once, in an order of its own, so that what drifts with time
(temperature, neighbours, the state of the disk) falls on all points alike and goes out when
points are compared within blocks.
"""

import random
from collections.abc import Sequence

from dbdyno.model.study import Point, Turn

SEED_BITS = 32


def turns_of(points: Sequence[Point], repeats: int, seed: int) -> list[Turn]:
    """All turns, in the order in which they are to be made."""
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
