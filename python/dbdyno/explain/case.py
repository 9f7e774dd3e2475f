"""The run that rules examine, with what several of them need computed once."""

from functools import cached_property

from dbdyno.analysis.arrivals import arrivals
from dbdyno.analysis.budget import Budget, budget
from dbdyno.analysis.costs import costs
from dbdyno.analysis.events import RunEvent, events
from dbdyno.analysis.lock_queue import LockQueue, lock_queue
from dbdyno.analysis.losses import Losses, losses
from dbdyno.analysis.planned_load import is_open_loop
from dbdyno.analysis.protocol import protocol_of
from dbdyno.analysis.summarize import full_record
from dbdyno.analysis.timeline import Timeline, timeline
from dbdyno.model.record import CostRecord, RunRecord
from dbdyno.model.recording import Histograms, Recording
from dbdyno.model.telemetry import ServerFacts, facts_of


class Case:
    """The content of one run folder and its analyses; each is computed on first access."""

    def __init__(self, recording: Recording, histograms: Histograms) -> None:
        self.recording = recording
        self.histograms = histograms

    @property
    def protocol(self) -> str:
        """The protocol that the engine used."""
        return protocol_of(self.recording.plan)

    @property
    def has_its_rate(self) -> bool:
        """Whether transactions arrived at a given rate, and the server sustained it."""
        if not is_open_loop(self.recording.plan) or not self.record.duration_s:
            return False
        return not arrivals(self.recording, self.record.duration_s).overran

    @cached_property
    def record(self) -> RunRecord:
        """The record, with the numbers so far if the run has not finished."""
        return full_record(self.recording, self.histograms)

    @cached_property
    def timeline(self) -> Timeline:
        """What happened in each interval."""
        return timeline(self.recording)

    @cached_property
    def costs(self) -> list[CostRecord]:
        """Costs per transaction."""
        return costs(self.recording)

    @cached_property
    def events(self) -> list[RunEvent]:
        """Checkpoints, autovacuums, dips and the like."""
        return events(self.recording)

    @cached_property
    def budget(self) -> Budget | None:
        """Where client time went; None if no sample shows what the clients' sessions did."""
        spent = budget(self.recording)
        return spent if spent and spent.knows_sessions else None

    @cached_property
    def lock_queue(self) -> LockQueue | None:
        """Who waited for whom."""
        return lock_queue(self.recording)

    @cached_property
    def losses(self) -> Losses | None:
        """What events cost."""
        return losses(self.recording)

    @cached_property
    def before(self) -> ServerFacts | None:
        """The server as it was before the load."""
        return self._facts("before")

    @cached_property
    def after(self) -> ServerFacts | None:
        """The server as it was after the load."""
        return self._facts("after")

    def _facts(self, when: str) -> ServerFacts | None:
        return facts_of(self.recording.facts.get(when))
