"""The observer of a study in progress: reports on the whole, and on the current run."""

from typing import Protocol

from dbdyno.model.study import StudyRecord, Turn, TurnResult
from dbdyno.run.observer import Observer


class StudyObserver(Observer, Protocol):
    """What can be reported of a study, in the order in which it happens."""

    def begins(self, record: StudyRecord, left_s: float) -> None:
        """Report that this session begins; all its turns will take about ``left_s``."""

    def turn_begins(self, turn: Turn, left_s: float) -> None:
        """Report that a turn is being prepared."""

    def turn_ends(self, result: TurnResult, left_s: float) -> None:
        """Report that a turn is over, successful or not."""
