"""Reports one cause once, however many points it affects.

A long list of lines that differ only in a point's name hides the one line that does not. Pure:
refusals of single points in, one refusal per cause out, with the levels that its points share.
"""

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from dbdyno.model.study import Factor, Point
from dbdyno.study.feasibility import Refusal


def folded(
    refusals: Iterable[Refusal], factors: Sequence[Factor], points: Sequence[Point]
) -> list[Refusal]:
    """Merge refusals with the same words into one that says which points it concerns."""
    by_text: dict[tuple[str, str], list[str]] = {}
    for one in refusals:
        by_text.setdefault((one.message, one.hint), []).extend(one.points)
    return [
        _placed(Refusal(message=message, hint=hint, points=tuple(keys)), factors, points)
        for (message, hint), keys in by_text.items()
    ]


def _placed(refusal: Refusal, factors: Sequence[Factor], points: Sequence[Point]) -> Refusal:
    if not refusal.points:
        return refusal
    met = [point for point in points if point.key in refusal.points]
    return replace(refusal, message=f"{refusal.message}: {_where(met, factors, points)}")


def _where(met: Sequence[Point], factors: Sequence[Factor], points: Sequence[Point]) -> str:
    """Return ``36 of 72 points, engine postgres``: levels of factors that are partly affected."""
    if len(met) == 1:
        return met[0].key
    if len(met) == len(points):
        return f"all {len(points)} points"
    parts = [f"{len(met)} of {len(points)} points", *_levels(met, factors, points)]
    return ", ".join(parts)


def _levels(
    met: Sequence[Point], factors: Sequence[Factor], points: Sequence[Point]
) -> Iterator[str]:
    for factor in factors:
        known = [level.name for level in factor.levels]
        here, there = ({point.levels[factor.name] for point in side} for side in (met, points))
        if here != there:
            yield f"{factor.name} {_span([name for name in known if name in here], known)}"


def _span(names: Sequence[str], known: Sequence[str]) -> str:
    """Name levels that are adjacent in the file by the first and the last."""
    first = known.index(names[0])
    if len(names) > 2 and list(names) == list(known[first : first + len(names)]):
        return f"{names[0]} to {names[-1]}"
    return " and ".join(names)
