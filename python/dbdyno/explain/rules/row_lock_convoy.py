"""Row-lock convoy: clients queue for rows that others hold until they commit.

Looks for: clients that wait for rows behind other clients, the row that limits throughput, and a
statement before it that holds back most of the clients.

Arithmetic: a row that a transaction locks with probability p and then holds for h seconds, to the
end of the commit, allows at most 1/(p·h) transactions per second. A statement that locks one of K
rows lets at most min(N, K) of N clients past it; statements after it see only these. So the queue
stands in front of the statement with the few rows while N is small compared with the K of the
statements before, and moves to those as N grows: they shield the hotter row. p is the share of the
transactions that run the statement, over the table's rows; h is the sum of the mean latencies of
the statements after it, without their lock waits. The bound's interval is from what clients cannot
see of a hold: it may begin as early as the locking statement is sent, and end a round trip before
the commit is received, which the fastest statement bounds.

Source: utilization law (Denning and Buzen, Computing Surveys 10, 1978). The queue of pgbench's
TPC-B at scale 1, at tellers with many clients and at branches with few, is its best known case.

Where far more clients wait than could if all rows were equally likely, some rows are hotter than
others, p is not known, and no bound is reported: with ρ the utilization of a row under equal
probabilities, a client waits for at most ρ/(1 − ρ) of its time, and three times that where holds
come in bursts.

Where no value in the statement decides which row it locks, as in a trigger, with the key in its
text, or with the first row of a queue, or where it locks several rows, the number of rows in the
table does not determine p, and no bound is reported: such a table counts as the hot one if more
clients wait for it than the bounds of the others allow. Nor is a bound reported where the server
finds the rows by reading the whole table and locks all that it reads (InnoDB, from REPEATABLE READ
on).

Where clients pause inside their transaction while others wait for them, h is longer by an unknown
time: then no bound is reported, but the share of waiting that is behind pauses.

Wrong when: keys are skewed (p of the hottest row is larger, and the bound lower), or the clients
are far away (the row is free before they receive the commit, and the bound is higher).
"""

from typing import Any

from dbdyno.analysis.bounds import EXCEEDED, expected_distinct
from dbdyno.explain.case import Case
from dbdyno.explain.convoy import Convoy, convoy_of
from dbdyno.explain.row_holds import RowHold
from dbdyno.explain.rule import NOTICED, NotFound, Outcome, Rule, found
from dbdyno.explain.sentences import amount, bound_exceeded_text, bound_text, gain_of_waits
from dbdyno.explain.statements import statements_of
from dbdyno.formatting import count, milliseconds, percent, significant, tps
from dbdyno.model.record import Certainty

_ALL_LOCKED = " It reads the whole table to find its rows, and locks every row that it reads."
_UNLOCKED = (
    "Let each client take a row that no other has locked: FOR UPDATE SKIP LOCKED in the statement "
    "that takes the first."
)
_NEAR = (0.5, EXCEEDED)
"""Measured / bound: within this range the bound and the budget agree."""


def look(case: Case) -> Outcome:
    """First how much the waits matter; then which row causes them."""
    convoy = convoy_of(case)
    if convoy is None:
        return NotFound("no client was sampled waiting for another's row")
    if convoy.share < NOTICED:
        part = percent(convoy.share)
        return NotFound(f"clients waited for each other's rows for {part} of their time")
    return found(
        _summary(convoy),
        title=_title(convoy),
        share=convoy.share,
        share_of="client time",
        certainty=_certainty(convoy),
        evidence=_evidence(convoy),
        seen=_seen(case, convoy),
        why="A client that waits for a row does nothing else, and more clients only make the queue "
        "longer: each waits for all before it.",
        advice=_advice(convoy),
        gain=gain_of_waits(case, convoy.share),
        refute=_refute(convoy),
    )


def _title(convoy: Convoy) -> str:
    if convoy.shield:
        return f"Row-lock convoy: {convoy.shield.relation} shields {convoy.hot.relation}"
    return f"Row-lock convoy on {convoy.hot.relation}"


def _summary(convoy: Convoy) -> str:
    waits = f"spend {percent(convoy.share)} of their time waiting for each other's row locks"
    hot = f"{_rows(convoy.hot)}{_bound(convoy)}"
    if convoy.shield is None:
        return f"Clients queue for {hot}: they {waits}."
    past = f"{count(convoy.past_shield)} of {convoy.clients} clients"
    shield = _rows(convoy.shield).capitalize()
    return f"{shield} let at most {past} through to {hot}: clients {waits}."


def _rows(hold: RowHold) -> str:
    if hold.locks_all:
        return f"all rows of {hold.relation}"
    if hold.rows is None:
        return f"rows of {hold.relation}"
    return f"the {count(hold.rows)} {'row' if hold.rows == 1 else 'rows'} of {hold.relation}"


def _bound(convoy: Convoy) -> str:
    if convoy.bound_tps is None or convoy.is_bound_exceeded:
        return ""
    held = milliseconds((convoy.hot.hold_s or 0.0) * 1e3)
    return (
        f" (held for {held} each time, which allows about "
        f"{bound_text(convoy.bound_tps, convoy.bound_range_tps)}; "
        f"measured: {tps(convoy.measured_tps)})"
    )


