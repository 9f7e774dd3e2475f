"""The queues for rows in a run: which row bounds the rate, and which statement shields it.

A statement that locks one of few rows lets only as many clients past it; only these can wait for
the hotter row behind it. This module finds the roles; the text is in the rule.
"""

import math

from msgspec import Struct
from msgspec.structs import replace

from dbdyno.analysis.search.bounds import EXCEEDED, let_past
from dbdyno.analysis.summarize import full_record
from dbdyno.analysis.waits.budget import Budget
from dbdyno.explain.locks.deadlock_time import pending_share
from dbdyno.explain.locks.row_holds import RowHold, bound_range_tps, bound_tps, row_holds
from dbdyno.explain.needs import client_time, clients_at_once
from dbdyno.explain.rule import NOTICED
from dbdyno.model.run import Run

BURSTS = 3.0
"""If holds come in bursts, as on a host that stalls, waiting is up to this many times longer."""


class Convoy(Struct, frozen=True, kw_only=True):
    """The queues of a run, the row that bounds it, and what shields it."""

    clients: int
    share: float
    total_s: float
    holds: list[RowHold]
    hot: RowHold
    shield: RowHold | None
    bound_tps: float | None
    """None also if holders pause, because the length of their pauses is not known."""
    bound_range_tps: tuple[float, float] | None
    """Between what the bound is; None if it is not known."""
    measured_tps: float
    behind_pauses: float
    """The share of client time in waits for clients that pause in their transaction."""
    is_uneven: bool
    """Whether so many wait for the hot table that its rows cannot be equally likely."""

    def waiting_mean(self, hold: RowHold) -> float:
        """Mean number of clients that wait there; time not sampled counts as no waiting."""
        return hold.waiting_s / self.total_s * self.clients

    @property
    def past_shield(self) -> float:
        """Upper bound of the clients that get past the shielding statement."""
        rows = self.shield.rows if self.shield else None
        return let_past(rows or self.clients, self.clients)

    @property
    def before(self) -> list[RowHold]:
        """Holds on other tables' rows that the same transactions lock first, if rows are known."""
        return _before(self.holds, self.hot)

    @property
    def hot_holds(self) -> list[RowHold]:
        """The ways in which rows of the hot table are held: by one script or several."""
        return [hold for hold in self.holds if hold.relation == self.hot.relation]

    @property
    def of_bound(self) -> float | None:
        """Measured / bound."""
        return self.measured_tps / self.bound_tps if self.bound_tps else None

    @property
    def is_bound_exceeded(self) -> bool:
        """Whether the row is released before clients receive the commit: then there is no bound."""
        return (self.of_bound or 0.0) > EXCEEDED


def waited_among_clients(run: Run, spent: Budget) -> float:
    """Share of client time in waits for each other's locks, outside of deadlocks.

    The session samples show how often a chain of waits ends at another client; the part of these
    waits that belongs to deadlocks is taken to be the share of time in which some deadlock was
    pending.
    """
    return spent.behind("client") * (1 - pending_share(run))


def _waited_share(run: Run, spent: Budget, holds: list[RowHold]) -> float:
    """The same for waits for rows alone; sampling error may make it more than all time."""
    for_rows = sum(hold.waiting_s for hold in holds) / spent.total
    return min(for_rows * (1 - pending_share(run)), waited_among_clients(run, spent), 1.0)


def _behind_pauses(spent: Budget) -> float:
    """Share of client time behind pausing holders; 0 below the noise of late samples."""
    waited_s = sum(
        charge.seconds
        for charge in spent.charges
        if charge.root_who == "client" and charge.root_kind == "idle_in_transaction"
    )
    share = waited_s / spent.total
    return share if share >= NOTICED else 0.0


def convoy_of(run: Run) -> Convoy | None:
    """None if no client waits for a row that another client holds."""
    spent = client_time(run)
    holds = row_holds(run)
    return _convoy(run, spent, holds) if holds else None


def _is_uneven(holds: list[RowHold], relation: str, measured_tps: float, total_s: float) -> bool:
    """Whether more clients wait than would if all rows of the table were equally likely.

    A row is then in use for ρ = X·p·h of the time, with h including waits, and a client that comes
    to it waits for at most h·ρ/(1 − ρ): no client waits for more than ρ/(1 − ρ) of its time. A
    single row cannot be more likely than the others.
    """
    of_it = [hold for hold in holds if hold.relation == relation]
    if any((hold.rows or 1.0) <= 1.0 or hold.taken_s is None for hold in of_it):
        return False
    chances = [hold.script_share / (hold.rows or 1.0) * (hold.taken_s or 0.0) for hold in of_it]
    in_use = measured_tps * sum(chances)
    waited = sum(hold.waiting_s for hold in of_it) / total_s
    return waited >= NOTICED and waited > _waited_most(in_use)


def _waited_most(in_use: float) -> float:
    """Largest share of its time that a client waits for a row with this utilization."""
    return BURSTS * in_use / (1.0 - in_use) if in_use < 1.0 else math.inf


def _convoy(run: Run, spent: Budget, holds: list[RowHold]) -> Convoy:
    throughput = full_record(run).throughput_tps
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
    clients = clients_at_once(run)
    return Convoy(
        clients=clients,
        share=_waited_share(run, spent, holds),
        total_s=spent.total,
        holds=holds,
        hot=hot,
        shield=_shield(holds, hot, clients),
        bound_tps=known.get(hot.relation),
        bound_range_tps=bound_range_tps(holds, hot.relation) if hot.relation in known else None,
        measured_tps=measured_tps,
        behind_pauses=behind_pauses,
        is_uneven=hot.relation in uneven,
    )


def _hot(
    holds: list[RowHold], known: dict[str, float], measured_tps: float, total_s: float
) -> RowHold:
    """The hold with most waiting for the table with the lowest bound.

    If most clients wait for a table whose bound is not known, such as one that a trigger locks, and
    more than the lowest known bound could make wait, it is that table.
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
    """Holds on other tables' rows that its transactions lock first, if their number is known."""
    return [
        hold
        for hold in holds
        if hot.statement in hold.while_held
        and hold.relation != hot.relation
        and hold.rows is not None
    ]


def _shield(holds: list[RowHold], hot: RowHold, clients: int) -> RowHold | None:
    """The earlier statement that lets the fewest clients past, if it holds any back."""
    fewest = min(_before(holds, hot), key=lambda hold: hold.rows or 0.0, default=None)
    return fewest if fewest and (fewest.rows or 0.0) < clients else None
