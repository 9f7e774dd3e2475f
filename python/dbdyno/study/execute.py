"""Runs the remaining turns of a study, and stores the result of each at once.

However it ends, the folder shows what was done: a turn without stored result is run again, a turn
with one never is.
"""

from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from dbdyno.errors import DbdynoError
from dbdyno.model.study import StudyRecord, Turn, TurnResult
from dbdyno.run.tools import Tools
from dbdyno.store.studies import SCRIPTS, StudyWriter, keep_rates
from dbdyno.study.clocks import Clock, now
from dbdyno.study.observer import StudyObserver
from dbdyno.study.plan import DRAIN_S, connections_of
from dbdyno.study.prepared_data import PreparedData
from dbdyno.study.rates import Rates, measured_load, measured_turn, prepare_s
from dbdyno.study.resolved_point import ResolvedPoint, resolve, with_checked_scripts
from dbdyno.study.turn import Bench, end_turn, make_turn
from dbdyno.study.turn_server import TurnServer


def execute(
    writer: StudyWriter,
    tools: Tools,
    observer: StudyObserver,
    rates: Rates,
    clock: Clock = now,
) -> StudyRecord:
    """Run every turn that has no result yet."""
    record = writer.record
    points = _resolved_points(record, writer.folder, tools, observer)
    prepared = PreparedData(tools, observer)
    connections = connections_of([*points.values()])
    with TurnServer(record.spec, connections, prepared) as turn_server:
        bench = Bench(record.study_id, turn_server, tools, observer, clock)
        return _Session(writer, bench, prepared, points, rates).made()


def turns_left(record: StudyRecord) -> list[Turn]:
    """Return the turns that have no result."""
    done = {result.turn.number for result in record.results}
    return [turn for turn in record.turns if turn.number not in done]


def _resolved_points(
    record: StudyRecord, folder: Path, tools: Tools, observer: StudyObserver
) -> dict[str, ResolvedPoint]:
    points = (resolve(point, folder / SCRIPTS, observer.say) for point in record.points)
    return {one.key: with_checked_scripts(one, tools, observer.say) for one in points}


class _Session:
    """The turns of a study that one process runs."""

    def __init__(
        self,
        writer: StudyWriter,
        bench: Bench,
        prepared: PreparedData,
        points: dict[str, ResolvedPoint],
        rates: Rates,
    ) -> None:
        self._writer = writer
        self._bench = bench
        self._prepared = prepared
        self._points = points
        self._rates = rates

    def made(self) -> StudyRecord:
        """Run all turns; whatever stops them is recorded first."""
        self._save(replace(self._record, status="running", stopped=None))
        left = turns_left(self._record)
        self._bench.observer.begins(self._record, self._left_s(left))
        try:
            for place, turn in enumerate(left):
                self._make(turn, left[place:])
        except KeyboardInterrupt:
            self._stop("interrupted", "it was interrupted", "")
            raise
        except DbdynoError as error:
            self._stop(error.code, error.message, error.hint)
            raise self._resumable(error) from error
        self._save(replace(self._record, status="done"))
        return self._record

    @property
    def _record(self) -> StudyRecord:
        return self._writer.record

    def _make(self, turn: Turn, left: Sequence[Turn]) -> None:
        observer = self._bench.observer
        observer.turn_begins(turn, self._left_s(left))
        before = self._record.results
        result = make_turn(self._bench, turn, self._points[turn.point])
        self._keep([*before, result])
        result = end_turn(self._bench, result)
        self._keep([*before, result])
        self._learn(result)
        observer.turn_ends(result, self._left_s(left[1:]))

    def _keep(self, results: list[TurnResult]) -> None:
        loads = {**self._record.loads, **self._prepared.loads}
        self._save(replace(self._record, results=results, loads=loads))

    def _save(self, record: StudyRecord) -> None:
        self._writer.save(record)

    def _learn(self, result: TurnResult) -> None:
        """Use a successful turn to estimate how long the next will take."""
        point, spent = self._points[result.turn.point], result.spent
        if result.status != "done" or not point.server:
            return
        learnt = measured_turn(point, spent.prepare_s - spent.load_s, spent.other_s, self._rates)
        if spent.load_s:
            learnt |= measured_load(point, spent.load_s)
        self._rates = replace(self._rates, **learnt)
        keep_rates(learnt)

    def _left_s(self, left: Sequence[Turn]) -> float:
        return sum(map(self._turn_s, left))

    def _turn_s(self, turn: Turn) -> float:
        point = self._points[turn.point]
        prepared_s = prepare_s(point, self._rates) if point.server else 0
        return prepared_s + (point.run_s or 0) + DRAIN_S + self._rates.other_s

    def _stop(self, code: str, message: str, hint: str) -> None:
        stopped = {"code": code, "message": message, "hint": hint}
        interrupted = replace(self._record, status="interrupted", stopped=stopped)
        try:
            self._save(interrupted)
        except DbdynoError:
            self._bench.observer.say("the reason could not be written; the results so far are kept")

    def _resumable(self, error: DbdynoError) -> DbdynoError:
        hint = f"{error.hint} To continue: {self._record.to_continue}".strip()
        return DbdynoError(error.code, f"stopped: {error.message}", hint, exit_code=2)
