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

Which statements follow, and how often, is in a script's text; where it is not (Lua), it is in the
transactions that the engine keeps, and in the counts of statements. The part of h in which requests
and answers are on the way is that of the session samples; on a host whose CPU is saturated it
includes waits for the CPU. One request, as by a function on the server, saves at most this part.

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

from collections.abc import Mapping, Sequence
from typing import ClassVar

from msgspec import Struct
from msgspec.structs import replace

from dbdyno.analysis.search.bounds import EXCEEDED, UNBOUNDED, expected_distinct
from dbdyno.explain.gains import GainsOfWaits, WaitClaim, gains_of_waits_in
from dbdyno.explain.locks.convoy import Convoy, convoy_of
from dbdyno.explain.locks.row_holds import RowHold, bound_in_one_request_tps
from dbdyno.explain.resources.network_time import one_request_option
from dbdyno.explain.rule import MINOR, NOTICED, Aside, NotFound, Rule
from dbdyno.explain.sentences import amount, bound_exceeded_text, bound_text
from dbdyno.explain.statements.statements import statements_of
from dbdyno.formatting import count, milliseconds, percent, significant, tps
from dbdyno.model.record import Certainty
from dbdyno.model.run import Run

_NEAR = (0.5, EXCEEDED)
"""Measured / bound: within this range the bound and the budget agree."""


class WaitForRow(Struct, frozen=True, kw_only=True):
    """The wait at one statement for the rows of one table."""

    statement: int
    relation: str
    rows: float | None
    waiting_mean: float
    """Clients."""
    share: float
    """Of client time."""
    hold_ms: float | None
    held_executions: float
    """Statements that are executed while the row is held, its own not counted."""
    on_the_way_ms: float | None
    """The part of the hold in which requests and answers are on the way."""


class RowLockConvoy(WaitClaim, frozen=True, kw_only=True):
    """The queues of a run for rows, and the row that limits throughput."""

    clients: int
    hot_relation: str
    shield_relation: str | None
    bound_tps: float | None
    bound_range_tps: tuple[float, float] | None
    in_one_request_tps: float | None
    """The bound if nothing were on the way while the row is held."""
    measured_tps: float
    behind_pauses_share: float
    waits: list[WaitForRow]
    convoy: Aside[Convoy]
    texts: Aside[Mapping[int, str]]
    """The statements."""
    scripts: Aside[Sequence[str]] = ()
    one_request: Aside[str] = ""
    """The option with which the workload sends a transaction as one request."""

    @property
    def title(self) -> str:
        if self.shield_relation:
            return f"Row-lock convoy: {self.shield_relation} shields {self.hot_relation}"
        return f"Row-lock convoy on {self.hot_relation}"

    @property
    def certainty(self) -> Certainty:
        """Whether the bound and the budget agree."""
        of_bound, (low, high) = self.convoy.of_bound, _NEAR
        return "sure" if of_bound and low <= of_bound <= high else "likely"

    @property
    def summary(self) -> str:
        waits = (
            f"spend {percent(self.share or 0.0)} of their time waiting for each other's row locks"
        )
        hot = _rows(self.convoy.hot)
        if self.bound_tps is not None and not self.convoy.is_bound_exceeded:
            held = milliseconds((self.convoy.hot.hold_s or 0.0) * 1e3)
            hot += (
                f" (held for {held} each time, which allows about "
                f"{bound_text(self.bound_tps, self.bound_range_tps)}; "
                f"measured: {tps(self.measured_tps)})"
            )
        if self.convoy.shield is None:
            return f"Clients queue for {hot}: they {waits}."
        past = f"{count(self.convoy.past_shield)} of {self.clients} clients"
        shield = _rows(self.convoy.shield).capitalize()
        return f"{shield} let at most {past} through to {hot}: clients {waits}."

    @property
    def seen(self) -> list[str]:
        lines = [
            self.waiting_text(hold, wait)
            for hold, wait in zip(self.convoy.holds, self.waits, strict=True)
        ]
        if self.convoy.shield is None:
            lines += [
                f"{_rows(hold).capitalize()} come first and do not shield {self.hot_relation}: "
                f"{self.clients} clients choose "
                f"{significant(expected_distinct(hold.rows, self.clients))} different ones on "
                "average."
                for hold in self.convoy.before
                if hold.rows
            ]
        if self.convoy.is_uneven:
            lines.append(
                f"Some rows of {self.hot_relation} are hot: if all were chosen equally often, "
                "fewer clients would wait."
            )
        if len(self.scripts) > 1:
            lines += [self.holding_text(hold) for hold in self.convoy.hot_holds if hold.hold_s]
        if self.behind_pauses_share:
            lines.append(
                f"{percent(self.behind_pauses_share)} of client time is spent waiting behind "
                "clients that pause inside their transaction while they hold the row."
            )
        of_bound = self.convoy.of_bound
        if of_bound is not None and self.convoy.is_bound_exceeded:
            lines.append(bound_exceeded_text(self.bound_tps or 0.0, self.measured_tps))
        elif of_bound is not None and of_bound > 1:
            lines.append("Throughput is what the row allows, within the error of the hold time.")
        elif of_bound is not None:
            lines.append(f"Throughput is {percent(of_bound)} of what the row allows.")
        return lines

    def waiting_text(self, hold: RowHold, wait: WaitForRow) -> str:
        """What was observed at one statement."""
        text = self.texts[hold.statement]
        if not hold.waiting_s:
            return f"No client was sampled waiting for {_rows(hold)} at “{text}”, behind the queue."
        hidden = (
            f" It does not name {hold.relation}: a trigger, a foreign key, a view or a function "
            "locks its rows."
        )
        all_locked = (
            " It reads the whole table to find its rows, and locks every row that it reads."
        )
        return (
            f"On average {amount(wait.waiting_mean, 'client waits', 'clients wait')} for "
            f"{_rows(hold)} at “{text}”: {percent(wait.share)} of client time."
            f"{'' if hold.is_named else hidden}{all_locked if hold.locks_all else ''}"
        )

    def holding_text(self, hold: RowHold) -> str:
        """How long one of several scripts holds the row, and through what."""
        each = milliseconds((hold.hold_s or 0.0) * 1e3)
        held = f"{self.scripts[hold.script]} holds it for {each}"
        if hold.is_alone:
            return f"{held}, by a statement that is a transaction of its own."
        on_the_way = milliseconds((hold.on_the_way_s or 0.0) * 1e3)
        through = amount(hold.executions, "further statement", "further statements")
        return f"{held}, through {through}: {on_the_way} of it on the way to the server and back."

    why: ClassVar[str] = (
        "A client that waits for a row does nothing else, and more clients only make the queue "
        "longer: each waits for all before it."
    )

    @property
    def advice(self) -> list[str]:
        hot, name = self.convoy.hot, self.hot_relation
        unlocked = (
            "Let each client take a row that no other has locked: FOR UPDATE SKIP LOCKED in the "
            "statement that takes the first."
        )
        index = (
            f"Let the statement find its rows of {name} through an index: it then locks only these."
        )
        pauses = "End the transaction before the script pauses, or pause before the row is locked."
        sooner = (
            f"Hold rows of {name} for less time: move the statement that locks them as late in the "
            "transaction as possible, and send what follows in one round trip."
        )
        function = f"a function on the server{self.one_request and f' ({self.one_request})'}"
        at_once = (
            f"Send the transaction as one request, by {function}: held without requests on the "
            f"way, the row allows up to {tps(self.in_one_request_tps or 0.0)} TPS."
        )
        spread = f"Spread {name} over more rows, and sum them when reading."
        return [
            *([unlocked] if hot.locks_first else []),
            *([index] if hot.locks_all else []),
            *([pauses] if self.behind_pauses_share else []),
            *([] if hot.is_alone else [sooner]),
            *([at_once] if self.saves_the_way else []),
            *([] if hot.locks_all or hot.locks_first else [spread]),
            "Use fewer connections: beyond the knee they only wait.",
        ]

    @property
    def saves_the_way(self) -> bool:
        """Whether the row would allow notably more if nothing were on the way while it is held."""
        if self.bound_tps is None or self.convoy.is_bound_exceeded:
            return False
        return self.bound_tps / (1 - MINOR) < (self.in_one_request_tps or 0.0) < UNBOUNDED

    @property
    def refute(self) -> str:
        """More rows help only if keys are chosen among them, more data if their range grows."""
        hot, name = self.convoy.hot, self.hot_relation
        if hot.locks_all:
            return (
                "Run again with an index on the columns that the statement compares in "
                f"{name}: only clients that change the same rows may still wait."
            )
        if hot.locks_first:
            return "Run again with SKIP LOCKED in that statement: the waits must disappear."
        if hot.rows is None:
            return f"Let each client use its own row of {name}: the waits must disappear."
        if not hot.is_drawn_over_scale:
            return (
                f"Let the script draw from {self.clients} times as many rows of {name}: the "
                "waits must disappear."
            )
        return (
            f"Run the same load on data with {self.clients} times the rows in {name} (a "
            "larger --scale): the waits must disappear."
        )


