"""What the events of a run cost: how long there were no commits, and which of them were lost."""

from collections.abc import Sequence

from dbdyno.explain.explain import explained_record
from dbdyno.explain.sentences import loss_allowed_text
from dbdyno.formatting import NOTHING, count, milliseconds, seconds, tps
from dbdyno.model.record import FailoverRecord, RunRecord
from dbdyno.model.run import Run
from dbdyno.report.content import Block, Items, Section, Table, Text

COLUMNS = (
    *("Event", "At", "Took", "First error", "First commit", "Longest pause"),
    *("Level before, TPS", "90 % of it", "Failed", "Unknown", "Lost commits", "Allowed"),
)


def build(run: Run) -> Sequence[Block]:
    """A row for each event, and what could not be done."""
    record = explained_record(run)
    if not record.failovers:
        return []
    failed = [f"{one.event} failed: {one.error}" for one in record.failovers if one.error]
    return [
        Table(
            columns=COLUMNS,
            rows=[
                (
                    one.event,
                    seconds(one.at_s),
                    milliseconds(one.took_ms),
                    milliseconds(one.first_error_ms),
                    milliseconds(one.first_commit_ms),
                    milliseconds(one.longest_pause_ms),
                    tps(one.level_tps),
                    _level(one),
                    ", ".join(
                        f"{kind.replace('_', ' ')} {count(number)}"
                        for kind, number in one.failed_by_class.items()
                    )
                    or "0",
                    count(one.unknown),
                    _lost(one),
                    loss_allowed_text(one.loss_allowed_ms),
                )
                for one in record.failovers
            ],
            numeric=frozenset(range(1, len(COLUMNS) - 4)),
        ),
        *([Items(sentences=failed)] if failed else []),
        Text(
            text="Times count from the event; 90 % is of the throughput before, at the end of a "
            "measurement interval, and not known of a load that had not recovered from the event "
            "before. Unknown are failed transactions that may have been committed: "
            "the connection broke before the answer to their commit. First error, first commit, "
            "the longest pause between commits, and lost commits are those of a few clients beside "
            "the load, whose acknowledged commits were looked for in the data. What is "
            "allowed to be lost follows from the durability level, and after a takeover from "
            "whether commits wait for the standby. After a command nothing is promised, unless the "
            "same server is known to answer.",
            note=True,
        ),
    ]


def summary(record: RunRecord) -> Sequence[Block]:
    """How long each event interrupted the load, and what it lost."""
    if not record.failovers:
        return []
    return [
        Table(
            columns=("event", "at", "first error", "first commit", "90 % level", "unknown", "lost"),
            rows=[
                (
                    one.event,
                    seconds(one.at_s),
                    milliseconds(one.first_error_ms),
                    milliseconds(one.first_commit_ms),
                    _level(one),
                    count(one.unknown),
                    _lost(one),
                )
                for one in record.failovers
            ],
            numeric=frozenset({1, 2, 3, 4, 5}),
        )
    ]


def _level(failover: FailoverRecord) -> str:
    """When the load had 90 % of its level again, unless no interval had less."""
    return "never below" if failover.level_90_ms == 0 else milliseconds(failover.level_90_ms)


def _lost(failover: FailoverRecord) -> str:
    """``3 of 1,200 (the last 12 ms)``."""
    if failover.lost is None:
        return NOTHING
    found = f"{count(failover.lost)} of {count(failover.acknowledged)}"
    if failover.lost_ms is None:
        return found
    return f"{found} (the last {milliseconds(failover.lost_ms)})"


SECTION = Section(id="failovers", title="Events under load", build=build, summary=summary)
