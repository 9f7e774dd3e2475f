"""One turn of a study: a prepared server, a run, and its outcome.

A failure that concerns the point is stored as its result: a server that does not start with a
variant is an outcome of the study. A failure that would affect every further turn (a full disk)
stops the study instead, and so does its user.
"""

import errno
import traceback
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

from msgspec import structs

from dbdyno.errors import DbdynoError
from dbdyno.formatting import gigabytes
from dbdyno.model.record import RunRecord
from dbdyno.model.study import BLOCK, POINT, STUDY, Turn, TurnResult
from dbdyno.run.interrupts import end_with
from dbdyno.run.job import Job
from dbdyno.run.runner import run
from dbdyno.run.tools import Tools
from dbdyno.servers.base import Server
from dbdyno.study.clocks import Clock, clock_jumps
from dbdyno.study.hook import HOOK_FAILED, run_hook
from dbdyno.study.machine import disk_free_bytes
from dbdyno.study.observer import StudyObserver, TurnWatch
from dbdyno.study.resolved_point import ResolvedPoint
from dbdyno.study.turn_server import TurnServer

DISK_SPARE_BYTES = 100_000_000
DISK_LEFT_MIN_BYTES = 1_000_000
"""A server that dies of a full disk leaves its clients only a lost connection."""

STOPPING_CODES = frozenset({"disk_full", "not_writable", "home_unwritable", HOOK_FAILED})


@dataclass(frozen=True)
class Bench:
    """What every turn of a study uses."""

    study_id: str
    turn_server: TurnServer
    tools: Tools
    observer: StudyObserver
    clock: Clock
    hooked: list[Turn] = field(default_factory=list)
    """The turns whose hooks succeeded, in their order."""


def make_turn(bench: Bench, turn: Turn, point: ResolvedPoint) -> TurnResult:
    """Run the turn; raises what stops the study. :func:`end_turn` ends the server."""
    _refuse_full_disk(point.data_bytes)
    watch = TurnWatch(bench.observer, bench.clock)
    try:
        outcome = _outcome(_measured(bench, turn, point, watch))
    except Exception as error:  # not even a defect in dbdyno may end a study of many hours
        outcome = {"status": "failed", "error": _error(error)}
    if outcome["status"] != "done" and disk_free_bytes() < DISK_LEFT_MIN_BYTES:
        raise _disk_full(outcome["error"]["message"])  # such a turn says nothing about its point
    end = bench.clock()
    return TurnResult(
        turn=turn,
        began_at=watch.begin.text,
        spent=structs.replace(watch.spent(end), load_s=bench.turn_server.load_s),
        notes=[
            *bench.turn_server.notes,
            *watch.verified,
            *clock_jumps(watch.begin, end),
        ],
        **outcome,
    )


def end_turn(bench: Bench, result: TurnResult) -> TurnResult:
    """End the server unless the next turn uses it, too; return the result with that time added.

    Called after the result was stored: an error here must not lose what was measured.
    """
    begin = bench.clock()
    if result.status == "failed":
        bench.turn_server.release()
    else:
        bench.turn_server.end_turn()
    ending_s = bench.clock().steady - begin.steady
    spent = structs.replace(result.spent, prepare_s=result.spent.prepare_s + ending_s)
    return structs.replace(result, spent=spent)


def tagged(job: Job, study_id: str, turn: Turn) -> Job:
    """Return the job with the turn's seed, and tags by which its run can be found."""
    tags = ((STUDY, study_id), (POINT, turn.point), (BLOCK, str(turn.block)))
    return job.with_options(seed=turn.seed, tags=(*job.options.tags, *tags))


def _measured(bench: Bench, turn: Turn, point: ResolvedPoint, watch: TurnWatch) -> RunRecord:
    server = bench.turn_server.server_for(point, turn.block)
    job = tagged(bench.turn_server.job_for(point), bench.study_id, turn)
    if point.point.hook:
        _hook(bench, turn, point, server)
    return run(job, bench.tools, watch, server).record


def _hook(bench: Bench, turn: Turn, point: ResolvedPoint, server: Server | None) -> None:
    reached = nullcontext(server) if server else point.job.server.open(point.job.clients)
    with reached as known:
        run_hook(point.point.hook, turn, known, bench.hooked[-1] if bench.hooked else None)
    bench.hooked.append(turn)


def _outcome(record: RunRecord) -> dict[str, Any]:
    """Return what the end of a run means for its turn."""
    end_with(record)
    result: dict[str, Any] = {"run_id": record.run_id, "status": "done"}
    if record.status == "done" and record.valid:
        return result
    failures = [f"{failure.count} × {failure.message}" for failure in record.failures]
    message = "; ".join([*record.invalid_reasons, *failures]) or "the run failed"
    if record.disk_full:
        raise _disk_full(message)
    error = {"code": "run_failed", "message": message, "hint": f"dbdyno report {record.run_id}"}
    status = "invalid" if record.status == "done" else "failed"
    return {**result, "status": status, "error": error}


def _error(error: Exception) -> dict[str, str]:
    """Return why there is no run; raise an error that the point is not responsible for."""
    if isinstance(error, DbdynoError):
        if error.code in STOPPING_CODES:
            raise error
        return {"code": error.code, "message": error.message, "hint": error.hint}
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        raise _disk_full(error.strerror or str(error)) from error
    place = traceback.extract_tb(error.__traceback__)[-1]
    message = f"{type(error).__name__}: {error}"
    hint = f"This is a bug in dbdyno, in {place.name} ({place.filename}:{place.lineno})."
    return {"code": "unexpected", "message": message, "hint": hint}


def _refuse_full_disk(data_bytes: int) -> None:
    free, needed = disk_free_bytes(), data_bytes + DISK_SPARE_BYTES
    if free < needed:
        raise _disk_full(f"the next turn needs {gigabytes(needed)}, but {gigabytes(free)} are free")


def _disk_full(message: str) -> DbdynoError:
    return DbdynoError("disk_full", message, "Free some space, then continue.", exit_code=2)
