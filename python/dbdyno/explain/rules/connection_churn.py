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

from dbdyno.analysis.session_samples import client_time_s, measured_s
from dbdyno.analysis.time_totals import measured_total
from dbdyno.explain.case import Case
from dbdyno.explain.databases import database_of
from dbdyno.explain.needs import committed, growth_if_reported, needed
from dbdyno.explain.rule import NOTICED, NotFound, Outcome, Rule, found
from dbdyno.explain.sentences import gain_text
from dbdyno.formatting import count, milliseconds, percent, significant


def look(case: Case) -> Outcome:
    """Not found without connections in the measured part."""
    connects = measured_total(case.recording, "connects")
    seconds = needed(measured_s(case.recording) or None, "nothing was measured")
    share = min(connects.seconds / client_time_s(case.recording), 1.0)
    if share < NOTICED:
        return NotFound(f"clients spent {percent(share)} of their time connecting")
    database = database_of(case)
    each_ms = connects.seconds / connects.count * 1e3
    per_transaction = connects.count / committed(case)
    return found(
        f"Clients spent {percent(share)} of their time connecting: "
        f"{significant(connects.count / seconds)} connections per second at "
        f"{milliseconds(each_ms)} each.",
        share=share,
        share_of="client time",
        certainty="likely" if _server_sessions(case) is None else "sure",
        evidence={
            "connections": connects.count,
            "connect_ms": each_ms,
            "connections_per_transaction": per_transaction,
            "server_sessions": _server_sessions(case),
            "forks": growth_if_reported(case, "machine", "forks"),
        },
        seen=[f"Connections per transaction: {significant(per_transaction)}.", *_server(case)],
        why=f"Each connection starts a new {database.session}, authenticates and begins with empty "
        "caches: this costs far more than a short transaction.",
        advice=[
            "Keep connections open: use a pool in the application, or a pooler "
            f"({database.pooler}) in front of the server.",
            *_of_the_run(case),
        ],
        gain=gain_text(case, share),
        refute="Run again with connections kept open: throughput must rise by about that factor; "
        "at a given rate, response times must fall.",
    )


def _server_sessions(case: Case) -> float | None:
    """The server's own count of new sessions, which PostgreSQL has from version 14."""
    return growth_if_reported(case, *database_of(case).sessions_opened) or None


def _server(case: Case) -> list[str]:
    sessions = _server_sessions(case)
    return [f"The server counted {count(sessions)} new sessions."] if sessions else []


def _of_the_run(case: Case) -> list[str]:
    if case.recording.plan.get("reconnect_each_transaction"):
        return ["If connecting is not what you want to measure, omit -C."]
    return []


RULE = Rule(
    id="connection_churn",
    title="Connection churn",
    look=look,
    accounts_for=frozenset({"unconnected", "not_seen"}),
)
