"""A randomization test: whether spans of a series differ from the rest more than random ones.

The same number of spans of the same lengths is placed at random, many times, each independently: a
common shift of all of them would hit periodic events again and again. They may overlap the true
ones. Excluding these seems sharper but is wrong: if the true spans coincide with a dip by accident,
fewer dips remain for the random ones, and in runs with dips that no event had caused the test
blamed events twice as often as its level allows.
"""

import numpy as np

from dbdyno.analysis.statistics.estimate import Series
from dbdyno.analysis.statistics.spans import Mask, Places, Span, extended_to_low_end

TRIALS = 999
_SEED = 20_260_101


def randomization_p(series: Series, spans: list[Span], is_low: Mask) -> float:
    """The share of random placements whose mean exceeds the rest's by at least as much.

    ``is_low`` are samples over which a span that touches them is extended, wherever it is placed.
    """
    begins, ends = np.array([spans]).transpose(2, 0, 1)
    observed = _contrasts(series, *_extended(begins, ends, is_low))[0]
    placements = _random_placements((ends - begins)[0], len(series))
    random_contrasts = _contrasts(series, *_extended(*placements, is_low))
    return float(1 + (random_contrasts >= observed).sum()) / (1 + TRIALS)


def _random_placements(lengths: Places, samples: int) -> tuple[Places, Places]:
    """Begins and ends of spans that do not overlap, in order: a row per trial, a column per span.

    On a circle, so that a span at the edge is like any other: what goes beyond the last sample
    continues at the first.
    """
    rng = np.random.default_rng(_SEED)
    shuffled = rng.permuted(np.tile(lengths, (TRIALS, 1)), axis=1)
    free = samples - int(lengths.sum())
    gaps = rng.integers(0, free + 1, shuffled.shape)
    gaps[:, 0] = 0
    rotation = rng.integers(0, samples, (TRIALS, 1))
    ends = np.sort(gaps, axis=1) + np.cumsum(shuffled, axis=1) + rotation
    return ends - shuffled, ends


def _extended(begins: Places, ends: Places, is_low: Mask) -> tuple[Places, Places]:
    """The same spans, each extended to the end of the low samples after it or to the next span."""
    rounds, last = np.divmod(ends - 1, len(is_low))
    extended_ends = rounds * len(is_low) + extended_to_low_end(last + 1, is_low)
    next_begins = np.append(begins[:, 1:], begins[:, :1] + len(is_low), axis=1)
    return begins, np.minimum(extended_ends, next_begins)


def _contrasts(series: Series, begins: Places, ends: Places) -> Series:
    """Mean inside − mean outside, one element per row; positions wrap around at most twice."""
    sums = np.append(0.0, np.cumsum(np.tile(series, 2)))
    inside = (sums[ends] - sums[begins]).sum(axis=1)
    samples = (ends - begins).sum(axis=1)
    rest = np.maximum(len(series) - samples, 1)
    contrasts: Series = inside / samples - (sums[len(series)] - inside) / rest
    return contrasts