def _rows(hold: RowHold) -> str:
    if hold.locks_all:
        return f"all rows of {hold.relation}"
    if hold.rows is None:
        return f"rows of {hold.relation}"
    return f"the {count(hold.rows)} {'row' if hold.rows == 1 else 'rows'} of {hold.relation}"


def look(run: Run) -> RowLockConvoy | NotFound:
    """First how much the waits matter; then which row causes them."""
    convoy = convoy_of(run)
    if convoy is None:
        return NotFound("no client was sampled waiting for another's row")
    if convoy.share < NOTICED:
        part = percent(convoy.share)
        return NotFound(f"clients waited for each other's rows for {part} of their time")
    texts = {one.number: one.text for one in statements_of(run)}
    claim = claim_of(convoy, texts, gains_of_waits_in(run))
    scripts = [script.name for script in run.plan.scripts]
    return replace(claim, scripts=scripts, one_request=one_request_option(run))


def claim_of(convoy: Convoy, texts: Mapping[int, str], gains: GainsOfWaits) -> RowLockConvoy:
    """The numbers of a convoy as findings store them."""
    return RowLockConvoy(
        share=convoy.share,
        clients=convoy.clients,
        hot_relation=convoy.hot.relation,
        shield_relation=convoy.shield.relation if convoy.shield else None,
        bound_tps=convoy.bound_tps,
        bound_range_tps=convoy.bound_range_tps,
        in_one_request_tps=bound_in_one_request_tps(convoy.holds, convoy.hot.relation),
        measured_tps=convoy.measured_tps,
        behind_pauses_share=convoy.behind_pauses,
        waits=[
            WaitForRow(
                statement=hold.statement,
                relation=hold.relation,
                rows=hold.rows,
                waiting_mean=convoy.waiting_mean(hold),
                share=hold.waiting_s / convoy.total_s,
                hold_ms=_ms(hold.hold_s),
                held_executions=hold.executions,
                on_the_way_ms=_ms(hold.on_the_way_s),
            )
            for hold in convoy.holds
        ],
        convoy=convoy,
        texts=texts,
        gains=gains,
    )


def _ms(of_s: float | None) -> float | None:
    return None if of_s is None else of_s * 1e3


RULE = Rule(
    id="row_lock_convoy",
    title="Row-lock convoy",
    look=look,
    accounts_for=frozenset({"lock"}),
)
