"""What users see during a study: one line for the whole, with the time left.

In a terminal the line is updated in place; in a pipe, each turn has one line when it is over.
"""

from typing import IO

from dbdyno.cli.output import print_aside, wrapped
from dbdyno.cli.progress import StatusLine, clock
from dbdyno.formatting import count, counted, plain, tps
from dbdyno.layout import shortened
from dbdyno.model.frame import Interval, Started
from dbdyno.model.plan import Plan
from dbdyno.model.study import StudyRecord, Turn, TurnResult
from dbdyno.run.tools import engine_tools
from dbdyno.store.studies import StudyWriter, read_rates
from dbdyno.study.execute import StudyObserver, execute
from dbdyno.study.rates import rates_from
from dbdyno.workloads.loading import LoadProgress


def run_turns(writer: StudyWriter) -> StudyRecord:
    """Run the remaining turns of a study, and show them; on Ctrl-C say how to continue."""
    lines = StudyLines()
    try:
        record = execute(writer, engine_tools(), lines, rates_from(read_rates()))
    except KeyboardInterrupt:
        lines.close()
        print_aside(f"Results so far are kept. Continue: {writer.record.to_continue}")
        raise
    finally:
        lines.close()
    return record


class StudyLines(StudyObserver):
    """An observer of a study that writes to standard error."""

    def __init__(self, stream: IO[str] | None = None) -> None:
        self._line = StatusLine(stream)
        self._turns = 0
        self._head = ""
        self._left_s = 0.0

    def begins(self, record: StudyRecord, left_s: float) -> None:
        """Show the ID of the study, by which it can be resumed."""
        self._turns = len(record.turns)
        done = len(record.results)
        gone_on = f", {counted(done, 'turn')} done before" if done else ""
        self._stay(
            f"study {record.study_id}: {counted(len(record.points), 'point')} × "
            f"{counted(record.spec.repeats, 'repeat')}{gone_on}, about {clock(left_s)}"
        )

    def turn_begins(self, turn: Turn, left_s: float) -> None:
        """Show what is being prepared."""
        self._head = f"{turn.number}/{self._turns}  block {turn.block}  {turn.point}"
        self._left_s = left_s
        self._renew("prepare")

    def turn_ends(self, result: TurnResult, left_s: float) -> None:
        """Write a line about a failure; in a pipe, one for each turn."""
        if result.status != "done":
            reason = result.error["message"] if result.error else ""
            self._stay(f"{self._head}  {result.status}: {reason}")
        elif not self._line.is_in_terminal:
            self._stay(f"{self._head}  done, {clock(left_s)} left")

    def say(self, text: str) -> None:
        """Drop the messages of single runs: they are in the records, and noise for many runs."""

    def loading(self, progress: LoadProgress) -> None:
        """Show the progress of loading."""
        done, total = count(progress.rows), count(progress.rows_total)
        rows = f" {done} of {total} rows" if progress.rows_total else ""
        self._renew(plain(f"loading: {progress.phase}{rows}"))

    def started(self, _plan: Plan, _started: Started) -> None:
        """Show that the load begins."""
        self._renew("run")

    def interval(self, interval: Interval) -> None:
        """Show the throughput of the interval."""
        seconds = (interval.end_ns - interval.begin_ns) / 1e9
        self._left_s -= seconds
        if seconds:
            self._renew(
                plain(f"{interval.phase} {tps(interval.completed_committed / seconds)} TPS")
            )

    def close(self) -> None:
        """Keep the last line."""
        self._line.close()

    def _renew(self, what: str) -> None:
        if not self._line.is_in_terminal:
            return
        left = f"{clock(max(self._left_s, 0))} left"
        line = shortened(f"{self._head}  {what}", self._line.room - len(left) - 2)
        self._line.renew(f"{line}  {left}")

    def _stay(self, text: str) -> None:
        """Replace the line on the present turn by a text that stays."""
        self._line.take_back()
        self._line.stay(wrapped(text) if self._line.is_in_terminal else text)
