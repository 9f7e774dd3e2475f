"""What weakens a run's numbers without making them wrong: one function per doubt.

Each returns a sentence or None. A doubt is listed in the record; it never changes a number and
never makes a run invalid.
"""

from collections.abc import Callable, Sequence

from dbdyno.analysis.compare.verdicts import change
from dbdyno.analysis.events.checkpoint_events import missing_cycle
from dbdyno.analysis.processor.cpu_profile import cpu_profile
from dbdyno.analysis.series.distributions import is_after_warmup, response_ms
from dbdyno.analysis.series.readings import lack_of, was_read
from dbdyno.analysis.series.steadiness import unasked_shift
from dbdyno.analysis.series.timeline import timeline
from dbdyno.analysis.series.totals import duration_s, paused_s, throughput, transactions
from dbdyno.analysis.statistics.estimate import SAMPLES_MIN, median
from dbdyno.analysis.waits.arrivals import arrivals
from dbdyno.analysis.waits.budget import foreign_of_work
from dbdyno.analysis.waits.disturbance import (
    busiest_programs,
    disturbance,
    throttled_shares,
)
from dbdyno.analysis.waits.processor_time import SATURATED, processor_time, sees_server
from dbdyno.analysis.waits.session_samples import unsampled_s
from dbdyno.formatting import (
    NOTHING,
    count,
    counted,
    milliseconds,
    percent,
    seconds,
    significant,
    tps,
)
from dbdyno.model.counters import PROFILE, Machine
from dbdyno.model.record import AuditRecord, RunRecord
from dbdyno.model.run import Run

DURATION_MIN_S = 10
TAIL_SAMPLES_MIN = 10
HALF_WIDTH_MAX = 0.05
DOWN_TO_NOTHING = 1.0
"""An interval whose half-width is at least the mean contains 0; larger ones say no more."""
UNSAMPLED_MIN, UNSAMPLED_MIN_S = 0.1, 1.0
FOREIGN_MIN = 0.03
LONG_MIN = 0.1
THROTTLED_MIN = 0.03
BESIDE_MIN = 0.03
PROFILE_OFF_MIN = 0.05
CYCLES_MIN = 0.2
"""Of those of a processor at 3 GHz: no processor at work has a clock as slow."""
DISTURBED = "disturbed"
SHARED_HOST = "shared host"
CAUSE_MIN = 0.01
"""Of the host's CPU time: less is not worth its name."""
_CENSORED = ("skipped", "unfinished", "waiting")
_TAILS = {"p99.99": 1e-4, "p99.9": 1e-3, "p99": 1e-2}


def disturbed(run: Run) -> str | None:
    """Other programs and the hypervisor used 5 % or more of the host's CPU time.

    Programs through which the load's connections pass and the kernel's own threads do not count
    (:mod:`~dbdyno.analysis.waits.disturbance`).
    """
    found = disturbance(run)
    if found is None or not found.is_noticed:
        return None
    cores = f"{found.cores:.0f} {'CPU' if found.cores == 1 else 'CPUs'}"
    cores_of = {name: share * found.cores for name, share in found.programs.items()}
    named = busiest_programs(cores_of, CAUSE_MIN * found.cores)
    unnamed = "too short-lived to be listed, or in other containers"
    names = named or unnamed
    if named and sum(found.programs.values()) < found.others / 2:
        names = f"{named}; most of them {unnamed}"
    used = {
        f"other programs used {{}} of {cores} during the measurement ({names})": found.others,
        f"the hypervisor withheld {{}} of {cores} (steal)": found.stolen,
    }
    causes = [
        cause.format(f"{share * found.cores:.2f}")
        for cause, share in used.items()
        if share >= CAUSE_MIN
    ]
    where = "" if found.sees_server else "on the load generator's host, "
    unseen = "" if found.sees_server else "; the server's processes could not be observed"
    covering = f"noticeably in {found.seconds:.0f} of {found.duration_s:.0f} s"
    return f"{DISTURBED}: {where}{' and '.join(causes)}, {covering}{unseen}"


