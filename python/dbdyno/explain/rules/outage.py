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
timeout): the server was then up, and its own log shows no restart. An outage that begins while an
event of the plan happens (--event), or within a second of it, is taken for planned. Clients that
connect for each transaction (-C) have no connection to lose in between: an outage is reported for a
client only when it is refused twice in a row, so one that is shorter than two connection attempts
may go unnoticed.
"""

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from msgspec import Struct

from dbdyno.analysis.events.events import events
from dbdyno.analysis.events.run_event import RunEvent
from dbdyno.analysis.events.server_events import RESTART
from dbdyno.analysis.series.planned_load import client_seconds_planned
from dbdyno.analysis.series.timeline import timeline
from dbdyno.analysis.summarize import full_record
from dbdyno.analysis.waits.session_samples import client_time_s
from dbdyno.explain.gains import LimitClaim, gains_in
from dbdyno.explain.needs import needed
from dbdyno.explain.resources.failing import closed_for_what_was_sent
from dbdyno.explain.rule import SEVERITIES, Aside, NotFound, Rule, severity_of
from dbdyno.explain.sentences import and_so_on
from dbdyno.formatting import count, counted, seconds
from dbdyno.model.record import Certainty, FailoverRecord, Severity
from dbdyno.model.run import Run
from dbdyno.model.tables import rows


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


class Outage(LimitClaim, frozen=True, kw_only=True):
    """All outages of a run, at least one."""

    outages: int
    seconds: float
    connections_lost: int
    came_back: bool
    """Whether the last one ended."""
    server_restarted: bool
    """By its log."""
    duration_s: Aside[float]
    messages: Aside[list[str]]
    affected_all: Aside[bool] = False
    """Whether one of them affected all clients."""
    never_ended: Aside[bool] = False
    """Whether the run ended without a server; a few sessions lost at its end are not enough."""
    still_s: Aside[float] = 0.0
    """The part of them in which nothing completed."""
    planned: Aside[tuple[str, ...]] = ()
    """The events of the plan that caused them, if they caused all."""

    @property
    def title(self) -> str:
        return "Outage: the server did not come back" if self.never_ended else ""

    @property
    def severity(self) -> Severity:
        """From its share; an outage for all clients is more severe than its seconds."""
        if self.never_ended:
            return "critical"
        graver = SEVERITIES.index(severity_of(self.share or 0.0)) + self.affected_all
        return SEVERITIES[min(graver, len(SEVERITIES) - 1)]

    @property
    def certainty(self) -> Certainty:
        return "sure" if self.server_restarted else "likely"

    @property
    def summary(self) -> str:
        """Which connections were lost, how often, and for how long."""
        times = "" if self.outages == 1 else f" in {count(self.outages)} outages"
        gone = f"{seconds(self.seconds)} of {seconds(self.duration_s)}"
        were = "was" if self.connections_lost == 1 else "were"
        who = f"{counted(self.connections_lost, 'connection')} {were} lost"
        if self.affected_all:
            who = "All clients lost their connections"
        planned = f" Planned: {', '.join(self.planned)}." if self.planned else ""
        if self.came_back:
            return f"{who}{times}: {gone} passed before the first reconnect.{planned}"
        without = " passed without a server" if self.never_ended else ""
        return f"{who}{times}, until the end of the run: {gone}{without}.{planned}"

    @property
    def seen(self) -> list[str]:
        lost = counted(self.connections_lost, "connection")
        still = f"For {seconds(self.still_s)} of that time no transaction completed."
        return [
            f"{lost} lost: {and_so_on(self.messages)}.",
            *(["The server's log shows a restart."] if self.server_restarted else []),
            *([still] if self.still_s else []),
        ]

    why: ClassVar[str] = (
        "While the server is down there is nothing to measure, and its CPU is free for others: the "
        "run's means are not those of a working server."
    )

    @property
    def advice(self) -> list[str]:
        """Where to look for the cause, unless the run itself was."""
        if self.planned:
            return ["Read the table of the events: it has what each of them cost."]
        return [
            "Check the server's log: was it stopped by someone, killed by the kernel for lack of "
            "memory, or ended by an error of its own?",
            "Check what may end sessions between client and server: a pooler, a firewall, a "
            "timeout.",
        ]

    refute: ClassVar[str] = "Run again while the server stays up: no connection may be lost."


def look(run: Run) -> Outage | NotFound:
    """Only what was lost while measuring."""
    duration_s = needed(full_record(run).duration_s or None, "nothing was measured")
    losses = _losses(run, duration_s)
    seen = [event for event in events(run) if event.kind == "outage"]
    reported = (_outage(run, event, losses, duration_s) for event in seen)
    outages = [one for one in reported if one.losses]
    if not outages:
        return NotFound("no connection was lost")
    lost = sum(one.connections for one in outages)
    if lost <= closed_for_what_was_sent(full_record(run).failures):
        return NotFound("the server ended the connections because of what the clients sent")
    clients, last = run.plan.clients, outages[-1]
    lost_s = sum(one.client_seconds(clients) for one in outages)
    return Outage(
        share=lost_s / client_time_s(run),
        outages=len(outages),
        seconds=sum(one.seconds for one in outages),
        connections_lost=lost,
        came_back=last.is_over,
        server_restarted=any(one.restarted for one in outages),
        duration_s=duration_s,
        messages=[*dict.fromkeys(loss.message for one in outages for loss in one.losses)],
        affected_all=any(one.took_all(clients) for one in outages),
        never_ended=not last.is_over and last.took_all(clients),
        still_s=sum(one.still_s for one in outages),
        planned=_planned(full_record(run).failovers, outages),
        gains=gains_in(run),
    )


def _planned(events: Sequence[FailoverRecord], outages: Sequence[_Outage]) -> tuple[str, ...]:
    """Return the events that caused the outages; none if an outage had another cause."""
    found: list[str] = []
    for outage in outages:
        causes = [
            f"{event.event} at {seconds(event.at_s)}"
            for event in events
            if event.at_s <= outage.begin_s <= event.at_s + (event.took_ms or 0) / 1e3 + 1
        ]
        if not causes:
            return ()
        found += causes
    return tuple(dict.fromkeys(found))


def _losses(run: Run, duration_s: float) -> list[_Loss]:
    lost = run.outages
    reported = rows(lost.time_s, lost.seconds, lost.connections_lost, lost.message)
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


def _outage(run: Run, event: RunEvent, losses: Sequence[_Loss], duration_s: float) -> _Outage:
    begin_s, end_s = max(event.begin_s, 0.0), min(event.end_s, duration_s)
    return _Outage(
        begin_s=begin_s,
        end_s=end_s,
        losses=[loss for loss in losses if begin_s <= loss.begin_s <= end_s],
        restarted=event.label == RESTART,
        still_s=_still_s(run, begin_s, end_s),
        client_s=float(client_seconds_planned(run.plan, begin_s, end_s)),
    )


def _still_s(run: Run, begin_s: float, end_s: float) -> float:
    line = timeline(run).whole_intervals()
    within = (line.time_s >= begin_s) & (line.time_s + line.seconds <= end_s)
    return float(np.sum(line.seconds, where=within & (line.tps == 0)))


RULE = Rule(
    id="outage",
    title="Outage: connections to the server were lost",
    look=look,
    accounts_for=frozenset({"unconnected", "not_seen"}),
    explains_failures=True,
    events=frozenset({"outage"}),
)
