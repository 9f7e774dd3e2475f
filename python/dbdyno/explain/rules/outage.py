"""An outage: connections were lost, and for a while there was no server to measure.

Looks for: connections that the engine lost while measuring, whether or not they came back, and a
restart in the server's log.

Arithmetic: an outage lasts from the first connection lost to the first one had again. The share of
the clients' time is that of the connections lost, Σ connections · seconds / (clients · run), and no
more than the outages' own part of the run. One that never ended is critical, whatever its length;
one that took all connections is a step graver than its share.

Source: availability as uptime over time, Gray and Siewiorek, Computer 24 (9), 1991.

Wrong when: something between ended the sessions (a pooler, a firewall, a timeout): the server was
then there, and its own log tells of no end.
"""

import math

from msgspec import Struct

from dbdyno.analysis.server_events import RESTART
from dbdyno.explain.case import Case
from dbdyno.explain.needs import needed
from dbdyno.explain.rule import SEVERITIES, NotFound, Outcome, Rule, found, severity_of
from dbdyno.explain.words import and_so_on, gain_words
from dbdyno.model.record import Severity
from dbdyno.model.recording import rows
from dbdyno.words import count, counted, seconds


class _Loss(Struct, frozen=True, kw_only=True):
    """Connections that one thread of the engine lost; times are within the measured part."""

    begin_s: float
    end_s: float
    connections: int
    message: str
    is_over: bool


class _Outage(Struct, frozen=True, kw_only=True):
    """All that was lost in a run; ``spans_s`` are the times without a server, which are apart."""

    losses: list[_Loss]
    spans_s: list[tuple[float, float]]
    clients: int
    duration_s: float
    restarted: bool

    @property
    def gone_s(self) -> float:
        """How long, over all times."""
        return sum(end - begin for begin, end in self.spans_s)

    @property
    def connections(self) -> int:
        """How many were lost, over all times."""
        return sum(loss.connections for loss in self.losses)

    @property
    def took_all(self) -> bool:
        """Whether as many were lost at one time as there are clients."""
        return any(self._lost_in(span) >= self.clients for span in self.spans_s)

    def _lost_in(self, span: tuple[float, float]) -> int:
        begin, end = span
        return sum(loss.connections for loss in self.losses if begin <= loss.begin_s <= end)

    @property
    def never_ended(self) -> bool:
        """Whether the run ended without a server."""
        return any(not loss.is_over for loss in self.losses)

    @property
    def share(self) -> float:
        """Of the clients' time."""
        lost_s = sum(loss.connections * (loss.end_s - loss.begin_s) for loss in self.losses)
        return min(lost_s / self.clients, self.gone_s) / self.duration_s

    @property
    def severity(self) -> Severity:
        """By its share; a server that was gone for all is graver than its seconds."""
        own = severity_of(self.share)
        if self.never_ended:
            return "critical"
        return SEVERITIES[min(SEVERITIES.index(own) + self.took_all, len(SEVERITIES) - 1)]


def look(case: Case) -> Outcome:
    """Only what was lost while measuring."""
    duration_s = needed(case.record.duration_s or None, "nothing was measured")
    losses = _losses(case, duration_s)
    if not losses:
        return NotFound("no connection was lost")
    of_events = [one for one in case.events if one.kind == "outage"]
    spans = [(max(one.begin_s, 0.0), min(one.end_s, duration_s)) for one in of_events]
    return _finding(
        case,
        _Outage(
            losses=losses,
            spans_s=[span for span in spans if span[0] <= span[1]],
            clients=case.recording.plan["clients"],
            duration_s=duration_s,
            restarted=any(one.label == RESTART for one in of_events),
        ),
    )


def _losses(case: Case, duration_s: float) -> list[_Loss]:
    columns = ("time_s", "seconds", "connections_lost", "message")
    told = [
        _Loss(
            begin_s=max(begin_s, 0.0),
            end_s=min(duration_s if math.isnan(length_s) else begin_s + length_s, duration_s),
            connections=connections,
            message=message,
            is_over=not math.isnan(length_s),
        )
        for begin_s, length_s, connections, message in rows(
            case.recording.tables["outages"], columns
        )
    ]
    return [loss for loss in told if loss.begin_s <= loss.end_s]


def _finding(case: Case, outage: _Outage) -> Outcome:
    ending = "The server went away and did not come back" if outage.never_ended else ""
    return found(
        _summary(outage),
        title=ending,
        share=outage.share,
        share_of="client time",
        severity=outage.severity,
        certainty="sure" if outage.restarted else "likely",
        evidence={
            "outages": len(outage.spans_s),
            "seconds": outage.gone_s,
            "connections_lost": outage.connections,
            "came_back": not outage.never_ended,
            "server_restarted": outage.restarted,
        },
        seen=_seen(case, outage),
        why="While a server is gone nothing of it is measured, and its processors are free for "
        "others: the run's means are not those of a server at work.",
        advice=[
            "Read the server's log: was it ended by somebody, by the kernel for want of memory, "
            "or by an error of its own?",
            "Look for what ends sessions on the way: a pooler, a firewall, a timeout.",
        ],
        gain=gain_words(outage.share),
        refute="Run again while the server stays up: no connection must be lost.",
    )


def _summary(outage: _Outage) -> str:
    """How many, how often, for how long."""
    number = len(outage.spans_s)
    times = "" if number == 1 else f" in {count(number)} outages"
    who = "All connections" if outage.took_all else counted(outage.connections, "connection")
    lost = f"{who} {'was' if who.startswith('1 ') else 'were'} lost{times}"
    gone = f"{seconds(outage.gone_s)} of {seconds(outage.duration_s)}"
    if outage.never_ended:
        return f"{lost}, and none was had again to the end: {gone} passed without a server."
    return f"{lost}: {gone} passed until the first was had again."


def _seen(case: Case, outage: _Outage) -> list[str]:
    messages = [*dict.fromkeys(loss.message for loss in outage.losses)]
    still_s = _still_s(case)
    return [
        f"{counted(outage.connections, 'connection')} lost: {and_so_on(messages)}.",
        *(["The server's log tells of its restart."] if outage.restarted else []),
        *([f"No transaction was done in {seconds(still_s)} of the run."] if still_s else []),
    ]


def _still_s(case: Case) -> float:
    """The measured intervals in which nothing was done, together."""
    line = case.timeline.whole_intervals()
    return float(line.seconds[(line.phase == "measure") & (line.tps == 0)].sum())


RULE = Rule(
    id="outage",
    title="Outage: connections to the server were lost",
    look=look,
    covers=frozenset(
        {"cpu_others", "cpu_server", "cpu_generator", "cpu_steal", "cpu_throttled"}
        | {"connection_churn", "round_trips", "schedule_lag", "too_many_connections", "unsteady"}
    ),
    accounts_for=frozenset({"unconnected"}),
)