def not_observed(run: Run) -> str | None:
    """The run was measured without telemetry: whether other programs disturbed it is not known."""
    if was_read(run, Machine.source) or not run.record.telemetry:
        return None
    return (
        "not observed: without telemetry it is not known whether other programs took CPU time "
        "during the measurement"
    )


def throttled(run: Run) -> str | None:
    """The kernel throttled the server or the load generator for 3 % of the time or more.

    Its cgroup had exhausted its CPU quota, and not by ``--server-cores``, which requests that.
    """
    who = {"server": "the server", "engine": "the load generator"}
    requested = ["server"] if "server-cores" in run.server.placement.asked else []
    parts = [
        f"{who.get(name, name)} was throttled for up to {percent(share)} of the time"
        for name, share in throttled_shares(run).items()
        if share >= THROTTLED_MIN and name not in requested
    ]
    if not parts:
        return None
    return f"throttled: {' and '.join(parts)}, because the CPU quota of its cgroup was exhausted"


def shared_host(run: Run) -> str | None:
    """The load generator used 3 % or more of a saturated CPU that it shares with the server.

    It is a condition of the run, as the number of cores is: the numbers describe both together. On
    a host of its own the server could use this part as well.
    """
    used = processor_time(run) if sees_server(run) else None
    if used is None or used.in_use < SATURATED or used.engine < BESIDE_MIN:
        return None
    return (
        f"{SHARED_HOST}: the load generator used {percent(used.engine)} of the host's saturated "
        f"CPU, the server {percent(used.server)}: from another host, the server has all of it"
    )


def incomplete_profile(run: Run) -> str | None:
    """The profile shows 5 % more or less CPU time of the server than the kernel counted, or worse.

    That is beyond three standard errors of its number of samples, too. Or it ended before the load.
    Of cycles, whose number follows the processor's clock, only a fraction of them is too few.
    """
    found = cpu_profile(run)
    if found is None:
        return None
    if (why := lack_of(run, PROFILE)) is not None:
        return f"incomplete profile: {why}"
    if not found.counted_s:
        return None
    off_s = abs(found.sampled_s - found.counted_s)
    if off_s < max(PROFILE_OFF_MIN * found.counted_s, 3 * found.sampling_error_s):
        return None
    if found.source == "cycles" and found.sampled_s > CYCLES_MIN * found.counted_s:
        return None
    return (
        f"incomplete profile: its samples are {found.sampled_s:.2f} s of the server's CPU time, of "
        f"which the kernel counted {found.counted_s:.2f} s; the shares of subsystems and functions "
        "are of the samples"
    )


def too_short(run: Run) -> str | None:
    """Fewer than 10 s measured.

    A convention: server caches, connections and background writers have not
    settled by then, whatever the numbers look like.
    """
    if duration_s(run) >= DURATION_MIN_S:
        return None
    measured = seconds(duration_s(run))
    return f"too short: {measured} measured, at least {seconds(DURATION_MIN_S)} are needed"


def few_samples(run: Run) -> str | None:
    """Fewer than ten transactions lie beyond a percentile that is shown.

    The rank of the q-quantile among n samples has the standard deviation √(n·q·(1 − q)),
    that is √m with m samples beyond it; with fewer than 10 the rank is uncertain by a
    third and more (David and Nagaraja, *Order Statistics*, 2003, §7.1).
    """
    if response_ms(run) is None:
        return None
    ok = transactions(run).ok
    beyond = {name: ok * tail for name, tail in _TAILS.items()}
    weak = [name for name, samples in beyond.items() if samples < TAIL_SAMPLES_MIN]
    if not weak:
        return None
    *others, highest = reversed(weak)
    names = f"{', '.join(others)} and {highest}" if others else highest
    all_of_them = f"{count(ok)} {'transaction' if ok == 1 else 'transactions'}"
    return (
        f"few samples: {names} {'are' if others else 'is'} uncertain: of {all_of_them} about "
        f"{significant(beyond[weak[-1]])} lie beyond {weak[-1]}, at least {TAIL_SAMPLES_MIN} are "
        "needed"
    )


