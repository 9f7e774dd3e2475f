"""An observer of studies that records what it receives."""

from dbdyno.model.study import StudyRecord, Turn, TurnResult


class Watcher:
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

    def say(self, text: str) -> None:
        pass

    def loading(self, progress) -> None:
        pass

    def started(self, plan, started) -> None:
        pass

    def interval(self, interval) -> None:
        pass
