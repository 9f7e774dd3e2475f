"""Connection churn: clients spend their time connecting instead of querying.

Looks for: connections opened during the measurement, one per transaction (-C) or again after a
loss, and the time they took.

Arithmetic: connections × mean time to connect, over client time. Each connection also costs the
server a new process or thread, authentication and cold session caches, which the first
statements pay for: the share is a lower bound.

Source: the engine's own timing of each connection, from opening the socket to ready for query.

Wrong when: the connections go through a pooler on the client's side: then they are cheap, and the
server sees few of them.
"""

from typing import ClassVar

from dbdyno.analysis.series.totals import measured_total
from dbdyno.analysis.waits.session_samples import client_time_s, measured_s
from dbdyno.explain.gains import LimitClaim, gains_in
from dbdyno.explain.needs import committed, growth_if_reported, needed
from dbdyno.explain.rule import NOTICED, Aside, NotFound, Rule
from dbdyno.formatting import count, milliseconds, percent, significant
from dbdyno.model.counters import Machine
from dbdyno.model.record import Certainty
from dbdyno.model.run import Run


class ConnectionChurn(LimitClaim, frozen=True, kw_only=True):
    """The connections opened while measuring, as the clients and the server saw them."""

    connections: int
    connect_ms: float
    connections_per_transaction: float
    server_sessions: float | None
    """New sessions by the server's own count; None if it has none."""
    forks: float | None
    per_s: Aside[float]
    session: Aside[str]
    """What the server creates for each."""
    pooler: Aside[str]
    is_wanted: Aside[bool] = False
    """Whether the run was to connect for each transaction (-C)."""

    @property
    def summary(self) -> str:
        return (
            f"Clients spent {percent(self.share or 0.0)} of their time connecting: "
            f"{significant(self.per_s)} connections per second at "
            f"{milliseconds(self.connect_ms)} each."
        )

    @property
    def certainty(self) -> Certainty:
        return "likely" if self.server_sessions is None else "sure"

    @property
    def seen(self) -> list[str]:
        sessions = self.server_sessions
        return [
            f"Connections per transaction: {significant(self.connections_per_transaction)}.",
            *([f"The server counted {count(sessions)} new sessions."] if sessions else []),
        ]

    @property
    def why(self) -> str:
        return (
            f"Each connection starts a new {self.session}, authenticates and begins with empty "
            "caches: this costs far more than a short transaction."
        )

    @property
    def advice(self) -> list[str]:
        unwanted = "If connecting is not what you want to measure, omit -C."
        return [
            "Keep connections open: use a pool in the application, or a pooler "
            f"({self.pooler}) in front of the server.",
            *([unwanted] if self.is_wanted else []),
        ]

    refute: ClassVar[str] = (
        "Run again with connections kept open: throughput must rise by about that factor; at a "
        "given rate, response times must fall."
    )


def look(run: Run) -> ConnectionChurn | NotFound:
    """Not found without connections in the measured part."""
    connects = measured_total(run, run.connects)
    seconds = needed(measured_s(run) or None, "nothing was measured")
    share = min(connects.seconds / client_time_s(run), 1.0)
    if share < NOTICED:
        return NotFound(f"clients spent {percent(share)} of their time connecting")
    terms = run.database.terms
    return ConnectionChurn(
        share=share,
        connections=connects.count,
        connect_ms=connects.seconds / connects.count * 1e3,
        connections_per_transaction=connects.count / committed(run),
        server_sessions=_server_sessions(run),
        forks=growth_if_reported(run, Machine.forks),
        per_s=connects.count / seconds,
        session=terms.session,
        pooler=terms.pooler,
        is_wanted=run.plan.reconnect_each_transaction,
        gains=gains_in(run),
    )


def _server_sessions(run: Run) -> float | None:
    """The server's own count of new sessions, which PostgreSQL has from version 14."""
    opened = run.database.terms.sessions_opened
    return (growth_if_reported(run, opened) or None) if opened else None


RULE = Rule(
    id="connection_churn",
    title="Connection churn",
    look=look,
    accounts_for=frozenset({"unconnected", "not_seen"}),
)
