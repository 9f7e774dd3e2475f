"""The queues for rows in a run: which row bounds the rate, and which statement shields it.

A statement that locks one of few rows lets only as many clients past it; the hotter row behind
it is then waited for by these alone. Works out who is who; the words are the rule's.
"""

import math

from msgspec import Struct
from msgspec.structs import replace

from dbdyno.analysis.bounds import EXCEEDED, let_past
from dbdyno.analysis.budget import Budget
from dbdyno.explain.case import Case
from dbdyno.explain.deadlock_time import pending_share
from dbdyno.explain.needs import client_time
from dbdyno.explain.row_holds import RowHold, bound_tps, row_holds
from dbdyno.explain.rule import NOTICED

BURSTS = 3.0
"""Where holds come in bursts, as on a host that stalls, waiting is up to this many times longer."""


class Convoy(Struct, frozen=True, kw_only=True):
    """The queues of a run, the row that bounds it, and what shields it."""

    clients: int
    share: float
    total_s: float
    holds: list[RowHold]
    hot: RowHold
    shield: RowHold | None
    bound_tps: float | None
    """None, too, where holders pause: how long they do is not known."""
    measured_tps: float
    behind_pauses: float
    """The share of client time in waits for clients that pause in their transaction."""
    is_uneven: bool
    """Whether so many wait for the hot table that its rows cannot be equally likely."""

    def waiting_mean(self, hold: RowHold) -> float:
        """How many clients wait there on average; time not sampled counts as no waiting."""
        return hold.waiting_s / self.total_s * self.clients

    @property
    def past_shield(self) -> float:
        """How many clients get past the shielding statement at most."""
        rows = self.shield.rows if self.shield else None
        return let_past(rows or self.clients, self.clients)

    @property
    def before(self) -> list[RowHold]:
        """Other tables' rows that the same transactions lock first, as far as they are counted."""
        return _before(self.holds, self.hot)

    @property
    def of_bound(self) -> float | None:
        """Measured over bound."""
        return self.measured_tps / self.bound_tps if self.bound_tps else None

    @property
    def is_bound_exceeded(self) -> bool:
        """Whether the row is let go before clients hear of the commit: then it bounds nothing."""
        return (self.of_bound or 0.0) > EXCEEDED


def waited_among_clients(case: Case, spent: Budget) -> float:
    """The share of client time in waits for each other's locks, but in no deadlock.

    How often a chain of waits ends at another client is known; of these waits so many fell into
    a deadlock as it was the time that some deadlock was pending.
    """
    return spent.behind("client") * (1 - pending_share(case))


def _waited_share(case: Case, spent: Budget, holds: list[RowHold]) -> float:
    """The same of waits for rows alone."""
    for_rows = sum(hold.waiting_s for hold in holds) / spent.total
    return min(for_rows * (1 - pending_share(case)), waited_among_clients(case, spent))


def _behind_pauses(spent: Budget) -> float:
    """Below the noise 0: a look is late for some sessions."""
    waited_s = sum(
        charge.seconds
        for charge in spent.charges
        if charge.root_who == "client" and charge.root_kind == "idle_in_transaction"
    )
    share = waited_s / spent.total
    return share if share >= NOTICED else 0.0


def convoy_of(case: Case) -> Convoy | None:
    """None where no client waits for a row that another client holds."""
    spent = client_time(case)
    holds = row_holds(case)
    return _convoy(case, spent, holds) if holds else None


def _is_uneven(holds: list[RowHold], relation: str, measured_tps: float, total_s: float) -> bool:
    """Whether more wait than would if each row of the table were as likely.

    A row is then in use for ρ = X·p·h of the time, h with the waits in it, and who comes to it
    waits for h·ρ/(1 − ρ) or less: no client does so for more than ρ/(1 − ρ) of its time.
    One row alone is not likelier than itself.
    """
    of_it = [hold for hold in holds if hold.relation == relation]
    if any((hold.rows or 1.0) <= 1.0 or hold.taken_s is None for hold in of_it):
        return False
    chances = [hold.script_share / (hold.rows or 1.0) * (hold.taken_s or 0.0) for hold in of_it]
    in_use = measured_tps * sum(chances)
    waited = sum(hold.waiting_s for hold in of_it) / total_s
    return waited >= NOTICED and waited > _waited_most(in_use)


def _waited_most(in_use: float) -> float:
    """The most of its time that a client waits for a row in use for this part of the time."""
    return BURSTS * in_use / (1.0 - in_use) if in_use < 1.0 else math.inf


def _convoy(case: Case, spent: Budget, holds: list[RowHold]) -> Convoy:
    throughput = case.record.throughput_tps
    measured_tps = throughput.value if throughput else 0.0
    behind_pauses = _behind_pauses(spent)
    uneven = {
        hold.relation
        for hold in holds
        if not behind_pauses and _is_uneven(holds, hold.relation, measured_tps, spent.total)
    }
    holds = [replace(hold, rows=None) if hold.relation in uneven else hold for hold in holds]
    bounds = {hold.relation: bound_tps(holds, hold.relation) for hold in holds}
    is_known = not behind_pauses
    known = {of: bound for of, bound in bounds.items() if is_known and bound is not None}
    hot = _hot(holds, known, measured_tps, spent.total)
    clients: int = case.recording.plan["clients"]
    return Convoy(
        clients=clients,
        share=_waited_share(case, spent, holds),
        total_s=spent.total,
        holds=holds,
        hot=hot,
        shield=_shield(holds, hot, clients),
        bound_tps=known.get(hot.relation),
        measured_tps=measured_tps,
        behind_pauses=behind_pauses,
        is_uneven=hot.relation in uneven,
    )


def _hot(
    holds: list[RowHold], known: dict[str, float], measured_tps: float, total_s: float
) -> RowHold:
    """Where most wait for the table with the lowest bound.

    Where most wait for a table whose bound is not known, as of one that a trigger locks, and more
    than the lowest known bound could make wait, it is that table.
    """
    most = max(holds, key=_waiting)
    if not known:
        return most
    hottest = min(known, key=lambda relation: known[relation])
    waited_most = _waited_most(measured_tps / known[hottest])
    if most.relation not in known and most.waiting_s / total_s > waited_most:
        return most
    return max((hold for hold in holds if hold.relation == hottest), key=_waiting)


def _waiting(hold: RowHold) -> float:
    return hold.waiting_s


def _before(holds: list[RowHold], hot: RowHold) -> list[RowHold]:
    """Other tables' rows that its transactions lock first, as far as they are counted."""
    return [
        hold
        for hold in holds
        if hold.script == hot.script
        and hold.statement < hot.statement
        and hold.relation != hot.relation
        and hold.rows is not None
    ]


def _shield(holds: list[RowHold], hot: RowHold, clients: int) -> RowHold | None:
    """The statement before it that lets the fewest past, if it holds back anybody."""
    fewest = min(_before(holds, hot), key=lambda hold: hold.rows or 0.0, default=None)
    return fewest if fewest and (fewest.rows or 0.0) < clients else None
