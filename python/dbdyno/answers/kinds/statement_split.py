"""Statement split: the latency of two updates over the number of clients, and its lock waits.

A statement that comes first and locks one of few rows lets only as many transactions past it: most
clients wait there, and few wait for the one behind it, although its row is the hotter. With fewer
clients than rows no client is held back, and the statement on the hotter row is slower. Where the
two cross is determined block by block (``answers/crossing.py``).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dbdyno.answers.answer import Answer, Answered, Claim, Trials
from dbdyno.answers.crossing import Crossing, crossing
from dbdyno.answers.grouping import by_level, chosen
from dbdyno.answers.intervals import in_brackets
from dbdyno.answers.split_display import split_curve, split_table, where_time_goes
from dbdyno.answers.two_updates import Level, Pair, clients_text, mean_ms_of, rows_of
from dbdyno.formatting import count, milliseconds, percent, significant

_MOSTLY = 0.5
"""A statement that spends more than this share of its time on locks is slow by waiting."""


def answer(trials: Trials, options: Mapping[str, Any]) -> Answered:
    """The verdict on which is slower and why, the table, the curves, and where the time goes."""
    over = str(options.get("over", "clients"))
    among = chosen(trials, options.get("at"))
    pairs = (Pair.of_run(trial, options["statements"]) for trial in among)
    pair = next((pair for pair in pairs if pair is not None), None)
    runs_of = {float(level): runs for level, runs in by_level(trials, among, over).items()}
    if pair is None or not runs_of:
        return Answered(claims=[], missing="no run has updates of both tables")
    tables = [pair.table(label) for label in (pair.first, pair.second)]
    found = crossing(among, over, *map(mean_ms_of, tables))
    if found is None:
        return Answered(claims=[], missing="the statements were not timed")
    levels = [Level(clients, runs_of[clients]) for clients in found.ratios]
    untimed = sorted(runs_of.keys() - found.ratios.keys())
    return Answered(
        claims=[_verdict(pair, levels, found, untimed), *_behind(pair, levels[-1])],
        shown=[
            split_table(pair, levels, over),
            split_curve(trials, among, pair, levels, over),
            *where_time_goes(trials, pair, levels, over),
        ],
    )


def _verdict(
    pair: Pair, levels: Sequence[Level], found: Crossing, untimed: Sequence[float]
) -> Claim:
    most = levels[-1]
    ratio = found.ratios[most.clients]
    slower = pair.first if ratio.value > 1 else pair.second
    doubts = []
    if found.at is None:
        doubts.append("The runs at these levels do not show a crossing in every block")
    elif not found.is_decided:
        doubts.append("The crossing is not certain: no level on one side of it is significant")
    if not ratio.is_significant:
        doubts.append(f"with {clients_text(most.clients)} the two do not differ significantly")
    if untimed:
        clients = ", ".join(map(significant, untimed))
        doubts.append(f"runs with {clients} clients are left out: no run timed both statements")
    sentences = (_why(pair, most, slower), _below(pair, levels, found))
    return Claim(
        sentence=". ".join(filter(None, sentences)),
        is_decided=ratio.is_significant,
        effect=found.at.value if found.at else ratio.value,
        low=found.at.low if found.at else ratio.low,
        high=found.at.high if found.at else ratio.high,
        doubt="; ".join(doubts),
        evidence={
            "ratios": {significant(level): of.value for level, of in found.ratios.items()},
            "crossing_clients": found.at.value if found.at else None,
        },
    )


def _why(pair: Pair, most: Level, slower: str) -> str:
    """The reason, if rows and waits show it; otherwise the observation alone."""
    clients = clients_text(most.clients)
    first, second = (pair.table(label) for label in (pair.first, pair.second))
    share = most.lock_share(first)
    waits = f" ({percent(share)} of it waiting for a lock)" if share is not None else ""
    times = (
        f"the update of {pair.first} takes {milliseconds(most.mean_ms(first))}{waits} and that of "
        f"{pair.second} {milliseconds(most.mean_ms(second))}"
    )
    rows = rows_of(most.runs[0].run, first)
    shields = slower == pair.first and rows is not None and rows < most.clients
    if shields and share is not None and share > _MOSTLY:
        return (
            f"Because {pair.first} come first: with {clients} their {count(rows or 0)} rows let at "
            f"most {count(rows or 0)} through to {pair.second} and hold back the rest, so {times}"
        )
    return f"With {clients} {times}"


def _below(pair: Pair, levels: Sequence[Level], found: Crossing) -> str:
    """The situation with fewer clients, and the levels between which the two change places."""
    below = [level for level in levels if found.ratios[level.clients].value < 1]
    if found.at is None or not below:
        return ""
    last = below[-1]
    above = next(level for level in levels if level.clients > last.clients)
    decided = [level for level in below if found.ratios[level.clients].is_significant]
    few = decided[-1] if decided else last
    between = in_brackets(found.at, between=" over blocks")
    return (
        f"With {clients_text(few.clients)} {pair.second} are the slower "
        f"({milliseconds(few.mean_ms(pair.table(pair.second)))} against "
        f"{milliseconds(few.mean_ms(pair.table(pair.first)))}); between "
        f"{significant(last.clients)} and {significant(above.clients)} the two cross, by "
        f"interpolation at about {significant(found.at.value)}{between}"
    )


def _behind(pair: Pair, most: Level) -> Iterator[Claim]:
    """How many wait at each statement: the crowd, and those that it lets past."""
    first, second = (most.waiting(pair.table(label)) for label in (pair.first, pair.second))
    rows = rows_of(most.runs[0].run, pair.table(pair.first))
    if first is None or second is None:
        return
    past = f"; no more than {count(rows)} can be past {pair.first}" if rows else ""
    yield Claim(
        sentence=f"With {clients_text(most.clients)} on average {significant(first)} wait "
        f"for a lock at {pair.first} and {significant(second)} at {pair.second}{past}",
        is_decided=True,
        effect=first,
        evidence={"waiting_first": first, "waiting_second": second, "rows_first": rows},
    )


ANSWER = Answer(
    id="statement-split",
    title="Which statement waits, and for what",
    options={
        "statements": "two tables whose updates are compared, each under a label",
        "over": "the factor that counts the clients (clients)",
        "at": "levels of the other factors",
    },
    answer=answer,
)
