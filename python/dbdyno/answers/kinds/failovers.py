"""What events under load cost: until there were commits again, and which were lost.

An event is a row of ``failovers`` of a run. Runs that are invalid count, too: a run that lost what
its settings promise to keep is one of them.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec.structs import replace

from dbdyno.analysis.events.recovery import loses_too_much
from dbdyno.analysis.statistics.estimate import CONFIDENCE
from dbdyno.answers.answer import Answer, Answered, Claim, Trial, Trials
from dbdyno.answers.grouping import chosen
from dbdyno.answers.intervals import INTERVAL_NOTE, interval_sentence, interval_text
from dbdyno.answers.measuring import metric_of, over_runs
from dbdyno.answers.tables import Points, number_of_runs
from dbdyno.explain.sentences import amount, loss_allowed_text
from dbdyno.formatting import NOTHING, count, counted, milliseconds, percent, significant
from dbdyno.model.record import FailoverRecord

Runs: TypeAlias = Sequence[Trial]

FIRST_COMMIT, LEVEL = "failover_first_commit_ms", "failover_level_90_ms"
UNREAD = "the data could not be read"


def answer(trials: Trials, options: Mapping[str, Any]) -> Answered:
    """What all events kept and cost in one claim, one for each point, and two rows for each."""
    every = replace(trials, trials=[*trials.trials, *trials.unsound])
    among = [trial for trial in chosen(every, options.get("at")) if trial.record.failovers]
    if not among:
        return Answered(claims=[], missing="no run had an event (--event)")
    points = Points(trials, among)
    named = {points.label(point): runs for point, runs in points.runs.items()}
    cost = points.table(
        "What each event cost",
        points.runs,
        {
            "event": _names_text,
            "runs": number_of_runs,
            "first error, ms": lambda runs: _mean_text(runs, "failover_first_error_ms"),
            "first commit, ms": lambda runs: _mean_text(runs, FIRST_COMMIT),
            "90 % of before, ms": lambda runs: _mean_text(runs, LEVEL),
            "failed": _failed_text,
            "unknown": lambda runs: _mean_text(runs, "failover_unknown"),
        },
        texts={"event", "failed"},
        note="Times count from the event, failed and unknown transactions are those of one event. "
        f"Geometric means over runs, arithmetic ones where a run had none. {INTERVAL_NOTE}",
    )
    loss = points.table(
        "What each event lost",
        points.runs,
        {
            "event": _names_text,
            "events": lambda runs: count(len(_events(runs))),
            "loss known": lambda runs: count(len(_read(runs))),
            "acknowledged": lambda runs: _over_read(runs, _acknowledged),
            "lost": lambda runs: _over_read(runs, _lost),
            "in events": lambda runs: _over_read(runs, lambda of: len(_losing(of))),
            "at most the last": lambda runs: milliseconds(_longest_ms(_losing(runs))),
            "may be lost": _allowed_text,
            "events that lost more": lambda runs: _over_read(runs, lambda of: len(_broken(of))),
        },
        texts={"event", "may be lost"},
        note="Acknowledged and lost commits are those of a few clients beside the load, over all "
        "events after which the data could be read.",
    )
    claims = [_verdict(named, trials), *(_claim(name, runs) for name, runs in named.items())]
    return Answered(claims=claims, shown=[loss, cost])


def _verdict(named: Mapping[str, Runs], trials: Trials) -> Claim:
    """Whether what was promised was kept, and where an event costs least and most."""
    every = [trial for runs in named.values() for trial in runs]
    read, broken, losing = _read(every), _broken(every), _losing(every)
    if broken:
        where = "; ".join(name for name, runs in named.items() if _broken(runs))
        kept = (
            f"{len(broken)} of {counted(len(read), 'event')} lost acknowledged commits that the "
            f"settings promise to keep: with {where}"
        )
    elif not read:
        kept = f"Whether an event lost commits is not known: {UNREAD}"
    else:
        kept = (
            f"None of {counted(len(read), 'event')} lost an acknowledged commit that the "
            "settings promise to keep"
        )
        if losing:
            kept += f"; {len(losing)} lost some that may be lost"
    means = {
        name: mean
        for name, runs in named.items()
        if (mean := over_runs(runs, metric_of(FIRST_COMMIT)))
    }
    if len(means) > 1:
        soonest = min(means, key=lambda name: means[name].value)
        latest = max(means, key=lambda name: means[name].value)
        first, last = means[soonest], means[latest]
        first_ms, last_ms = milliseconds(first.value), milliseconds(last.value)
        if first.high is not None and last.low is not None and first.high < last.low:
            kept += (
                f". The first commit came soonest with {soonest}, {first_ms} after the event, and "
                f"latest with {latest}, {last_ms}"
            )
        else:
            kept += (
                f". The first commit came {first_ms} to {last_ms} after the event, and with what "
                "it comes soonest is not known from so few runs"
            )
    doubts = _unread_doubts(every) if read else []
    if trials.unsound:
        reasons = dict.fromkeys(
            reason for one in trials.unsound for reason in one.record.invalid_reasons[:1]
        )
        doubts.append(
            f"{amount(len(trials.unsound), 'run', 'runs')} of the study failed or are not valid, "
            f"and count here: {'; '.join(reasons) or NOTHING}."
        )
    return Claim(
        sentence=f"{kept}.",
        is_decided=bool(read),
        effect=len(broken) / len(read) if read else None,
        doubt=" ".join(doubts),
    )


def _claim(name: str, runs: Runs) -> Claim:
    read, losing = _read(runs), _losing(runs)
    commit = over_runs(runs, metric_of(FIRST_COMMIT))
    after = (
        f"first commit after {interval_sentence(commit, milliseconds)}"
        if commit
        else ("no commit any more")
    )
    of = f"of {counted(_acknowledged(runs), 'acknowledged commit')}"
    doubts = _unread_doubts(runs) if read else []
    if losing:
        allowed = "more than" if _broken(runs) else "which"
        loss = (
            f"{count(_lost(runs))} {of} lost, in {len(losing)} of {counted(len(read), 'event')}, "
            f"at most the last {milliseconds(_longest_ms(losing))}, {allowed} the settings allow"
        )
    elif not read:
        loss = f"what {counted(len(_events(runs)), 'event')} lost is not known: {UNREAD}"
    else:
        loss = f"none {of} lost in {counted(len(read), 'event')}"
        # The share of events at which that none of so many loses has a chance of 5 %.
        at_most = 1 - (1 - CONFIDENCE) ** (1 / len(read))
        doubts.append(f"Up to {percent(at_most)} of such events may lose some all the same.")
    for metric, what in ((FIRST_COMMIT, "a commit"), (LEVEL, "90 % of the throughput")):
        having = sum(1 for one in runs if metric_of(metric)(one) is not None)
        if 0 < having < len(runs):
            doubts.append(f"{len(runs) - having} of {len(runs)} runs ended before {what}.")
    return Claim(
        sentence=f"{name}: {after}, {_level_sentence(runs)}; {loss}.",
        is_decided=bool(read),
        effect=commit.value if commit else None,
        low=commit.low if commit else None,
        high=commit.high if commit else None,
        doubt=" ".join(doubts),
    )


def _level_sentence(runs: Runs) -> str:
    """When the load had 90 % of its level again, if it had less and if its level is known."""
    share = "90 % of the throughput"
    if all(one.level_tps is None for one in _events(runs)):
        return f"{share} before not known"
    levels = [level for one in runs if (level := metric_of(LEVEL)(one)) is not None]
    back = over_runs(runs, metric_of(LEVEL))
    if not levels:
        return f"never {share}"
    if back is None:
        return f"never below {share}"
    if not all(levels):
        return f"{share} after {milliseconds(sum(levels) / len(levels))} on average"
    return f"{share} after {interval_sentence(back, milliseconds)}"


def _events(runs: Runs) -> list[FailoverRecord]:
    return [one for trial in runs for one in trial.record.failovers]


def _names_text(runs: Runs) -> str:
    return ", ".join(dict.fromkeys(one.event for one in _events(runs)))


def _read(runs: Runs) -> list[FailoverRecord]:
    """Return the events of which it is known what they lost."""
    return [one for one in _events(runs) if one.lost is not None]


def _unread_doubts(runs: Runs) -> list[str]:
    unread = len(_events(runs)) - len(_read(runs))
    return [f"What {counted(unread, 'further event')} lost is not known: {UNREAD}."] * bool(unread)


def _losing(runs: Runs) -> list[FailoverRecord]:
    return [one for one in _events(runs) if one.lost]


def _broken(runs: Runs) -> list[FailoverRecord]:
    return [one for one in _events(runs) if loses_too_much(one)]


def _acknowledged(runs: Runs) -> int:
    return sum(one.acknowledged for one in _read(runs))


def _lost(runs: Runs) -> int:
    return sum(one.lost or 0 for one in _read(runs))


def _over_read(runs: Runs, number: Callable[[Runs], int]) -> str:
    """A number of the events that were read; none of them has none."""
    return count(number(runs)) if _read(runs) else NOTHING


def _longest_ms(losing: Sequence[FailoverRecord]) -> float | None:
    return max((one.lost_ms for one in losing if one.lost_ms is not None), default=None)


def _mean_text(runs: Runs, metric: str) -> str:
    """The mean of the runs that have it, and how many that are if others do not."""
    values = [metric_of(metric)(one) for one in runs]
    known = [value for value in values if value is not None]
    if not known:
        return NOTHING
    if all(known):
        text = interval_text(over_runs(runs, metric_of(metric)))
    else:
        text = significant(sum(known) / len(known))
    return text if len(known) == len(values) else f"{text}, in {len(known)} of {len(values)} runs"


def _failed_text(runs: Runs) -> str:
    found: Counter[str] = Counter()
    for one in _events(runs):
        found.update(one.failed_by_class)
    events = len(_events(runs))
    by_class = (
        f"{name.replace('_', ' ')} {significant(number / events)}"
        for name, number in found.most_common()
    )
    return ", ".join(by_class) or "0"


def _allowed_text(runs: Runs) -> str:
    allowed = dict.fromkeys(one.loss_allowed_ms for one in _events(runs))
    return ", ".join(loss_allowed_text(one) for one in allowed)


ANSWER = Answer(
    id="failovers",
    title="What each event cost, and what it lost",
    options={"at": "levels of factors to select runs; default: all runs"},
    answer=answer,
)
