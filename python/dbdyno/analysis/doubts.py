"""What weakens a run's numbers without making them wrong. One function a doubt.

Each takes the same facts and answers with a sentence, or with nothing. A doubt is said
and listed; it never changes a number and never makes a run invalid.
"""

from collections.abc import Callable, Sequence

from msgspec import Struct

from dbdyno.analysis.arrivals import Arrivals
from dbdyno.analysis.checkpoint_cycle import MissingCycle
from dbdyno.analysis.steadiness import Shift
from dbdyno.analysis.verdicts import change
from dbdyno.model.record import Throughput, TransactionCounts
from dbdyno.words import count, counted, percent, seconds, tps

DURATION_MIN_S = 10
TAIL_SAMPLES_MIN = 10
HALF_WIDTH_MAX = 0.05
DOWN_TO_NOTHING = 1.0
"""An interval with a half-width of the mean and more holds 0; how much more says nothing."""
_CENSORED = ("skipped", "unfinished", "waiting")
_TAILS = {"p99.99": 1e-4, "p99.9": 1e-3, "p99": 1e-2}


class Facts(Struct, frozen=True, kw_only=True):
    """What doubts are judged by."""

    duration_s: float
    interval_s: float
    shift: Shift | None
    """Of throughput, as nobody asked for it."""
    throughput: Throughput
    transactions: TransactionCounts
    unfinished_ages_s: Sequence[float] = ()
    """Of each that was begun and saw no end, from when it was due."""
    arrivals: Arrivals
    has_percentiles: bool = True
    missing_cycle: MissingCycle | None = None


def too_short(facts: Facts) -> str | None:
    """Fewer than 10 s measured.

    A convention: server caches, connections and background writers have not
    settled by then, whatever the numbers look like.
    """
    if facts.duration_s >= DURATION_MIN_S:
        return None
    return f"too short: {facts.duration_s:.1f} s measured, at least {DURATION_MIN_S} s are needed"


def few_samples(facts: Facts) -> str | None:
    """Fewer than ten transactions lie beyond a percentile that is shown.

    The rank of the q-quantile among n samples has the standard deviation √(n·q·(1 − q)),
    that is √m with m samples beyond it; with fewer than 10 the rank is uncertain by a
    third and more (David and Nagaraja, *Order Statistics*, 2003, §7.1).
    """
    if not facts.has_percentiles:
        return None
    ok = facts.transactions.ok
    beyond = {name: ok * tail for name, tail in _TAILS.items()}
    weak = [name for name, samples in beyond.items() if samples < TAIL_SAMPLES_MIN]
    if not weak:
        return None
    *others, highest = reversed(weak)
    names = f"{', '.join(others)} and {highest}" if others else highest
    return (
        f"few samples for {names}: of {count(ok)} transactions about "
        f"{beyond[weak[-1]]:.1f} lie beyond {weak[-1]}, at least {TAIL_SAMPLES_MIN} are needed"
    )


def no_percentiles(facts: Facts) -> str | None:
    """The run ended, by force, before the engine wrote its first full histograms."""
    if facts.has_percentiles or not facts.transactions.ok:
        return None
    return "no percentiles: the run was ended before its first full histograms were written"


def not_steady(facts: Facts) -> str | None:
    """Throughput changed its level by 5 % or more, and not because it was asked to.

    The test is that of :func:`~dbdyno.analysis.steadiness.unasked_shift`.
    """
    shift = facts.shift
    if shift is None:
        return None
    at_s = shift.place * facts.interval_s
    return (
        f"not steady: throughput went from {tps(shift.before)} to {tps(shift.after)} TPS "
        f"({change(1 + shift.relative)}) at about {at_s:.0f} s"
    )


def coarse(facts: Facts) -> str | None:
    """The within-run interval reaches further than 5 % from the mean, or cannot be had.

    The interval is that of :func:`~dbdyno.analysis.estimate.estimate_mean`.
    """
    mean = facts.throughput
    if mean.value <= 0:
        return None  # nothing ended, which is said elsewhere
    if mean.high is None:
        give = "gives" if mean.samples == 1 else "give"
        return f"coarse: {counted(mean.samples, 'sample')} of throughput {give} no interval"
    reach = (mean.high - mean.value) / mean.value
    if reach <= HALF_WIDTH_MAX:
        return None
    if reach >= DOWN_TO_NOTHING:
        return "coarse: throughput is hardly known: its interval within this run reaches down to 0"
    return f"coarse: throughput is known to ±{percent(reach)} within this run only; run longer"


