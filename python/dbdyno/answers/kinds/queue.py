"""Queue: which rows clients wait for and which rows shield others, with few and with many clients.

The picture is that of the run's own report; shielding is determined as for the finding
``row_lock_convoy``.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dbdyno.analysis.search.bounds import EXCEEDED
from dbdyno.answers.answer import Answer, Answered, Claim, QueueOf, Trial, Trials
from dbdyno.answers.grouping import by_level, chosen
from dbdyno.explain.locks.convoy import Convoy, convoy_of
from dbdyno.explain.locks.row_holds import RowHold
from dbdyno.explain.needs import LackingError
from dbdyno.explain.sentences import bound_text
from dbdyno.formatting import count, milliseconds, percent, significant, tps


def answer(trials: Trials, options: Mapping[str, Any]) -> Answered:
    """The runs with the fewest clients that can queue at all, and with the most."""
    over = str(options.get("over", "clients"))
    levels = by_level(trials, chosen(trials, options.get("at")), over)
    several = [level for level in levels if float(level) > 1]
    ends = list(dict.fromkeys([*several[:1], *several[-1:]]))
    if not ends:
        return Answered(claims=[], missing=f"no run with more than one of {over}")
    shown = [
        QueueOf(title=f"The queue with {level} {over}", trial=levels[level][0]) for level in ends
    ]
    claims = [claim for level in ends for claim in _claims(level, over, levels[level])]
    return Answered(claims=claims, shown=shown)


def _claims(level: str, over: str, runs: Sequence[Trial]) -> Iterator[Claim]:
    """From the run that is drawn; its doubt is in how many of the others the same row leads."""
    looked = [_convoy(trial) for trial in runs]
    convoys = [one for one in looked if isinstance(one, Convoy)]
    if not convoys:
        lacks = list(dict.fromkeys(str(one) for one in looked if one is not None))
        is_known = None in looked  # clients were found not to wait
        yield Claim(
            sentence=f"With {level} {over} no client was sampled waiting for a row"
            if is_known
            else f"With {level} {over} it is not known what clients wait for",
            is_decided=is_known,
            doubt="; ".join(lacks),
        )
        return
    shown = convoys[0]
    alike = sum(convoy.hot.relation == shown.hot.relation for convoy in convoys)
    yield Claim(
        sentence=f"With {level} {over} {_shielded(shown)}{_bound(shown, len(runs))}: clients spend "
        f"{percent(min(shown.share, 1.0))} of their time waiting for each other's row locks",
        is_decided=alike == len(runs),
        effect=shown.share,
        doubt="" if alike == len(runs) else f"The same row in {alike} of {len(runs)} runs",
        evidence={
            "hot": shown.hot.relation,
            "shield": shown.shield.relation if shown.shield else None,
            "bound_tps": shown.bound_tps,
            "measured_tps": shown.measured_tps,
        },
    )


def _convoy(trial: Trial) -> Convoy | LackingError | None:
    """The queue of a run: None if there was none, an error if that cannot be known."""
    try:
        return convoy_of(trial.run)
    except LackingError as lack:
        return lack


def _shielded(convoy: Convoy) -> str:
    hot = _rows(convoy.hot)
    if convoy.shield is None:
        return f"the queue is for {hot}, and nothing before it holds clients back"
    past = significant(convoy.past_shield)
    return f"{_rows(convoy.shield)} shield {hot}: at most {past} of {convoy.clients} get past"


def _rows(hold: RowHold) -> str:
    if hold.rows is None:
        return f"rows of {hold.relation}"
    return f"the {count(hold.rows)} {'row' if hold.rows == 1 else 'rows'} of {hold.relation}"


def _bound(convoy: Convoy, runs: int) -> str:
    """The throughput that the row allows; if the run exceeds this bound, something else is wrong.

    Of several runs both numbers are those of one, which may be above or below their mean.
    """
    if convoy.bound_tps is None or convoy.hot.hold_s is None:
        return ""
    held, measured = milliseconds(convoy.hot.hold_s * 1e3), tps(convoy.measured_tps)
    if convoy.measured_tps > convoy.bound_tps * EXCEEDED:
        return (
            f" (measured {measured} TPS, more than the {tps(convoy.bound_tps)} that holding it "
            f"for {held} would allow: it is released before clients receive the commit, or the "
            "run is too short to time it)"
        )
    return (
        f" (held for {held} each time, which allows about "
        f"{bound_text(convoy.bound_tps, convoy.bound_range_tps)}; "
        f"measured: {measured}{' in the run shown' if runs > 1 else ''})"
    )


ANSWER = Answer(
    id="queue",
    title="Who waits for whom",
    options={
        "over": "the factor that counts the clients (clients)",
        "at": "levels of the other factors",
    },
    answer=answer,
)
