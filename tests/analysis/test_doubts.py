import dataclasses

import msgspec
import pytest

from dbdyno.analysis.doubts import DOUBTS, find_doubts
from dbdyno.analysis.events.checkpoint_events import MissingCycle, missing_cycle
from dbdyno.analysis.series.distributions import response_ms
from dbdyno.analysis.series.totals import duration_s, throughput, transactions
from dbdyno.analysis.waits.arrivals import Arrivals, arrivals
from dbdyno.analysis.waits.budget import foreign_of_work
from dbdyno.databases.known import all_databases
from dbdyno.formatting import THIN_SPACE
from dbdyno.model.record import Throughput, TransactionCounts
from tests.support.numbers import latency
from tests.support.recordings import MadeRun, changed, with_results

THROUGHPUT = Throughput(
    value=1000,
    low=990,
    high=1010,
    min=950,
    max=1050,
    samples=60,
    samples_effective=30,
    coefficient_of_variation=0.02,
)
COUNTS = TransactionCounts(ok=1_000_000, failed=0, skipped=0, unfinished=0, retried=0)
SOUND = {
    throughput: THROUGHPUT,
    transactions: COUNTS,
    arrivals: Arrivals(due=1_000_000, waiting=0, duration_s=60),
    response_ms: latency(5),
}
ENGINE = MadeRun().loaded().as_recorded.engine


def known(results, run=None):
    """A sound run, but for these results."""
    return with_results(run or MadeRun().loaded(), SOUND | results)


def counts(**other):
    return {transactions: msgspec.structs.replace(COUNTS, **other)}


def rate(**other):
    return {throughput: msgspec.structs.replace(THROUGHPUT, **other)}


def queue(**other):
    return {arrivals: Arrivals(duration_s=60, **other)}


def unfinished(*ages_s):
    done = ENGINE["done"] | {"unfinished_ages_ns": [int(age_s * 1e9) for age_s in ages_s]}
    return changed(MadeRun().loaded(), engine={"done": done})


def paused(seconds):
    return MadeRun(engine={"paused_us": [0] * 62 + [seconds * 1e6]}).loaded()


def unsampled(seconds):
    run = MadeRun()
    for half in range(1, int(2 * (60 - seconds))):
        run.look(half / 2, seconds=0.5)
    return run.loaded()


def unreadable(*facts):
    return changed(MadeRun().loaded(), server={"unreadable": [*facts]})


def test_a_sound_run_has_no_doubts():
    assert find_doubts(known({})) == []


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (known({duration_s: 4}), "too short: 4\u202fs measured, at least 10\u202fs are needed"),
        (
            known({}, MadeRun([994] * 43 + [797] * 20).loaded()),
            "not steady: throughput went from 994 to 797 TPS (−20\u202f%) at about 40 s",
        ),
        (
            known(rate(high=1080)),
            "coarse: throughput is known only to ±8\u202f% within this run; run longer",
        ),
        (
            known(rate(low=0, high=3400)),
            "coarse: throughput is hardly known: its 95 % interval within this run extends to 0",
        ),
        (
            known(rate(low=None, high=None, samples=1)),
            "coarse: 1 sample gives no interval: at least 5 do",
        ),
        (
            known(rate(low=None, high=None, samples=3)),
            "coarse: 3 samples give no interval: at least 5 do",
        ),
        (
            known(counts(ok=5_000)),
            "few samples: p99.9 and p99.99 are uncertain: of 5\u202f000 transactions about 5 lie "
            "beyond p99.9, at least 10 are needed",
        ),
        (
            known({missing_cycle: MissingCycle(300, 570, "checkpoint_timeout")}),
            "no complete checkpoint cycle: no checkpoint both started and finished during the "
            "measurement; one starts every 300 s (checkpoint_timeout), so at least 570 s are "
            "needed",
        ),
        (
            known({missing_cycle: MissingCycle(None, None, None)}),
            "no complete checkpoint cycle: no checkpoint both started and finished during the "
            "measurement",
        ),
        (
            known(counts(skipped=10_000, unfinished=101)),
            "censored: 10\u202f000 skipped and 101 unfinished transactions (1\u202f%) "
            "are not in the percentiles",
        ),
        (
            known({response_ms: None} | counts(ok=500)),
            "no percentiles: the run ended before its first full histograms were written",
        ),
        (
            known(counts(ok=999_997, unfinished=3), unfinished(4.5, 1.25, 30.0)),
            "censored: 3 unfinished transactions (0.0003\u202f%) are not in the percentiles; "
            f"unfinished after 1.25{THIN_SPACE}s to 30{THIN_SPACE}s",
        ),
        (
            known(counts(ok=3_000_000, waiting=9)),
            "censored: 9 waiting transactions (0.0003\u202f%) are not in the percentiles",
        ),
        (
            known(counts(ok=999_999, unfinished=1)),
            "censored: 1 unfinished transaction (<\u202f0.0001\u202f%) is not in the percentiles",
        ),
        (
            known(queue(due=120_000, waiting=60_000, waiting_usual=45_000)),
            "overrun: 2\u202f000 transactions per second became due but 1\u202f000 completed; "
            "60\u202f000 had not started when the run ended, and response times grow with its "
            "length",
        ),
        (
            known(queue(due=1, waiting=0, still_s=7)),
            "stalled: nothing completed for at least 7.0 s of 60.0 s; the numbers include that "
            "time",
        ),
        (
            known(queue(due=1, waiting=0, still_s=7, due_while_still=3500)),
            "stalled: nothing completed for at least 7.0 s of 60.0 s, and 3\u202f500 transactions "
            "became due meanwhile; the numbers include that time",
        ),
        (
            known({}, paused(2.4)),
            "paused: the load generator itself stood still for 2.4 s of 60.0 s: it was stopped, or "
            "had no CPU; the numbers include that time",
        ),
        (
            known({}, unsampled(7.5)),
            "partly sampled: telemetry took no session samples for 7.5 s of 60.0 s; what clients "
            "waited for then is not in the findings' shares",
        ),
        (
            known({}, unreadable("database_bytes", "settings")),
            "not described: the server's answers about its database bytes, settings could not be "
            "read, or were of another kind than expected; what could not be read is not in the "
            "record",
        ),
        (
            known({}, dataclasses.replace(MadeRun().loaded(), database=all_databases()["tidb"])),
            "not tried: dbdyno knows TiDB from its documentation alone: times and counts hold, but "
            "its settings, its durability level and the advice of findings may be wrong; check "
            "them before relying on them",
        ),
        (
            known({}, dataclasses.replace(MadeRun().loaded(), database=all_databases()["unknown"])),
            "not known: dbdyno does not know this database: times and counts hold, but of the "
            "server only its version was read, so that its settings, its durability level and what "
            "limited it are missing",
        ),
        (
            known({response_ms: latency(7_500)}),
            "long transactions: one takes 7.5\u202fs on average, and each client's last one "
            "completes while the load drains, so response times are too low; measure for at least "
            "75\u202fs",
        ),
        (
            known({foreign_of_work: 0.43}),
            "not alone: other sessions did about 43\u202f% of the server's work; the costs per "
            "transaction include it",
        ),
        (
            known(rate(value=0.0)),
            "none completed during the measurement: all 1\u202f000\u202f000 completed after it; "
            "measure for longer than a transaction takes",
        ),
    ],
)
def test_each_doubt_says_what_and_how_much(run, expected):
    assert find_doubts(run) == [expected]


def test_every_doubt_is_documented_with_its_rule():
    for doubt in DOUBTS:
        assert len(doubt.__doc__.split()) > 12, doubt.__name__