def no_percentiles(run: Run) -> str | None:
    """The run was aborted before the engine wrote full histograms, so percentiles are unknown."""
    if response_ms(run) is not None or not transactions(run).ok:
        return None
    return "no percentiles: the run ended before its first full histograms were written"


def not_steady(run: Run) -> str | None:
    """Throughput changed its level by 5 % or more, and not by plan.

    The test is that of :func:`~dbdyno.analysis.series.steadiness.unasked_shift`.
    """
    over_time = timeline(run)
    shift = unasked_shift(run.plan, over_time.measured().tps)
    if shift is None:
        return None
    at_s = shift.place * median(over_time.seconds)
    return (
        f"not steady: throughput went from {tps(shift.before)} to {tps(shift.after)} TPS "
        f"({change(1 + shift.relative)}) at about {at_s:.0f} s"
    )


def coarse(run: Run) -> str | None:
    """The within-run interval extends more than 5 % from the mean, or cannot be computed.

    The interval is that of :func:`~dbdyno.analysis.statistics.estimate.estimate_mean`.
    """
    mean = throughput(run)
    if mean.value <= 0:
        return None  # nothing completed, which is reported elsewhere
    if mean.high is None:
        number, what = min((mean.samples, "sample"), (transactions(run).ok, "transaction"))
        give = "gives" if number == 1 else "give"
        return f"coarse: {counted(number, what)} {give} no interval: at least {SAMPLES_MIN} do"
    reach = (mean.high - mean.value) / mean.value
    if reach <= HALF_WIDTH_MAX:
        return None
    if reach >= DOWN_TO_NOTHING:
        return "coarse: throughput is hardly known: its 95 % interval within this run extends to 0"
    return f"coarse: throughput is known only to ±{percent(reach)} within this run; run longer"


def no_checkpoint_cycle(run: Run) -> str | None:
    """A run that wrote held no whole checkpoint, so it did not pay for one.

    Without checkpoints a server is faster than in continuous operation. A run must be as long as
    the time between two checkpoints plus the duration of one.
    """
    missing = missing_cycle(run)
    if missing is None:
        return None
    text = (
        "no complete checkpoint cycle: no checkpoint both started and finished during the "
        "measurement"
    )
    if missing.every_s is None or missing.needed_s is None:
        return text
    return (
        f"{text}; one starts every {missing.every_s:.0f} s ({missing.reason}), so at least "
        f"{missing.needed_s:.0f} s are needed"
    )


def partly_sampled(run: Run) -> str | None:
    """Telemetry took no session samples in a tenth of the measurement, and at least a second.

    It was stopped (Ctrl-Z), had no CPU, or the server did not answer it. Samples are not scaled up:
    what the clients waited for in that time is not known.
    """
    missing_s = unsampled_s(run)
    if missing_s < max(UNSAMPLED_MIN_S, UNSAMPLED_MIN * duration_s(run)):
        return None
    return (
        f"partly sampled: telemetry took no session samples for {missing_s:.1f} s of "
        f"{duration_s(run):.1f} s; what clients waited for then is not in the findings' shares"
    )


def not_alone(run: Run) -> str | None:
    """Sessions outside the load did a noticeable part of the server's work.

    Most servers count CPU time, rows, pages and WAL for all sessions together, so what those did is
    part of the costs per transaction. Their part is that of session samples that show them at work,
    and rather too low (:class:`~dbdyno.analysis.waits.budget.Budget`).
    """
    share = foreign_of_work(run)
    if share < FOREIGN_MIN:
        return None
    return (
        f"not alone: other sessions did about {percent(share)} of the server's "
        "work; the costs per transaction include it"
    )


def long_transactions(run: Run) -> str | None:
    """A transaction takes more than a tenth of the measurement.

    The last transaction of each client runs in part while others have already stopped: faster than
    under load. They are that part of all, and by Little's law (N = X·R) the mean is too low by as
    much as the load has fallen. In an overrun most of the time is spent before the start.
    """
    response = response_ms(run)
    mean_s = response.mean / 1e3 if response else 0.0
    is_long = mean_s > LONG_MIN * duration_s(run) and not arrivals(run).overran
    if not is_long or not throughput(run).value:
        return None
    return (
        f"long transactions: one takes {seconds(mean_s)} on average, and each client's last one "
        "completes while the load drains, so response times are too low; measure for at least "
        f"{seconds(mean_s / LONG_MIN)}"
    )


