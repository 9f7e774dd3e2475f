"""What rules need of a run, and the reason that is given if it was not recorded.

A rule requests here what it cannot do without. If something is missing, the rule ends with
:class:`LackingError`, which becomes *could not look*: no rule has to carry a None through its
arithmetic, and each reason is worded once.
"""

from typing import TypeVar

from msgspec.structs import replace

from dbdyno.analysis.budget import Budget
from dbdyno.analysis.estimate import Series
from dbdyno.analysis.lock_queue import LockQueue
from dbdyno.analysis.losses import Losses
from dbdyno.analysis.planned_load import has_client_stages, has_stages
from dbdyno.analysis.readings import (
    LevelSeries,
    Span,
    lack_of,
    level,
    objects,
    total,
    was_read,
)
from dbdyno.analysis.session_samples import measured_samples, sampled_locks
from dbdyno.analysis.timeline import completed
from dbdyno.analysis.wait_kinds import NAMES_ALL_WAITS
from dbdyno.explain.case import Case
from dbdyno.formatting import percent
from dbdyno.model.telemetry import ServerFacts

T = TypeVar("T")

SERVER = "server"
"""Telemetry's name for the server itself, if it could not be queried."""


class LackingError(Exception):
    """Something that a rule needs was not recorded; the message is the reason."""


def needed(value: T | None, reason: str) -> T:
    """Return the value, or raise LackingError with the reason if it is None."""
    if value is None:
        raise LackingError(reason)
    return value


def grown(case: Case, source: str, name: str, of: str | None = None) -> float:
    """Growth of a counter in the measured part, of one object or summed over all.

    It ends with the load: what servers publish late is then missing at both ends alike, and growth
    per transaction is not overestimated.
    """
    found = growth_if_reported(case, source, name, of)
    return needed(found, _reason_unknown(case, source, name))


def growth_if_reported(case: Case, source: str, name: str, of: str | None = None) -> float | None:
    """The same for a counter that some versions of a server lack: then None."""
    measured = Span(end_s=case.record.duration_s)
    return total(case.recording, source, name, of, measured)


def levels(case: Case, source: str, name: str, of: str | None = None) -> LevelSeries:
    """A level over time, with at least one reading."""
    series = level(case.recording, source, name, of)
    return needed(series, _reason_unknown(case, source, name))


def measured(case: Case, series: LevelSeries) -> Series:
    """The readings of the measured part; there may be none."""
    end_s = case.record.duration_s or 0.0
    inside: Series = series.value[(series.time_s > 0) & (series.time_s <= end_s)]
    return inside


def measured_peak(case: Case, source: str, name: str) -> float:
    """The largest reading of the measured part; 0 without any."""
    return float(measured(case, levels(case, source, name)).max(initial=0.0))


def known_objects(case: Case, source: str) -> list[str]:
    """The objects that a source reported."""
    found = objects(case.recording, source) if was_read(case.recording, source) else None
    return needed(found, _unread(case, source))


def server_facts(case: Case) -> ServerFacts:
    """The server as it was before the load, otherwise after it.

    For statements that appeared during the load, tables and plans are known only after it.
    """
    before, after = case.before, case.after
    unknown = "the server's settings and tables were not recorded"
    facts = needed(before or after, because(case, unknown, "facts", SERVER))
    if facts.tables or facts.plans or after is None:
        return facts
    return replace(facts, tables=after.tables, plans=after.plans)


def client_time(case: Case) -> Budget:
    """Where client time went.

    If a server does not report every wait, a lock wait is recognized by its transactions: without
    the privilege to see those, it would be mistaken for another wait.
    """
    hidden = lack_of(case.recording, "sessions")
    if hidden and case.protocol not in NAMES_ALL_WAITS:
        raise LackingError(f"lock waits are not visible: {hidden}")
    if measured_samples(case.recording) is None:
        unseen = "the server's sessions were not sampled"
        raise LackingError(because(case, unseen, "waits", SERVER))
    return needed(
        case.budget,
        "no sample shows what the clients' sessions were doing: a pooler in between has session "
        "ids of its own, or track_activities is off",
    )


def reported_waits(case: Case) -> Budget | None:
    """Where client time went, if the waits within statements have names.

    The names come from the server, or from the kernel of this host; None if from neither.
    """
    facts = case.before or case.after
    by_server = case.protocol in NAMES_ALL_WAITS or (
        facts is not None and facts.details.get("waits_are_told", False)
    )
    if case.budget is None or not (by_server or case.budget.knows_cpu_queue):
        return None
    return case.budget


def queue_of(case: Case) -> LockQueue:
    """Who waited for whom.

    The first samples of a run are of the sessions alone: a short run may show clients waiting
    without showing for whom.
    """
    queue = needed(case.lock_queue, "locks were not sampled")
    waited = case.budget.share("lock") if case.budget else 0.0
    if waited and not sampled_locks(case.recording):
        raise LackingError(
            f"clients waited for locks for {percent(waited)} of their time, but the run ended "
            "before telemetry sampled the lock queue: run longer"
        )
    return queue


def losses_of(case: Case) -> Losses:
    """What events cost."""
    if has_stages(case.recording.plan):
        raise LackingError("the load changed in stages: there is no single baseline")
    return needed(case.losses, "the run has too few intervals for a baseline")


def clients_at_once(case: Case) -> int:
    """The number of clients, for rules that judge it; the mean of several stages is nobody's."""
    if has_client_stages(case.recording.plan):
        raise LackingError(
            "the number of clients changed in stages: run the stage in question alone, with -c"
        )
    clients: int | None = case.recording.plan.get("clients")
    return needed(clients, "the plan has no number of clients")


def committed(case: Case) -> int:
    """Transactions that succeeded in the measured part, at least one."""
    return needed(
        completed(case.recording) or None, "no transaction succeeded during the measurement"
    )


def throughput_tps(case: Case) -> float:
    """Transactions per second that succeeded in the measured part."""
    return committed(case) / needed(case.record.duration_s, "no time was measured")


def _reason_unknown(case: Case, source: str, name: str) -> str:
    if was_read(case.recording, source):
        return because(case, f"{source} does not report {name}", source)
    return _unread(case, source)


def _unread(case: Case, source: str) -> str:
    if not len(case.recording.tables["samples"]["time_s"]):
        return "the run was measured without telemetry"
    return because(case, f"{source} was not read", source, SERVER)


def because(case: Case, what: str, *sources: str) -> str:
    """What is missing, with the first reason that telemetry gave for these sources."""
    reasons = (lack_of(case.recording, source) for source in sources)
    why = next((reason for reason in reasons if reason), None)
    return f"{what}: {why}" if why else what
