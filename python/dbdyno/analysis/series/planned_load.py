"""The load that a run's plan defines: open or closed loop, constant or in stages.

Whatever judges throughput over time checks here first: a planned change is no event, no loss and no
symptom. This module does not look at measurements.
"""

from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from dbdyno.analysis.statistics.estimate import Series
from dbdyno.model.plan import Plan, Script
from dbdyno.model.tables import Column


def is_open_loop(plan: Plan) -> bool:
    """Whether arrivals follow a schedule, however busy the clients are."""
    return bool(plan.arrivals.open)


def has_stages(plan: Plan) -> bool:
    """Whether the load was meant to change while the run lasts."""
    return len(plan.stages) > 1


def has_client_stages(plan: Plan) -> bool:
    """Whether the number of clients was meant to change: then no single number describes it."""
    return len({stage.clients for stage in plan.stages}) > 1


def is_constant_load(plan: Plan) -> bool:
    """Whether the same clients run in a closed loop all the time: the server sets the throughput.

    In an open loop the schedule sets it, and clients may be idle.
    """
    return not has_stages(plan) and not is_open_loop(plan)


def paced_rate_max(plan: Plan, numbers: Sequence[int]) -> float | None:
    """These scripts' transactions a second if none took time; None if clients do not pause so.

    All scripts of their clients need pauses of their own, and the same clients must run all the
    time.
    """
    clients, scripts = _group_of(plan, numbers[0])
    if not all(one.pacing for one in scripts) or has_client_stages(plan):
        return None
    total = sum(one.weight for one in scripts)
    cycle_ns = sum(
        one.weight / total * (one.pacing.keying_ns + one.pacing.think_mean_ns)
        for one in scripts
        if one.pacing
    )
    weight = sum(plan.scripts[number].weight for number in numbers)
    return clients * weight / total / (cycle_ns / 1e9)


def _group_of(plan: Plan, number: int) -> tuple[int, Sequence[Script]]:
    """How many clients run this script, and all scripts that they choose among."""
    first = 0
    for group in plan.groups or ():
        end = first + group.scripts
        if number < end:
            return group.clients, plan.scripts[first:end]
        first = end
    return plan.requesting_clients, plan.scripts


def stage_at(plan: Plan, time_s: Series) -> Column:
    """The stage number at each instant; the warm-up belongs to the first."""
    return np.searchsorted(_ends_s(plan)[:-1], time_s, side="right")


def _ends_s(plan: Plan) -> list[float]:
    """When each stage ends: as exact as the begins of intervals, with which it is compared."""
    return [end_ns / 1e9 for end_ns in accumulate(stage.duration_ns or 0 for stage in plan.stages)]


def client_seconds_planned(plan: Plan, begin_s: Series | float, end_s: Series | float) -> Series:
    """Client time between two instants: the clients of each stage times its seconds.

    Clients beyond those of a stage wait for a later one by plan: their time is none of it. The
    warm-up belongs to the first stage, and what follows the end to the last.
    """
    clients = [stage.clients or plan.clients for stage in plan.stages] or [plan.clients]
    begins_s, finishes_s = np.asarray(begin_s, dtype=float), np.asarray(end_s, dtype=float)
    spent: Series = clients[0] * (finishes_s - begins_s)
    for change_s, before, after in zip(_ends_s(plan), clients, clients[1:], strict=False):
        later_s = np.maximum(finishes_s, change_s) - np.maximum(begins_s, change_s)
        spent = spent + (after - before) * later_s
    return spent


def without_stage_means(plan: Plan, time_s: Series, series: Series) -> Series:
    """A series over time with each stage shifted to the mean of the whole.

    The variation that remains is not due to the plan.
    """
    if not len(series):
        return series
    stage = stage_at(plan, time_s)
    sums, counts = np.bincount(stage, weights=series), np.bincount(stage)
    moved: Series = series - (sums / np.maximum(counts, 1))[stage] + series.mean()
    return moved