def no_checkpoint_cycle(facts: Facts) -> str | None:
    """A run that wrote held no whole checkpoint, so it did not pay for one.

    Numbers of a server that was never checkpointed are better than any that lasts. A run
    must be as long as the time between two checkpoints and the time that one takes.
    """
    missing = facts.missing_cycle
    if missing is None:
        return None
    said = "no whole checkpoint cycle: no checkpoint both began and ended while measuring"
    if missing.every_s is None or missing.needed_s is None:
        return said
    return (
        f"{said}; one comes every {missing.every_s:.0f} s ({missing.reason}), so at least "
        f"{missing.needed_s:.0f} s are needed"
    )


def censored(facts: Facts) -> str | None:
    """Some transactions have no response time, and they are not the fast ones.

    Those skipped (over the latency limit), unfinished (still running at the end) and waiting
    (due, and not begun by then) waited at least that long; percentiles of the others alone are
    too good by up to their share. What a script left by ending its client may have been fast: it
    stands there with its age, since nobody can say what it would have become.
    """
    counts = facts.transactions
    names = ("skipped", "unfinished") if facts.arrivals.overran else _CENSORED
    missing = {name: number for name in names if (number := getattr(counts, name))}
    if not missing:
        return None
    total = sum(missing.values())
    each = " and ".join(f"{count(number)} {name}" for name, number in missing.items())
    noun, stand = ("transaction", "stands") if total == 1 else ("transactions", "stand")
    return (
        f"censored: {each} {noun} ({percent(total / (counts.ok + total))}) {stand} outside the "
        f"percentiles{_so_far(facts.unfinished_ages_s)}"
    )


def _so_far(ages_s: Sequence[float]) -> str:
    if not ages_s:
        return ""
    youngest, oldest = seconds(min(ages_s)), seconds(max(ages_s))
    span = oldest if youngest == oldest else f"{youngest} to {oldest}"
    return f"; what was unfinished had taken {span} so far"


def none_ended(facts: Facts) -> str | None:
    """All that was counted ended in the grace: no rate follows from that."""
    done = facts.transactions.ok
    if not done or facts.throughput.value:
        return None
    return (
        f"none ended while measuring: all {count(done)} did in the time after it; measure for "
        "longer than one takes"
    )


def overrun(facts: Facts) -> str | None:
    """Transactions became due faster than they were done, and the queue grew to the end.

    Then no response time means anything but how long the run was
    (:attr:`~dbdyno.analysis.arrivals.Arrivals.overran`).
    """
    came = facts.arrivals
    if not came.overran:
        return None
    return (
        f"overrun: {tps(came.due_per_s)} transactions a second became due and "
        f"{tps(facts.throughput.value)} were done; {count(came.waiting)} had not begun when the "
        "run ended, and response times grow with its length"
    )


def stood_still(facts: Facts) -> str | None:
    """Nothing was done for longer than a transaction takes, though usually many would have been.

    Means, percentiles and rates then mix a server at work with one that does nothing
    (:func:`~dbdyno.analysis.arrivals.arrivals`).
    """
    came = facts.arrivals
    if not came.still_s:
        return None
    due = f", and {count(came.due_while_still)} transactions became due meanwhile"
    return (
        f"stood still: nothing was done for {came.still_s:.1f} s of {facts.duration_s:.1f} s"
        f"{due if came.due_while_still else ''}; the numbers hold that time"
    )


DOUBTS: tuple[Callable[[Facts], str | None], ...] = (
    overrun,
    stood_still,
    none_ended,
    too_short,
    not_steady,
    coarse,
    no_percentiles,
    few_samples,
    no_checkpoint_cycle,
    censored,
)


def find_doubts(facts: Facts) -> list[str]:
    """Every doubt, the weightiest first."""
    return [said for doubt in DOUBTS if (said := doubt(facts))]
