"""Frames of a made-up run: a seeded simulation of latencies, in the shape of a real
run (log-normal service times with a tail of checkpoints, a dip, a few deadlocks).
"""

import dataclasses
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np

from dbdyno.model import frame as frames, plan as plans
from dbdyno.model.record import RunRecord
from dbdyno.store.run import RunFolder
from dbdyno.store.writer import RunWriter
from tests.store import hdr
from tests.store.hdr import HISTOGRAMS

SQL = (
    "BEGIN;",
    "UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;",
    "SELECT abalance FROM pgbench_accounts WHERE aid = :aid;",
    "UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;",
    "UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;",
    "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) "
    "VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);",
    "END;",
)
MEDIANS_US = (25, 90, 40, 85, 260, 60, 480)
PASSWORD = "hunter2-secret"
SECOND_NS = 1_000_000_000
_EMPTY = frames.Distribution(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, b"")


@dataclass
class Shape:
    seconds: int = 60
    warmup: int = 3
    tps: int = 1500
    statements: int = len(SQL)
    seed: int = 7
    open_loop: bool = False
    slowest: int = 3
    done: bool = True
    spread: float = 0.35
    """Standard deviation of the logarithm of a statement's times."""
    window_s: int = 10
    script: str = "tpcb"
    sql: tuple[str, ...] = SQL
    deadlock_message: str = "deadlock detected"
    rng: np.random.Generator = field(init=False)

    def __post_init__(self):
        self.rng = np.random.default_rng(self.seed)


def plan(script: str = "tpcb") -> plans.Plan:
    return plans.Plan(
        endpoint=plans.Endpoint(
            address=plans.Address(unix=plans.UnixSocket(path="/tmp/pg/.s.PGSQL.5432")),
            user="postgres",
            password=PASSWORD,
            database="postgres",
        ),
        scripts=[plans.Script(name=script, text="\\set aid random(1, 100000)\nSELECT :aid;")],
        seed=42,
        clients=8,
        threads=2,
        arrivals=plans.Arrivals(closed=plans.ClosedArrivals()),
        stages=[plans.Stage(duration_ns=60 * SECOND_NS)],
    )


def record(**changes: Any) -> RunRecord:
    known = RunRecord(
        run_id="",
        status="running",
        started_at="2026-11-20T21:42:03+00:00",
        workload="tpcb",
        target=f"postgresql://postgres:{PASSWORD}@db.example:5432/postgres",
        seed=42,
    )
    return msgspec.structs.replace(known, **changes)


def bucket_of(values_ns):
    """The index of a value's bucket, by the rule of ``frame.Distribution``."""
    octave = np.maximum(np.frexp(values_ns.astype(np.float64))[1] - 4, 0)
    return octave * 8 + (values_ns >> octave)


def distribution(values_ns):
    if not len(values_ns):
        return _EMPTY
    values = np.sort(np.asarray(values_ns, dtype=np.int64))
    indexes, counts = np.unique(bucket_of(values), return_counts=True)
    packed = np.zeros(len(indexes), dtype=[("i", "<u2"), ("n", "<u4")])
    packed["i"], packed["n"] = indexes, counts
    ranks = [
        max(int(np.ceil(q * len(values))) - 1, 0) for q in (0.5, 0.9, 0.95, 0.99, 0.999, 0.9999)
    ]
    return frames.Distribution(
        len(values),
        int(values.sum()),
        int(values[0]),
        int(values[-1]),
        *(int(values[rank]) for rank in ranks),
        packed.tobytes(),
    )


def _statement_times(shape, count, slowness):
    """Service times of each statement of ``count`` transactions, in nanoseconds."""
    medians = np.resize(MEDIANS_US, shape.statements) * 1000.0 * slowness
    times = medians * np.exp(shape.rng.normal(0, shape.spread, (count, shape.statements)))
    tail = shape.rng.random((count, shape.statements)) < 0.002
    return (times * np.where(tail, shape.rng.pareto(1.6, times.shape) * 6 + 1, 1)).astype(np.int64)


def _slowness(second, seconds):
    """The factor on service times: a checkpoint's dip in the middle of the run."""
    distance = abs(second - seconds * 0.6) / max(seconds * 0.05, 1)
    return 1 + 1.2 * np.exp(-(distance**2)) + 0.03 * np.sin(second)


def generate(shape):
    """All frames of the run, in order."""
    yield frames.Hello(
        4711,
        "epoll",
        "io_uring is forbidden in this container",
        2,
        2,
        [
            frames.StatementInfo(0, i, i + 5, shape.sql[i % len(shape.sql)])
            for i in range(shape.statements)
        ],
        [],
    )
    connect = distribution(shape.rng.integers(800_000, 3_000_000, 8))
    yield frames.Connected(8, connect, "15.18", "", list(range(100, 108)))
    begin = 5 * SECOND_NS
    measure = begin + shape.warmup * SECOND_NS
    unix = 1_795_210_923 * SECOND_NS
    yield frames.Started(begin, unix, measure, measure + shape.seconds * SECOND_NS)
    yield from _intervals(shape, begin)


