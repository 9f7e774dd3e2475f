"""The cost of the engine's reports on its clients, which cannot be switched within a run.

If the engine reports which statement each client waits for, it does so during the whole load, and
the reader of its frames reads these reports too. So the cost is the difference in CPU time of a
nearly idle load with and without them, which noise does not affect.
"""

import time

from msgspec.structs import replace

from bench.engine import engine_of, frames_of
from dbdyno.model.frame import Interval, Started
from dbdyno.model.plan import Arrivals, OpenArrivals, Plan, Stage

SECONDS = 4
IDLE_TPS = 1.0


def activity_cores(plan: Plan) -> float:
    """CPU cores that it uses at the plan's sampling rate, in the engine and in its reader."""
    if plan.activity_interval_ns is None:
        return 0.0
    idle = replace(
        plan,
        arrivals=Arrivals(open=OpenArrivals()),
        stages=[Stage(duration_ns=SECONDS * 10**9, rate_tps=IDLE_TPS)],
        warmup_ns=0,
    )
    return max(_cores(idle) - _cores(replace(idle, activity_interval_ns=None)), 0.0)


def _cores(plan: Plan) -> float:
    """CPU cores used by the engine, and by this thread, which reads its frames."""
    used_ns = passed_ns = 0
    for frame in frames_of(engine_of(plan)):
        match frame:
            case Started():
                used_ns = -time.thread_time_ns()
            case Interval():
                used_ns += frame.engine.cpu_us * 1000
                passed_ns += frame.end_ns - frame.begin_ns
            case _:
                pass
    return (used_ns + time.thread_time_ns()) / passed_ns
