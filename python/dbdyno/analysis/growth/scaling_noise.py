"""The noise of runs at several levels of one factor, in blocks, for resampling a fitted law.

The logarithm of a run is the sum of the effects of its level and its block and of its own noise.
Resampling residuals rather than runs keeps every level in every draw, and few blocks need not be
drawn several times; residuals are widened for the degrees of freedom that the fit used.
"""

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from dbdyno.analysis.statistics.estimate import Series
from dbdyno.analysis.statistics.probability import student_quantile, variance_ratio_p

_DRAWS = 1000
_UNKNOWNS = 3
_NORMAL_REACH = 1.959964

Matrix = NDArray[np.float64]
Places = NDArray[np.intp]


class Grid(Struct, frozen=True, eq=False):
    """Runs by level and block; ``level`` and ``block`` are indexes for each run."""

    levels: Series
    level: Places
    block: Places
    logarithms: Series
    means: Series
    """Mean logarithm at each level."""

    @classmethod
    def of(cls, runs: Sequence[tuple[float, float, int]]) -> "Grid":
        """Build from (level, value, block) of each run; values are above 0."""
        at, values, blocks = (np.array(column) for column in zip(*runs, strict=True))
        levels, level = np.unique(at.astype(np.float64), return_inverse=True)
        _, block = np.unique(blocks, return_inverse=True)
        logarithms = np.log(values)
        return cls(levels, level, block, logarithms, _means(logarithms, level))

    @property
    def at(self) -> Series:
        """The level of each run."""
        return self.levels[self.level]

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return int(self.block.max()) + 1

    @property
    def pure_freedom(self) -> int:
        """Degrees of freedom of the noise that no law could explain."""
        return len(self.level) - len(self.levels) - (self.blocks - 1)


def _means(values: Series, places: Places) -> Series:
    return np.bincount(places, values) / np.bincount(places)


def _apart(grid: Grid, rest: Series) -> tuple[Series, Series]:
    """Split residuals into a part per block and a part per run."""
    of_block = _means(rest, grid.block)
    return of_block, rest - of_block[grid.block]


def drawn_series(grid: Grid, fitted: Series, chance: np.random.Generator) -> Matrix:
    """Resampled logarithms of all runs around a law, one row per draw."""
    of_block, own = _apart(grid, grid.logarithms - fitted)
    freedom = len(own) - _UNKNOWNS - (grid.blocks - 1)
    drawn = fitted + _drawn(own, freedom, len(own), chance)
    if grid.blocks > 1:
        centred = of_block - of_block.mean()
        drawn += _drawn(centred, grid.blocks - 1, grid.blocks, chance)[:, grid.block]
    return drawn


def drawn_means(grid: Grid, chance: np.random.Generator) -> Matrix | None:
    """Resampled means of the levels; None without repeats to draw from.

    Block effects are omitted: they move all levels alike.
    """
    if grid.pure_freedom < 1:
        return None
    _, own = _apart(grid, grid.logarithms - grid.means[grid.level])
    drawn = _drawn(own, grid.pure_freedom, len(own), chance)
    share = np.zeros((len(own), len(grid.levels)))
    share[np.arange(len(own)), grid.level] = 1 / np.bincount(grid.level)[grid.level]
    means: Matrix = grid.means + drawn @ share
    return means


def _drawn(rest: Series, freedom: int, count: int, chance: np.random.Generator) -> Matrix:
    """Residuals drawn with replacement, widened for their small number."""
    known = max(freedom, 1)
    wider = math.sqrt(len(rest) / known) * student_quantile(known) / _NORMAL_REACH
    return wider * chance.choice(rest, (_DRAWS, count))


def misfit_p(grid: Grid, fitted_levels: Series, unknowns: int) -> float | None:
    """The p of the lack-of-fit F test: how often noise alone makes a law miss the means so far.

    None without repeats, or without more levels than unknowns.
    """
    freedom = len(grid.levels) - unknowns
    if freedom < 1 or grid.pure_freedom < 1:
        return None
    _, own = _apart(grid, grid.logarithms - grid.means[grid.level])
    noise = float(own @ own) / grid.pure_freedom
    missed = float(np.bincount(grid.level) @ (grid.means - fitted_levels) ** 2) / freedom
    return variance_ratio_p(missed / noise, freedom, grid.pure_freedom) if noise else 0.0
