"""What load a run was asked for: in which loop, whether it was meant to stay one, its stages.

Who judges how throughput went asks here first: what was asked for is no event, no loss and no
symptom. Of what then came nothing is said.
"""

from collections.abc import Mapping
from itertools import accumulate
from typing import Any

import numpy as np

from dbdyno.analysis.estimate import Series
from dbdyno.model.recording import Column

Plan = Mapping[str, Any]


def is_open_loop(plan: Plan) -> bool:
    """Whether arrivals followed a schedule, whoever was at work."""
    return "open" in plan.get("arrivals", {})


def has_stages(plan: Plan) -> bool:
    """Whether the load was meant to change while the run lasts."""
    return len(plan.get("stages", ())) > 1


def is_of_one_level(plan: Plan) -> bool:
    """Whether the server alone sets the throughput, and with the same clients all the time.

    In an open loop it is that of the schedule, and clients are idle at will.
    """
    return not has_stages(plan) and not is_open_loop(plan)


def stage_at(plan: Plan, time_s: Series) -> Column:
    """The number of the stage of each instant; the warm-up runs as the first."""
    lengths_s = [(stage["duration_ns"] or 0) / 1e9 for stage in plan.get("stages", ())]
    return np.searchsorted([*accumulate(lengths_s[:-1])], time_s, side="right")


def within_stages(plan: Plan, time_s: Series, series: Series) -> Series:
    """A series over time with each stage of it moved to the mean of all.

    What is left of its variation is what nobody asked for.
    """
    if not len(series):
        return series
    stage = stage_at(plan, time_s)
    sums, counts = np.bincount(stage, weights=series), np.bincount(stage)
    moved: Series = series - (sums / np.maximum(counts, 1))[stage] + series.mean()
    return moved
