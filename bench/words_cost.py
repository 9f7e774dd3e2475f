"""What it takes to tell telemetry what the clients do, which cannot be switched within a run.

The engine looks at its clients from the load's begin to its end if it is to do so at all, and
whoever reads its frames reads these, too. So it is the processor time of a load with hardly
anything to do, with these frames and without them: noise does not move it.
"""

import time

from msgspec.structs import replace

from bench.engine import engine_of, frames_of
from dbdyno.model.frame import Interval, Started
from dbdyno.model.plan import Arrivals, OpenArrivals, Plan, Stage

SECONDS = 4
IDLE_TPS = 1.0


def words_cores(plan: Plan) -> float:
    """Processors that it takes at the plan's pace, the engine's side and ours."""
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
    """Of the engine, and of this thread, which reads what it says."""
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
