"""An observer of studies that records what it receives."""

from dbdyno.model.study import StudyRecord, Turn, TurnResult
from dbdyno.study.execute import StudyObserver


class Watcher(StudyObserver):
    def __init__(self) -> None:
        self.began: list[str] = []
        self.left_s: list[float] = []
        self.results: list[TurnResult] = []

    def begins(self, record: StudyRecord, left_s: float) -> None:
        self.left_s.append(left_s)

    def turn_begins(self, turn: Turn, left_s: float) -> None:
        self.began.append(turn.point)
        self.left_s.append(left_s)

    def turn_ends(self, result: TurnResult, left_s: float) -> None:
        self.results.append(result)
        self.left_s.append(left_s)
