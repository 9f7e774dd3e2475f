"""Outage: connections were lost, and for a while there was no server to measure.

Looks for: connections that the engine lost during the measurement, whether or not they came back,
and a restart in the server's log. A server that ends a connection because of what the client has
sent, such as a packet that is too large, has not gone away.

Arithmetic: an outage lasts from the first connection lost to the first reconnect. It affected all
clients if as many connections were lost, or if nothing was done for a whole interval of it; all
client time within it is then lost, otherwise Σ connections · seconds of it. One that affected all
clients is a step more severe than its share, and critical if it did not end.

Source: availability as uptime over time, Gray and Siewiorek, Computer 24 (9), 1991.

Wrong when: something between client and server ended the sessions (a pooler, a firewall, a
timeout): the server was then up, and its own log shows no restart. Clients that connect for each
transaction (-C) have no connection to lose in between: an outage is reported for a client only when
it is refused twice in a row, so one that is shorter than two connection attempts may go unnoticed.
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct

from dbdyno.analysis.planned_load import client_seconds_planned
from dbdyno.analysis.run_event import RunEvent
from dbdyno.analysis.server_events import RESTART
from dbdyno.analysis.session_samples import client_time_s
from dbdyno.explain.case import Case
from dbdyno.explain.failing import closed_for_what_was_sent
from dbdyno.explain.needs import needed
from dbdyno.explain.rule import SEVERITIES, NotFound, Outcome, Rule, found, severity_of
from dbdyno.explain.sentences import and_so_on, gain_text
from dbdyno.formatting import count, counted, seconds
from dbdyno.model.record import Severity
from dbdyno.model.recording import rows


class _Loss(Struct, frozen=True, kw_only=True):
    """Connections that one thread of the engine lost; times are within the measured part."""

    begin_s: float
    end_s: float
    connections: int
    message: str
    is_over: bool


class _Outage(Struct, frozen=True, kw_only=True):
    """A time within the measured part without connections, merged over all threads."""

    begin_s: float
    end_s: float
    losses: list[_Loss]
    restarted: bool
    still_s: float
    """Total length of the intervals within it in which nothing completed."""
    client_s: float
    """Client time within it."""

    @property
    def seconds(self) -> float:
        """From the first connection lost to the first reconnect."""
        return self.end_s - self.begin_s

    @property
    def connections(self) -> int:
        """Number of connections lost."""
        return sum(loss.connections for loss in self.losses)

    @property
    def is_over(self) -> bool:
        """Whether each thread reconnected."""
        return all(loss.is_over for loss in self.losses)

    def took_all(self, clients: int) -> bool:
        """Also if some clients had no connection to lose but none did anything."""
        return self.connections >= clients or self.still_s > 0

    def client_seconds(self, clients: int) -> float:
        """Client time lost; a connection lost repeatedly counts once."""
        if self.took_all(clients):
            return self.client_s
        lost = sum(loss.connections * (loss.end_s - loss.begin_s) for loss in self.losses)
        return min(lost, self.client_s)


class _Run(Struct, frozen=True, kw_only=True):
    """All outages of a run, at least one."""

    outages: list[_Outage]
    clients: int
    """Each has a connection, also while its stage has not come."""
    client_s: float
    duration_s: float

    @property
    def gone_s(self) -> float:
        """Total length."""
        return sum(one.seconds for one in self.outages)

    @property
    def connections(self) -> int:
        """Total number of connections lost."""
        return sum(one.connections for one in self.outages)

    @property
    def took_all(self) -> bool:
        """Whether one of them affected all clients."""
        return any(one.took_all(self.clients) for one in self.outages)

    @property
    def never_ended(self) -> bool:
        """Whether the run ended without a server; a few sessions lost at its end are not enough."""
        last = self.outages[-1]
        return not last.is_over and last.took_all(self.clients)

    @property
    def share(self) -> float:
        """Share of client time."""
        lost = sum(one.client_seconds(self.clients) for one in self.outages)
        return lost / self.client_s

    @property
    def severity(self) -> Severity:
        """From its share; an outage for all clients is more severe than its seconds."""
        if self.never_ended:
            return "critical"
        graver = SEVERITIES.index(severity_of(self.share)) + self.took_all
        return SEVERITIES[min(graver, len(SEVERITIES) - 1)]


def look(case: Case) -> Outcome:
    """Only what was lost while measuring."""
    duration_s = needed(case.record.duration_s or None, "nothing was measured")
    losses = _losses(case, duration_s)
    events = [event for event in case.events if event.kind == "outage"]
    reported = (_outage(case, event, losses, duration_s) for event in events)
    outages = [one for one in reported if one.losses]
    if not outages:
        return NotFound("no connection was lost")
    lost = sum(one.connections for one in outages)
    if lost <= closed_for_what_was_sent(case.record.failures):
        return NotFound("the server ended the connections because of what the clients sent")
    run = _Run(
        outages=outages,
        clients=case.recording.plan["clients"],
        client_s=client_time_s(case.recording),
        duration_s=duration_s,
    )
    return _finding(case, run)


def _losses(case: Case, duration_s: float) -> list[_Loss]:
    columns = ("time_s", "seconds", "connections_lost", "message")
    reported = rows(case.recording.tables["outages"], columns)
    return [
        _Loss(
            begin_s=max(begin_s, 0.0),
            end_s=min(duration_s if math.isnan(length_s) else begin_s + length_s, duration_s),
            connections=connections,
            message=message,
            is_over=not math.isnan(length_s),
        )
        for begin_s, length_s, connections, message in reported
        if begin_s <= duration_s and not begin_s + length_s < 0
    ]


def _outage(case: Case, event: RunEvent, losses: Sequence[_Loss], duration_s: float) -> _Outage:
    begin_s, end_s = max(event.begin_s, 0.0), min(event.end_s, duration_s)
    return _Outage(
        begin_s=begin_s,
        end_s=end_s,
        losses=[loss for loss in losses if begin_s <= loss.begin_s <= end_s],
        restarted=event.label == RESTART,
        still_s=_still_s(case, begin_s, end_s),
        client_s=float(client_seconds_planned(case.recording.plan, begin_s, end_s)),
    )


def _still_s(case: Case, begin_s: float, end_s: float) -> float:
    line = case.timeline.whole_intervals()
    within = (line.time_s >= begin_s) & (line.time_s + line.seconds <= end_s)
    return float(np.sum(line.seconds, where=within & (line.tps == 0)))


def _finding(case: Case, run: _Run) -> Outcome:
    restarted = any(one.restarted for one in run.outages)
    return found(
        _summary(run),
        title="Outage: the server did not come back" if run.never_ended else "",
        share=run.share,
        share_of="client time",
        severity=run.severity,
        certainty="sure" if restarted else "likely",
        evidence={
            "outages": len(run.outages),
            "seconds": run.gone_s,
            "connections_lost": run.connections,
            "came_back": run.outages[-1].is_over,
            "server_restarted": restarted,
        },
        seen=[*_seen(run)],
        why="While the server is down there is nothing to measure, and its CPU is free for others: "
        "the run's means are not those of a working server.",
        advice=[
            "Check the server's log: was it stopped by someone, killed by the kernel for lack of "
            "memory, or ended by an error of its own?",
            "Check what may end sessions between client and server: a pooler, a firewall, a "
            "timeout.",
        ],
        gain=gain_text(case, run.share),
        refute="Run again while the server stays up: no connection may be lost.",
    )


def _summary(run: _Run) -> str:
    """Which connections were lost, how often, and for how long."""
    number = len(run.outages)
    times = "" if number == 1 else f" in {count(number)} outages"
    gone = f"{seconds(run.gone_s)} of {seconds(run.duration_s)}"
    if run.took_all:
        who = "All clients lost their connections"
    else:
        who = f"{counted(run.connections, 'connection')} {_were(run.connections)} lost"
    if run.outages[-1].is_over:
        return f"{who}{times}: {gone} passed before the first reconnect."
    without = " passed without a server" if run.never_ended else ""
    return f"{who}{times}, until the end of the run: {gone}{without}."


def _were(number: int) -> str:
    return "was" if number == 1 else "were"


def _seen(run: _Run) -> Iterator[str]:
    messages = dict.fromkeys(loss.message for one in run.outages for loss in one.losses)
    yield f"{counted(run.connections, 'connection')} lost: {and_so_on([*messages])}."
    if any(one.restarted for one in run.outages):
        yield "The server's log shows a restart."
    still_s = sum(one.still_s for one in run.outages)
    if still_s:
        yield f"For {seconds(still_s)} of that time no transaction completed."


RULE = Rule(
    id="outage",
    title="Outage: connections to the server were lost",
    look=look,
    covers=frozenset(
        {"cpu_others", "cpu_server", "cpu_generator", "cpu_steal", "cpu_throttled"}
        | {"connection_churn", "round_trips", "schedule_lag", "too_many_connections", "unsteady"}
        | {"failed_transactions"}
    ),
    accounts_for=frozenset({"unconnected", "not_seen"}),
    explains_failures=True,
)
