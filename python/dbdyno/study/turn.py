"""One turn of a study: a prepared server, a run, and its outcome.

A failure that concerns the point is stored as its result: a server that does not start with a
variant is an outcome of the study. A failure that would affect every further turn (a full disk)
stops the study instead, and so does its user.
"""

import errno
import traceback
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from types import TracebackType
from typing import Any, Self

from msgspec.structs import replace

from dbdyno.errors import DbdynoError
from dbdyno.formatting import gigabytes
from dbdyno.model.frame import Interval, Started
from dbdyno.model.plan import Plan
from dbdyno.model.record import RunRecord
from dbdyno.model.study import BLOCK, POINT, STUDY, DataLoad, Spent, StudyRecord, Turn, TurnResult
from dbdyno.run.observer import Observer, Relay
from dbdyno.run.runner import end_with, run
from dbdyno.run.tools import Tools
from dbdyno.study.clocks import Clock, Instant, clock_jumps
from dbdyno.study.hook import HOOK_FAILED, run_hook
from dbdyno.study.machine import DISK_SPARE_BYTES, disk_free_bytes, disk_full
from dbdyno.study.plan import connections_of
from dbdyno.study.resolved_point import ResolvedPoint
from dbdyno.study.turn_server import TurnServer

DISK_LEFT_MIN_BYTES = 1_000_000
"""A server that dies of a full disk leaves its clients only a lost connection."""

STOPPING_CODES = frozenset(
    {"disk_full", "not_writable", "home_unwritable", "not_quiet", HOOK_FAILED}
)
NOT_REACHED_CODES = frozenset({"unreachable", "cannot_connect"})
"""Of a server that is not the study's: no turn could be made on it, whatever its point is."""


class Turns:
    """Makes turns, one after the other; a context manager that ends the last server."""

    def __init__(
        self,
        record: StudyRecord,
        points: Mapping[str, ResolvedPoint],
        tools: Tools,
        observer: Observer,
        clock: Clock,
    ) -> None:
        connections = connections_of([*points.values()])
        self._study_id = record.study_id
        self._points = points
        self._server = TurnServer(record.spec, connections, tools, observer)
        self._tools = tools
        self._observer = observer
        self._clock = clock
        self._hooked: Turn | None = None
        """The last turn whose hook succeeded."""

    @property
    def loads(self) -> Mapping[str, DataLoad]:
        """The loading of each point's data so far, by the point's key."""
        return self._server.data.loads

    def make(self, turn: Turn) -> TurnResult:
        """Run the turn; raises what stops the study. :meth:`end` ends the server."""
        point = self._points[turn.point]
        if disk_free_bytes() < DISK_SPARE_BYTES:
            raise disk_full(f"less than {gigabytes(DISK_SPARE_BYTES)} are free")
        watch = _TurnWatch(self._observer, self._clock)
        try:
            outcome = _outcome(self._measured(turn, point, watch))
        except Exception as error:  # not even a defect in dbdyno may end a study of many hours
            outcome = {"status": "failed", "error": _error(error, point)}
        if outcome["status"] != "done" and disk_free_bytes() < DISK_LEFT_MIN_BYTES:
            raise disk_full(outcome["error"]["message"])  # it says nothing about its point
        end = self._clock()
        return TurnResult(
            turn=turn,
            began_at=watch.begin.text,
            spent=replace(watch.spent(end), load_s=self._server.load_s),
            notes=[*self._server.notes, *watch.verified, *clock_jumps(watch.begin, end)],
            **outcome,
        )

    def end(self, result: TurnResult) -> TurnResult:
        """End the server unless the next turn uses it, too; return the result with that time added.

        Called after the result was stored: an error here must not lose what was measured.
        """
        begin = self._clock()
        if result.status == "failed":
            self._server.release()
        else:
            self._server.end_turn()
        ending_s = self._clock().steady - begin.steady
        spent = replace(result.spent, prepare_s=result.spent.prepare_s + ending_s)
        return replace(result, spent=spent)

    def _measured(self, turn: Turn, point: ResolvedPoint, watch: Observer) -> RunRecord:
        """Run the point with the turn's seed, and tags by which its run can be found."""
        server = self._server.server_for(point, turn.block)
        tags = ((STUDY, self._study_id), (POINT, turn.point), (BLOCK, str(turn.block)))
        job = point.job.with_options(seed=turn.seed, tags=(*point.job.options.tags, *tags))
        if hook := point.point.hook:
            reached = nullcontext(server) if server else point.job.server.open(point.job.clients)
            with reached as known:
                run_hook(hook, turn, known, self._hooked)
            self._hooked = turn
        return run(job, self._tools, watch, server, self._server.found).record

    def __enter__(self) -> Self:
        """Start nothing yet."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End the remaining server."""
        self._server.release()


class _TurnWatch(Relay):
    """An observer of one run that records its times, and its server's placement."""

    def __init__(self, observer: Observer, clock: Clock) -> None:
        super().__init__(observer)
        self._clock = clock
        self.begin = clock()
        self._load_begin: Instant | None = None
        self._load_end: Instant | None = None
        self.verified: list[str] = []
        """The verified placement of the server, in sentences."""

    def placed(self, verified: Sequence[str]) -> None:
        """Keep the verified placement."""
        self.verified = [f"placement: {sentence}" for sentence in verified]
        super().placed(verified)

    def started(self, plan: Plan, started: Started) -> None:
        """Note the end of the preparation."""
        self._load_begin = self._load_end = self._clock()
        super().started(plan, started)

    def interval(self, interval: Interval) -> None:
        """Note that the load lasts at least until now."""
        self._load_end = self._clock()
        super().interval(interval)

    def spent(self, end: Instant) -> Spent:
        """Return how the time was spent, up to the moment when the server could be ended."""
        whole_s = end.steady - self.begin.steady
        if self._load_begin is None or self._load_end is None:
            return Spent(prepare_s=whole_s)
        prepare_s = self._load_begin.steady - self.begin.steady
        run_s = self._load_end.steady - self._load_begin.steady
        return Spent(prepare_s=prepare_s, run_s=run_s, other_s=whole_s - prepare_s - run_s)


def _outcome(record: RunRecord) -> dict[str, Any]:
    """Return what the end of a run means for its turn."""
    end_with(record)
    result: dict[str, Any] = {"run_id": record.run_id, "status": "done"}
    if record.status == "done" and record.valid:
        return result
    failures = [f"{failure.count} × {failure.message}" for failure in record.failures]
    message = "; ".join([*record.invalid_reasons, *failures]) or "the run failed"
    if record.disk_full:
        raise disk_full(message)
    error = {"code": "run_failed", "message": message, "hint": f"dbdyno report {record.run_id}"}
    status = "invalid" if record.status == "done" else "failed"
    return {**result, "status": status, "error": error}


def _error(error: Exception, point: ResolvedPoint) -> dict[str, str]:
    """Return why there is no run; raise an error that the point is not responsible for."""
    if isinstance(error, DbdynoError):
        is_elsewhere = point.server is None
        if error.code in STOPPING_CODES or (is_elsewhere and error.code in NOT_REACHED_CODES):
            raise error
        return {"code": error.code, "message": error.message, "hint": error.hint}
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        raise disk_full(error.strerror or str(error)) from error
    place = traceback.extract_tb(error.__traceback__)[-1]
    message = f"{type(error).__name__}: {error}"
    hint = f"This is a bug in dbdyno, in {place.name} ({place.filename}:{place.lineno})."
    return {"code": "unexpected", "message": message, "hint": hint}
