"""Multiplies factors out into points, refuses contradictions, and puts the turns in order.

Pure: a specification in, points and turns out. The order is randomized complete blocks,
reproducible by the seed: every block runs every point once, in its own random order, so that drift
over time (temperature, neighbours, the state of the disk) affects all points alike and cancels out
when points are compared within blocks.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Any

from dbdyno.errors import DbdynoError
from dbdyno.model.study import Contrast, Factor, Point, StudySpec, Turn, key_of
from dbdyno.study.sizes import merged

SEED_BITS = 32


def points_of(spec: StudySpec) -> list[Point]:
    """Return every combination of levels not excluded, the last factor varying fastest."""
    names = [factor.name for factor in spec.factors]
    points = []
    for levels in product(*(factor.levels for factor in spec.factors)):
        named = dict(zip(names, (level.name for level in levels), strict=True))
        is_excluded = any(
            all(named[factor] in left_out for factor, left_out in excluded.items())
            for excluded in spec.excluded
        )
        if not is_excluded:
            options = merged(spec.base, *(level.options for level in levels))
            hook = next((level.hook for level in levels if level.hook), "")
            points.append(Point(key=key_of(named), levels=named, options=options, hook=hook))
    return points


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


def refuse_contradictions(spec: StudySpec) -> None:
    """Refuse factors, exclusions and contrasts that contradict each other."""
    _refuse_shared_options(spec.factors)
    points = points_of(spec)
    if not points:
        raise _contradiction("[[exclude]] leaves no point", "Exclude less.")
    for factor in spec.factors:
        left = {point.levels[factor.name] for point in points}
        if len(factor.levels) > 1 and len(left) == 1:
            raise _contradiction(
                f"[[exclude]] leaves only {min(left)!r} of the factor {factor.name}",
                "Exclude less, or put that level's options into [base].",
            )
    for contrast in spec.contrasts:
        if not any(pairs_of(contrast, points)):
            raise _contradiction(
                f"[[exclude]] leaves no points to compare {contrast.before!r} with "
                f"{contrast.after!r} of {contrast.factor} at equal levels of the other factors",
                "Exclude less, or leave the contrast out.",
            )


def pairs_of(contrast: Contrast, points: Sequence[Point]) -> Iterator[tuple[Point, Point]]:
    """Yield the pairs of points of a contrast, at equal levels of all other factors."""
    by_levels = {tuple(point.levels.items()): point for point in points}
    for point in points:
        if point.levels[contrast.factor] == contrast.before:
            other = {**point.levels, contrast.factor: contrast.after}
            after = by_levels.get(tuple(other.items()))
            if after is not None:
                yield point, after


def _refuse_shared_options(factors: Sequence[Factor]) -> None:
    """Refuse an option that two factors set: only the later one would take effect."""
    for one, other in combinations(factors, 2):
        shared = set.intersection(
            *(
                {option for level in factor.levels for option in options_in(level.options)}
                for factor in (one, other)
            )
        )
        if shared:
            raise _contradiction(
                f"the factors {one.name} and {other.name} both set {min(shared)}",
                "Combine them into one factor, with a level for each combination.",
            )


def options_in(options: Mapping[str, Any]) -> Iterator[str]:
    """Yield the options that words set, ``set.jit`` for a name within a table."""
    for name, value in options.items():
        if isinstance(value, Mapping):
            yield from (f"{name}.{inner}" for inner in value)
        else:
            yield name


def _contradiction(message: str, hint: str) -> DbdynoError:
    return DbdynoError("contradiction", message, hint)
