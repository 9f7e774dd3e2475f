"""Who watches a study while it lasts: what is told of the whole, and of the run under way."""

from typing import Protocol

from dbdyno.model.study import StudyRecord, Turn, TurnResult
from dbdyno.run.observer import Observer


class StudyObserver(Observer, Protocol):
    """What can be told of a study, in the order in which it happens."""

    def begins(self, record: StudyRecord, left_s: float) -> None:
        """The first turn of this session comes next; about so long will all take."""

    def turn_begins(self, turn: Turn, left_s: float) -> None:
        """A turn is made ready."""

    def turn_ends(self, result: TurnResult, left_s: float) -> None:
        """A turn is over, well or not."""