def censored(run: Run) -> str | None:
    """Some transactions have no response time, and they are not the fast ones.

    Those skipped (over the latency limit), unfinished (still running at the end) and waiting
    (due, but not started by then) waited at least that long; percentiles of the others alone are
    too good by up to their share. A transaction that a script abandoned by ending its client may
    have been fast: it is listed with its age, since its duration is unknown.
    """
    counts = transactions(run)
    names = ("skipped", "unfinished") if arrivals(run).overran else _CENSORED
    missing = {name: number for name in names if (number := getattr(counts, name))}
    if not missing:
        return None
    total = sum(missing.values())
    each = " and ".join(f"{count(number)} {name}" for name, number in missing.items())
    noun, are = ("transaction", "is") if total == 1 else ("transactions", "are")
    so_far = ""
    if run.engine.done and (ages_ns := run.engine.done.unfinished_ages_ns):
        ages = dict.fromkeys(seconds(age_ns / 1e9) for age_ns in (min(ages_ns), max(ages_ns)))
        so_far = f"; unfinished after {' to '.join(ages)}"
    return (
        f"censored: {each} {noun} ({percent(total / (counts.ok + total))}) {are} not in the "
        f"percentiles{so_far}"
    )


def none_completed(run: Run) -> str | None:
    """All counted transactions completed in the grace period: no rate follows from that."""
    done = transactions(run).ok
    if not done or throughput(run).value:
        return None
    return (
        f"none completed during the measurement: all {count(done)} completed after it; measure for "
        "longer than a transaction takes"
    )


def overrun(run: Run) -> str | None:
    """Transactions became due faster than they completed, and the queue grew until the end.

    Response times then depend only on the length of the run
    (:attr:`~dbdyno.analysis.waits.arrivals.Arrivals.overran`).
    """
    came = arrivals(run)
    if not came.overran:
        return None
    return (
        f"overrun: {tps(came.due_per_s)} transactions per second became due but "
        f"{tps(throughput(run).value)} completed; {count(came.waiting)} had not started when the "
        "run ended, and response times grow with its length"
    )


def paused(run: Run) -> str | None:
    """The load generator stood still for 0.1 s or longer, at least once.

    It was stopped (Ctrl-Z) or frozen, or had no CPU time. Replies lay unread and no request
    followed, which the server is not to blame for. It is noticed by a thread that sleeps for a
    moment and wakes much later, as in jHiccup (Tene, "How NOT to measure latency", 2013).
    """
    if not paused_s(run):
        return None
    return (
        f"paused: the load generator itself stood still for {paused_s(run):.1f} s of "
        f"{duration_s(run):.1f} s: it was stopped, or had no CPU; the numbers include that time"
    )


def stalled(run: Run) -> str | None:
    """Nothing completed for longer than a transaction takes, though usually many would have.

    Only whole intervals count. Means, percentiles and rates then mix a working server with one that
    does nothing (:func:`~dbdyno.analysis.waits.arrivals.arrivals`).
    """
    came = arrivals(run)
    if not came.still_s:
        return None
    due = f", and {count(came.due_while_still)} transactions became due meanwhile"
    return (
        f"stalled: nothing completed for at least {came.still_s:.1f} s of {duration_s(run):.1f} s"
        f"{due if came.due_while_still else ''}; the numbers include that time"
    )


def not_described(run: Run) -> str | None:
    """The server told facts about itself in another kind than expected, or not at all.

    They are missing in ``server.json``, and comparisons do not see whether they differ.
    """
    if not run.server.unreadable:
        return None
    names = ", ".join(name.replace("_", " ") for name in run.server.unreadable)
    return (
        f"not described: the server's answers about its {names} could not be read, or were of "
        "another kind than expected; what could not be read is not in the record"
    )