def _certainty(convoy: Convoy) -> Certainty:
    low, high = _NEAR
    return "sure" if convoy.of_bound and low <= convoy.of_bound <= high else "likely"


def _seen(case: Case, convoy: Convoy) -> list[str]:
    texts = {one.number: one.text for one in statements_of(case)}
    lines = [_waiting_text(convoy, hold, texts[hold.statement]) for hold in convoy.holds]
    if convoy.shield is None:
        lines += [
            f"{_rows(hold).capitalize()} come first and do not shield {convoy.hot.relation}: "
            f"{convoy.clients} clients choose "
            f"{significant(expected_distinct(hold.rows, convoy.clients))} different ones on "
            "average."
            for hold in convoy.before
            if hold.rows
        ]
    if convoy.is_uneven:
        lines.append(
            f"Some rows of {convoy.hot.relation} are hot: if all were chosen equally often, fewer "
            "clients would wait."
        )
    if convoy.behind_pauses:
        lines.append(
            f"{percent(convoy.behind_pauses)} of client time is spent waiting behind clients that "
            "pause inside their transaction while they hold the row."
        )
    return [*lines, *_bound_text(convoy)]


def _bound_text(convoy: Convoy) -> list[str]:
    if convoy.of_bound is None:
        return []
    if convoy.is_bound_exceeded:
        return [bound_exceeded_text(convoy.bound_tps or 0.0, convoy.measured_tps)]
    if convoy.of_bound > 1:
        return ["Throughput is what the row allows, within the error of the hold time."]
    return [f"Throughput is {percent(convoy.of_bound)} of what the row allows."]


def _waiting_text(convoy: Convoy, hold: RowHold, text: str) -> str:
    if not hold.waiting_s:
        return f"No client was sampled waiting for {_rows(hold)} at “{text}”, behind the queue."
    hidden = (
        f" It does not name {hold.relation}: a trigger, a foreign key, a view or a function locks "
        "its rows."
    )
    return (
        f"On average {amount(convoy.waiting_mean(hold), 'client waits', 'clients wait')} for "
        f"{_rows(hold)} at “{text}”: {percent(hold.waiting_s / convoy.total_s)} of client time."
        f"{'' if hold.is_named else hidden}{_ALL_LOCKED if hold.locks_all else ''}"
    )


def _advice(convoy: Convoy) -> list[str]:
    hot = convoy.hot.relation
    index = f"Let the statement find its rows of {hot} through an index: it then locks only these."
    pauses = "End the transaction before the script pauses, or pause before the row is locked."
    sooner = (
        f"Hold rows of {hot} for less time: move the statement that locks them as late in the "
        "transaction as possible, and send what follows in one round trip."
    )
    spread = f"Spread {hot} over more rows, and sum them when reading."
    return [
        *([_UNLOCKED] if convoy.hot.locks_first else []),
        *([index] if convoy.hot.locks_all else []),
        *([pauses] if convoy.behind_pauses else []),
        *([] if convoy.hot.is_alone else [sooner]),
        *([] if convoy.hot.locks_all or convoy.hot.locks_first else [spread]),
        "Use fewer connections: beyond the knee they only wait.",
    ]


def _refute(convoy: Convoy) -> str:
    """More rows help only if keys are chosen among them, more data only if the key range grows."""
    hot = convoy.hot
    if hot.locks_all:
        return (
            "Run again with an index on the columns that the statement compares in "
            f"{hot.relation}: only clients that change the same rows may still wait."
        )
    if hot.locks_first:
        return "Run again with SKIP LOCKED in that statement: the waits must disappear."
    if hot.rows is None:
        return f"Let each client use its own row of {hot.relation}: the waits must disappear."
    if not hot.is_drawn_over_scale:
        return (
            f"Let the script draw from {convoy.clients} times as many rows of {hot.relation}: the "
            "waits must disappear."
        )
    return (
        f"Run the same load on data with {convoy.clients} times the rows in {hot.relation} (a "
        "larger --scale): the waits must disappear."
    )


def _evidence(convoy: Convoy) -> dict[str, Any]:
    return {
        "clients": convoy.clients,
        "hot_relation": convoy.hot.relation,
        "shield_relation": convoy.shield.relation if convoy.shield else None,
        "bound_tps": convoy.bound_tps,
        "bound_range_tps": convoy.bound_range_tps,
        "measured_tps": convoy.measured_tps,
        "behind_pauses_share": convoy.behind_pauses,
        "waits": [
            {
                "statement": hold.statement,
                "relation": hold.relation,
                "rows": hold.rows,
                "waiting_mean": convoy.waiting_mean(hold),
                "share": hold.waiting_s / convoy.total_s,
                "hold_ms": hold.hold_s * 1e3 if hold.hold_s is not None else None,
            }
            for hold in convoy.holds
        ],
    }


RULE = Rule(
    id="row_lock_convoy",
    title="Row-lock convoy",
    look=look,
    accounts_for=frozenset({"lock"}),
)