def _intervals(shape, begin):
    all_responses, all_services, all_statements = [], [], []
    window = ([], [], [])
    failed = retried = ok_total = 0
    for index in range(shape.warmup + shape.seconds):
        second = index - shape.warmup
        slowness = _slowness(second, shape.seconds)
        count = int(shape.rng.poisson(shape.tps / slowness))
        times = _statement_times(shape, count, slowness)
        service = times.sum(axis=1) + 5000
        wait = shape.rng.exponential(2e5 * slowness**3, count).astype(np.int64)
        response = service + (wait if shape.open_loop else 0)
        measured = second >= 0
        bad = int(shape.rng.poisson(0.3)) if measured else 0
        failed, retried = failed + bad, retried + 2 * bad
        if measured:
            ok_total += count
            for kept, values in zip(window, (response, service, times), strict=True):
                kept.append(values)
        begin_ns = begin + index * SECOND_NS
        yield frames.Interval(
            index=index,
            phase="measure" if measured else "warmup",
            begin_ns=begin_ns,
            end_ns=begin_ns + SECOND_NS,
            completed_ok=count,
            completed_failed=bad,
            counters=_counters(ok_total, failed, retried),
            failures=_failures(failed, shape),
            scripts=[
                frames.ScriptInterval(
                    count,
                    bad,
                    0,
                    distribution(response),
                    distribution(service) if shape.open_loop else None,
                )
            ],
            statements=[distribution(times[:, i]) for i in range(shape.statements)],
            failed_response=distribution(shape.rng.integers(10**9, 11 * 10**8, bad)),
            connects=_EMPTY,
            engine=frames.EngineInterval(
                180_000,
                distribution(shape.rng.integers(500, 90_000, 200)),
                count * 700,
                count * 900,
                count * 7,
                9000,
                30,
            ),
            slowest=_slowest(shape, begin_ns, response, service, times),
        )
        if measured and (
            second % shape.window_s == shape.window_s - 1 or second == shape.seconds - 1
        ):
            joined = [np.concatenate(kept) for kept in window]
            for total, values in zip(
                (all_responses, all_services, all_statements), joined, strict=True
            ):
                total.append(values)
            yield frames.Window(
                begin_ns - 9 * SECOND_NS, begin_ns + SECOND_NS, *_histograms(shape, *joined)
            )
            window = ([], [], [])
    if shape.done:
        yield _done(shape, ok_total, failed, retried, all_responses, all_services, all_statements)


def _counters(ok, failed, retried):
    started = ok + failed + 8
    return frames.Counters(started, started, 0, 0, ok, failed, 8, 0, retried, retried, 0)


def _failures(failed, shape):
    if not failed:
        return []
    return [frames.FailureCount("deadlock", "40P01", failed, shape.deadlock_message)]


def _slowest(shape, begin_ns, response, service, times):
    slow = []
    for place in np.argsort(response)[::-1][: shape.slowest].tolist():
        done = begin_ns + SECOND_NS // 2 + place
        slow.append(
            frames.SlowTransaction(
                0,
                place % 8,
                place,
                done - int(response[place]),
                done - int(service[place]),
                done,
                1,
                list(enumerate(times[place].tolist())),
            )
        )
    return slow


def _histograms(shape, response, service, times):
    encoded = hdr.encode(service) if shape.open_loop else None
    script = frames.WindowScript(hdr.encode(response), encoded)
    return [script], [hdr.encode(times[:, i]) for i in range(shape.statements)]


def _done(shape, ok, failed, retried, *measured):
    response, service, times = (np.concatenate(parts) for parts in measured)
    scripts, by_statement = _histograms(shape, response, service, times)
    return frames.Done(
        end="complete",
        reason="",
        measured_ns=shape.seconds * SECOND_NS,
        counters=frames.Counters(
            ok + failed, ok + failed, 0, 0, ok, failed, 0, 0, retried, retried, 0
        ),
        failures=_failures(failed, shape),
        response=hdr.encode(response),
        service=hdr.encode(service),
        scripts=scripts,
        statements=by_statement,
        failed_response=hdr.encode(np.full(max(failed, 1), 10**9)),
        unfinished_ages_ns=[],
        cpu_us=int(180_000 * shape.seconds),
        lateness=hdr.encode(shape.rng.integers(500, 90_000, 2000)),
        invalid_reasons=[],
    )


def packed(shape: Shape) -> list[bytes]:
    """The frames as the engine sends them."""
    return [msgspec.msgpack.encode(frame) for frame in generate(shape)]


def finish(writer: RunWriter, final: RunRecord) -> None:
    """Finishes the run with the given record instead of one computed from its frames."""
    whole = RunFolder(writer.folder).load(HISTOGRAMS)
    writer.finish(dataclasses.replace(whole, record=final))