def not_tried(run: Run) -> str | None:
    """Dbdyno was never run against this database in tests, or does not know which one it is.

    Times and counts are those of the load generator, whatever answers it.
    """
    basis, title = run.database.known_from, run.database.title
    if basis == "servers":
        return None
    if basis == "documentation":
        return (
            f"not tried: dbdyno knows {title} from its documentation alone: times and counts hold, "
            "but its settings, its durability level and the advice of findings may be wrong; "
            "check them before relying on them"
        )
    return (
        "not known: dbdyno does not know this database: times and counts hold, but of the server "
        "only its version was read, so that its settings, its durability level and what limited it "
        "are missing"
    )


def elsewhere(run: Run) -> str | None:
    """Transactions ended at servers that nobody observed.

    Any one counts: what the first server used is divided by all transactions of the load.
    """
    seen = run.server_intervals
    ended = seen.completed_committed[is_after_warmup(run, seen)]
    is_elsewhere = seen.server[is_after_warmup(run, seen)] > 0
    count_elsewhere, count_all = int(ended[is_elsewhere].sum()), int(ended.sum())
    if not count_elsewhere:
        return None
    return (
        f"partly elsewhere: {count(count_elsewhere)} of {count(count_all)} transactions ended at "
        "servers other than the first, which alone was observed: its costs are divided by all of "
        "them, and waits and findings are about the rest"
    )


DOUBTS: tuple[Callable[[Run], str | None], ...] = (
    disturbed,
    throttled,
    shared_host,
    overrun,
    paused,
    stalled,
    none_completed,
    too_short,
    not_steady,
    coarse,
    no_percentiles,
    few_samples,
    no_checkpoint_cycle,
    partly_sampled,
    elsewhere,
    not_alone,
    long_transactions,
    censored,
    incomplete_profile,
    not_observed,
    not_described,
    not_tried,
)


def find_doubts(run: Run) -> list[str]:
    """Return all doubts, the weightiest first."""
    return [text for doubt in DOUBTS if (text := doubt(run))]


def unlent_sessions(record: RunRecord) -> list[str]:
    """Transactions were cut off, maybe because a pooler had no session for each client."""
    counts, poolers = record.transactions, record.intermediaries or ()
    if not counts or not counts.unfinished or all(one.mode != "session" for one in poolers):
        return []
    return [
        "unfinished behind a pooler: in session mode it lends each client a session for as long as "
        "that is connected, and a client without one waits; let it have as many as clients, or "
        "lend them for a transaction (PgBouncer: default_pool_size, pool_mode = transaction)"
    ]


def unmet_demands(audit: Sequence[AuditRecord]) -> list[str]:
    """The load was not what the definition of its workload demands: numbers of others differ.

    Response times are no doubt: they are what was measured.
    """
    return [
        f"not as defined: {one.name}: {amount(one, one.value)} of {count(one.count)}, but the "
        f"definition of the workload demands {allowed(one)}"
        for one in audit
        if one.ok is False and one.unit != "ms"
    ]


def amount(audit: AuditRecord, value: float | None) -> str:
    """A number of an audit, in its unit."""
    if value is None:
        return NOTHING
    form = {"share": percent, "each": significant, "ms": milliseconds}[audit.unit]
    return form(value)


def allowed(audit: AuditRecord) -> str:
    """The range that an audit allows, in words."""
    low, high = amount(audit, audit.low), amount(audit, audit.high)
    if audit.high is None:
        return f"at least {low}"
    return f"at most {high}" if audit.low is None else f"{low} to {high}"


def kind_of(doubt: str) -> str:
    """The beginning of a doubt, which is the same in all runs: ``coarse``."""
    return doubt.partition(":")[0]


def disturbed_text(records: Sequence[RunRecord]) -> str | None:
    """How many runs were disturbed, with what disturbed the first of them; None without any."""
    found = [doubt for record in records for doubt in record.doubts if kind_of(doubt) == DISTURBED]
    if not found:
        return None
    of = f"{len(found)} of {len(records)} runs were disturbed"
    return f"{of}{', the first:' if len(found) > 1 else ':'}{found[0].partition(':')[2]}"
