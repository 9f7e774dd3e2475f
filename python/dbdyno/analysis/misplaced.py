"""Whether stretches of a series differ from the rest more than stretches elsewhere would.

The same number of stretches of the same lengths is placed at random, many times, each on its
own: a shift of them all together would hit periodic events again and again. They may come to
lie on the true ones. Keeping them away from there looks sharper and is wrong: where true ones
have met with a dip by accident it leaves chance fewer dips than they had, and in runs with
dips that no event had caused it blamed events twice as often as agreed.
"""

import numpy as np

from dbdyno.analysis.estimate import Series
from dbdyno.analysis.stretches import Mask, Places, Span, prolonged

TRIALS = 999
_SEED = 20_260_101


def chance(series: Series, spans: list[Span], is_low: Mask) -> float:
    """The part of random placements whose mean lies as far above the rest's as that inside.

    ``is_low`` are samples over which a stretch is thought to last that touches them, wherever
    it was placed.
    """
    begins, ends = np.array([spans]).transpose(2, 0, 1)
    observed = _contrasts(series, *_lasting(begins, ends, is_low))[0]
    misplaced = _misplaced((ends - begins)[0], len(series))
    elsewhere = _contrasts(series, *_lasting(*misplaced, is_low))
    return float(1 + (elsewhere >= observed).sum()) / (1 + TRIALS)


def _misplaced(lengths: Places, samples: int) -> tuple[Places, Places]:
    """Begins and ends that do not overlap, in order: a row a trial, a column a stretch.

    On a circle, so that a stretch at the edge is like any other: what goes beyond the last
    sample goes on at the first.
    """
    rng = np.random.default_rng(_SEED)
    shuffled = rng.permuted(np.tile(lengths, (TRIALS, 1)), axis=1)
    room = samples - int(lengths.sum())
    gaps = rng.integers(0, room + 1, shuffled.shape)
    gaps[:, 0] = 0
    turned = rng.integers(0, samples, (TRIALS, 1))
    ends = np.sort(gaps, axis=1) + np.cumsum(shuffled, axis=1) + turned
    return ends - shuffled, ends


def _lasting(begins: Places, ends: Places, is_low: Mask) -> tuple[Places, Places]:
    """The same stretches, each to the end of what is low after it or to the next one."""
    rounds, last = np.divmod(ends - 1, len(is_low))
    lasting = rounds * len(is_low) + prolonged(last + 1, is_low)
    next_begins = np.append(begins[:, 1:], begins[:, :1] + len(is_low), axis=1)
    return begins, np.minimum(lasting, next_begins)


def _contrasts(series: Series, begins: Places, ends: Places) -> Series:
    """Mean inside − mean outside, an element a row; places go round twice at most."""
    sums = np.append(0.0, np.cumsum(np.tile(series, 2)))
    inside = (sums[ends] - sums[begins]).sum(axis=1)
    samples = (ends - begins).sum(axis=1)
    rest = np.maximum(len(series) - samples, 1)
    contrasts: Series = inside / samples - (sums[len(series)] - inside) / rest
    return contrasts
