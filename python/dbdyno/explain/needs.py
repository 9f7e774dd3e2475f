"""What rules need of a run, and the reason that is given if it was not recorded.

A rule requests here what it cannot do without. If something is missing, the rule ends with
:class:`LackingError`, which becomes *could not look*: no rule has to carry a None through its
arithmetic, and each reason is worded once.
"""

from typing import TypeVar

from msgspec.structs import replace

from dbdyno.analysis.events.losses import Losses, losses
from dbdyno.analysis.series.planned_load import has_client_stages, has_stages
from dbdyno.analysis.series.readings import (
    LevelSeries,
    Span,
    lack_of,
    level,
    objects,
    total,
    was_read,
)
from dbdyno.analysis.series.timeline import completed
from dbdyno.analysis.statistics.estimate import Series
from dbdyno.analysis.summarize import full_record
from dbdyno.analysis.waits.budget import Budget, known_budget
from dbdyno.analysis.waits.lock_queue import LockQueue, lock_queue
from dbdyno.analysis.waits.session_samples import measured_samples, sampled_locks
from dbdyno.formatting import percent
from dbdyno.model.counters import (
    FACTS,
    SERVER,
    SESSION_SAMPLES,
    Counter,
    Sessions,
    SourceName,
)
from dbdyno.model.run import Run
from dbdyno.model.telemetry import ServerFacts

T = TypeVar("T")


class LackingError(Exception):
    """Something that a rule needs was not recorded; the message is the reason."""


def needed(value: T | None, reason: str) -> T:
    """Return the value, or raise LackingError with the reason if it is None."""
    if value is None:
        raise LackingError(reason)
    return value


def grown(run: Run, counter: Counter, of: str | None = None) -> float:
    """Growth of a counter in the measured part, of one object or summed over all.

    It ends with the load: what servers publish late is then missing at both ends alike, and growth
    per transaction is not overestimated.
    """
    found = growth_if_reported(run, counter, of)
    return needed(found, _reason_unknown(run, counter))


def growth_if_reported(run: Run, counter: Counter, of: str | None = None) -> float | None:
    """The same for a counter that some versions of a server lack: then None."""
    measured = Span(end_s=full_record(run).duration_s)
    return total(run, counter, of, measured)


def levels(run: Run, counter: Counter, of: str | None = None) -> LevelSeries:
    """A level over time, with at least one reading."""
    series = level(run, counter, of)
    return needed(series, _reason_unknown(run, counter))


def measured(run: Run, series: LevelSeries) -> Series:
    """The readings of the measured part; there may be none."""
    end_s = full_record(run).duration_s or 0.0
    inside: Series = series.value[(series.time_s > 0) & (series.time_s <= end_s)]
    return inside


def measured_peak(run: Run, counter: Counter) -> float:
    """The largest reading of the measured part; 0 without any."""
    return float(measured(run, levels(run, counter)).max(initial=0.0))


def known_objects(run: Run, source: SourceName) -> list[str]:
    """The objects that a source reported."""
    found = objects(run, source) if was_read(run, source) else None
    return needed(found, _unread(run, source))


def server_facts(run: Run) -> ServerFacts:
    """The server as it was before the load, otherwise after it.

    For statements that appeared during the load, tables and plans are known only after it.
    """
    before, after = run.before, run.after
    unknown = "the server's settings and tables were not recorded"
    facts = needed(before or after, because(run, unknown, FACTS, SERVER))
    if facts.tables or facts.plans or after is None:
        return facts
    return replace(facts, tables=after.tables, plans=after.plans)


def client_time(run: Run) -> Budget:
    """Where client time went.

    If a server does not report every wait, a lock wait is recognized by its transactions: without
    the privilege to see those, it would be mistaken for another wait.
    """
    hidden = lack_of(run, Sessions.source)
    if hidden and not run.database.has("all_waits_named"):
        raise LackingError(f"lock waits are not visible: {hidden}")
    if measured_samples(run) is None:
        unseen = "the server's sessions were not sampled"
        raise LackingError(because(run, unseen, SESSION_SAMPLES, SERVER))
    return needed(
        known_budget(run),
        "no sample shows what the clients' sessions were doing: a pooler in between has session "
        "ids of its own, or track_activities is off",
    )


def reported_waits(run: Run) -> Budget | None:
    """Where client time went, if the waits within statements have names.

    The names come from the server, or from the kernel of this host; None if from neither.
    """
    facts = run.before or run.after
    by_server = run.database.has("all_waits_named") or (
        facts is not None and facts.details.get("waits_are_told", False)
    )
    spent = known_budget(run)
    return spent if spent and (by_server or spent.knows_cpu_queue) else None


def queue_of(run: Run) -> LockQueue:
    """Who waited for whom.

    The first samples of a run are of the sessions alone: a short run may show clients waiting
    without showing for whom.
    """
    queue = needed(lock_queue(run), "locks were not sampled")
    spent = known_budget(run)
    waited = spent.share("lock") if spent else 0.0
    if waited and not sampled_locks(run):
        raise LackingError(
            f"clients waited for locks for {percent(waited)} of their time, but the run ended "
            "before telemetry sampled the lock queue: run longer"
        )
    return queue


def losses_of(run: Run) -> Losses:
    """What events cost."""
    if has_stages(run.plan):
        raise LackingError("the load changed in stages: there is no single baseline")
    return needed(losses(run), "the run has too few intervals for a baseline")


def clients_at_once(run: Run) -> int:
    """The number of clients, for rules that judge it; the mean of several stages is nobody's."""
    if has_client_stages(run.plan):
        raise LackingError(
            "the number of clients changed in stages: run the stage in question alone, with -c"
        )
    return needed(run.plan.clients or None, "the text does not say how many clients there were")


def committed(run: Run) -> int:
    """Transactions that succeeded in the measured part, at least one."""
    return needed(completed(run) or None, "no transaction succeeded during the measurement")


def throughput_tps(run: Run) -> float:
    """Transactions per second that succeeded in the measured part."""
    return committed(run) / needed(full_record(run).duration_s, "no time was measured")


def _reason_unknown(run: Run, counter: Counter) -> str:
    if was_read(run, counter.source):
        return because(run, f"{counter.source} does not report {counter.name}", counter.source)
    return _unread(run, counter.source)


def _unread(run: Run, source: SourceName) -> str:
    if not len(run.samples):
        return "the run was measured without telemetry"
    return because(run, f"{source} was not read", source, SERVER)


def because(run: Run, what: str, *sources: SourceName) -> str:
    """What is missing, with the first reason that telemetry gave for these sources."""
    reasons = (lack_of(run, source) for source in sources)
    why = next((reason for reason in reasons if reason), None)
    return f"{what}: {why}" if why else what
