"""Small frames for tests, with defaults for what a test does not need."""

import struct

from dbdyno.model.frame import (
    Counters,
    Distribution,
    Done,
    EngineInterval,
    Interval,
    ScriptInterval,
    Started,
)

SECOND_NS = 1_000_000_000


def counters(ok: int = 100, failed: int = 0, **others: int) -> Counters:
    names = dict.fromkeys(Counters.__struct_fields__, 0)
    return Counters(
        **{**names, "ok": ok, "committed": ok, "failed": failed, "due": ok, "started": ok, **others}
    )


def distribution(buckets: dict[int, int]) -> Distribution:
    packed = b"".join(struct.pack("<HI", index, count) for index, count in buckets.items())
    return Distribution(sum(buckets.values()), *[0] * 9, buckets=packed)


def interval(
    index: int = 0, *, phase: str = "measure", ok: int = 100, buckets: dict[int, int] | None = None
) -> Interval:
    """Return one of a series of equal intervals, whose counters add up from index 0."""
    empty = distribution({})
    script = ScriptInterval(ok, 0, 0, distribution(buckets or {100: ok}), None)
    return Interval(
        index=index,
        phase=phase,
        begin_ns=index * SECOND_NS,
        end_ns=(index + 1) * SECOND_NS,
        completed_ok=ok,
        completed_failed=0,
        counters=counters(ok * (index + 1)),
        failures=[],
        scripts=[script],
        statements=[],
        failed_response=empty,
        connects=empty,
        engine=EngineInterval(0, empty, 0, 0, 0, 0, 0),
        slowest=[],
    )


def started(measure_begin_ns: int = 0) -> Started:
    return Started(0, 0, measure_begin_ns, None)


def done(end: str = "complete", *, measured_ns: int = 30 * SECOND_NS, **others) -> Done:
    return Done(
        end=end,
        reason=others.pop("reason", ""),
        measured_ns=measured_ns,
        counters=others.pop("counted", counters()),
        failures=[],
        response=b"",
        service=b"",
        scripts=[],
        statements=[],
        failed_response=b"",
        unfinished_ages_ns=[],
        cpu_us=0,
        lateness=b"",
        invalid_reasons=others.pop("invalid_reasons", []),
    )
