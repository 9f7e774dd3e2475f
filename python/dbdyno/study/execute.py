"""Runs the remaining turns of a study, and stores the result of each at once.

However it ends, the folder shows what was done: a turn without stored result is run again, a turn
with one never is.

This is the loop; below it, ``turn`` makes one turn, ``turn_server`` the server of that, and
``prepared_data`` the data that the server starts with.
"""

from msgspec.structs import replace

from dbdyno.errors import DbdynoError
from dbdyno.fleet.ray_cluster import kept_nodes
from dbdyno.model.study import StudyRecord, Turn, TurnResult
from dbdyno.run.observer import Observer
from dbdyno.run.tools import Tools
from dbdyno.store.studies import SCRIPTS, StudyWriter
from dbdyno.study.clocks import Clock, now
from dbdyno.study.rates import Pace, Rates
from dbdyno.study.resolved_point import resolve, with_alike_servers, with_checked_scripts
from dbdyno.study.turn import Turns


class StudyObserver(Observer):
    """What can be reported of a study, in the order in which it happens. This one shows nothing."""

    def begins(self, record: StudyRecord, left_s: float) -> None:
        """Report that this session begins; all its turns will take about ``left_s``."""

    def turn_begins(self, turn: Turn, left_s: float) -> None:
        """Report that a turn is being prepared."""

    def turn_ends(self, result: TurnResult, left_s: float) -> None:
        """Report that a turn is over, successful or not."""


def execute(
    writer: StudyWriter,
    tools: Tools,
    observer: StudyObserver,
    rates: Rates,
    clock: Clock = now,
) -> StudyRecord:
    """Run every turn that has no result yet; whatever stops them is recorded first."""
    record, folder = writer.record, writer.folder / SCRIPTS
    parsed = [resolve(point, folder, observer.say) for point in record.points]
    alike = with_alike_servers(parsed)
    points = {one.key: with_checked_scripts(one, tools, observer.say) for one in alike}
    with kept_nodes(), Turns(record, points, tools, observer, clock) as turns:
        writer.save(replace(record, status="running", stopped=None))
        try:
            _run_turns(writer, turns, observer, Pace(points, rates))
        except KeyboardInterrupt:
            _stop(writer, observer, "interrupted", "it was interrupted", "")
            raise
        except DbdynoError as error:
            _stop(writer, observer, error.code, error.message, error.hint)
            hint = f"{error.hint} To continue: {record.to_continue}".strip()
            stopped = f"stopped: {error.message}"
            raise DbdynoError(error.code, stopped, hint, exit_code=2) from error
        writer.save(replace(writer.record, status="done"))
    return writer.record


def _run_turns(writer: StudyWriter, turns: Turns, observer: StudyObserver, pace: Pace) -> None:
    done = {result.turn.number for result in writer.record.results}
    left = [turn for turn in writer.record.turns if turn.number not in done]
    observer.begins(writer.record, pace.left_s(left))
    for place, turn in enumerate(left):
        observer.turn_begins(turn, pace.left_s(left[place:]))
        before = writer.record.results
        result = turns.make(turn)
        _keep(writer, [*before, result], turns)  # an error at its end must not lose it
        result = turns.end(result)
        _keep(writer, [*before, result], turns)
        pace.learn(result)
        observer.turn_ends(result, pace.left_s(left[place + 1 :]))


def _keep(writer: StudyWriter, results: list[TurnResult], turns: Turns) -> None:
    loads = {**writer.record.loads, **turns.loads}
    writer.save(replace(writer.record, results=results, loads=loads))


def _stop(writer: StudyWriter, observer: Observer, code: str, message: str, hint: str) -> None:
    stopped = {"code": code, "message": message, "hint": hint}
    try:
        writer.save(replace(writer.record, status="interrupted", stopped=stopped))
    except DbdynoError:
        observer.say("the reason could not be written; the results so far are kept")
