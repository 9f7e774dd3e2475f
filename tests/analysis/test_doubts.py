import msgspec
import pytest

from dbdyno.analysis.doubts import DOUBTS, Facts, find_doubts
from dbdyno.analysis.events.checkpoint_events import MissingCycle
from dbdyno.analysis.series.steadiness import Shift
from dbdyno.analysis.waits.arrivals import Arrivals
from dbdyno.formatting import THIN_SPACE
from dbdyno.model.record import Throughput, TransactionCounts

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
SOUND = Facts(
    duration_s=60,
    interval_s=1,
    shift=None,
    throughput=THROUGHPUT,
    transactions=COUNTS,
    arrivals=Arrivals(due=1_000_000, waiting=0, duration_s=60),
)


def changed(**changes):
    return msgspec.structs.replace(SOUND, **changes)


def test_a_sound_run_has_no_doubts():
    assert find_doubts(SOUND) == []


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (changed(duration_s=4), "too short: 4\u202fs measured, at least 10\u202fs are needed"),
        (
            changed(shift=Shift(40, 994, 797)),
            "not steady: throughput went from 994 to 797 TPS (−20\u202f%) at about 40 s",
        ),
        (
            changed(throughput=msgspec.structs.replace(THROUGHPUT, high=1080)),
            "coarse: throughput is known only to ±8\u202f% within this run; run longer",
        ),
        (
            changed(throughput=msgspec.structs.replace(THROUGHPUT, low=0, high=3400)),
            "coarse: throughput is hardly known: its 95 % interval within this run extends to 0",
        ),
        (
            changed(throughput=msgspec.structs.replace(THROUGHPUT, low=None, high=None, samples=1)),
            "coarse: 1 sample gives no interval: at least 5 do",
        ),
        (
            changed(throughput=msgspec.structs.replace(THROUGHPUT, low=None, high=None, samples=3)),
            "coarse: 3 samples give no interval: at least 5 do",
        ),
        (
            changed(transactions=msgspec.structs.replace(COUNTS, ok=5_000)),
            "few samples for p99.9 and p99.99: of 5\u202f000 transactions about 5 lie beyond "
            "p99.9, at least 10 are needed",
        ),
        (
            changed(missing_cycle=MissingCycle(300, 570, "checkpoint_timeout")),
            "no complete checkpoint cycle: no checkpoint both started and finished during the "
            "measurement; one starts every 300 s (checkpoint_timeout), so at least 570 s are "
            "needed",
        ),
        (
            changed(missing_cycle=MissingCycle(None, None, None)),
            "no complete checkpoint cycle: no checkpoint both started and finished during the "
            "measurement",
        ),
        (
            changed(transactions=msgspec.structs.replace(COUNTS, skipped=10_000, unfinished=101)),
            "censored: 10\u202f000 skipped and 101 unfinished transactions (1\u202f%) "
            "are not in the percentiles",
        ),
        (
            changed(has_percentiles=False, transactions=msgspec.structs.replace(COUNTS, ok=500)),
            "no percentiles: the run ended before its first full histograms were written",
        ),
        (
            changed(
                transactions=msgspec.structs.replace(COUNTS, ok=999_997, unfinished=3),
                unfinished_ages_s=[4.5, 1.25, 30.0],
            ),
            "censored: 3 unfinished transactions (0.0003\u202f%) are not in the percentiles; "
            f"unfinished after 1.25{THIN_SPACE}s to 30{THIN_SPACE}s",
        ),
        (
            changed(transactions=msgspec.structs.replace(COUNTS, ok=3_000_000, waiting=9)),
            "censored: 9 waiting transactions (0.0003\u202f%) are not in the percentiles",
        ),
        (
            changed(transactions=msgspec.structs.replace(COUNTS, ok=999_999, unfinished=1)),
            "censored: 1 unfinished transaction (<\u202f0.0001\u202f%) is not in the percentiles",
        ),
        (
            changed(
                arrivals=Arrivals(due=120_000, waiting=60_000, waiting_usual=45_000, duration_s=60)
            ),
            "overrun: 2\u202f000 transactions per second became due but 1\u202f000 completed; "
            "60\u202f000 had not started when the run ended, and response times grow with its "
            "length",
        ),
        (
            changed(arrivals=Arrivals(due=1, waiting=0, still_s=7, duration_s=60)),
            "stalled: nothing completed for at least 7.0 s of 60.0 s; the numbers include that "
            "time",
        ),
        (
            changed(
                arrivals=Arrivals(due=1, waiting=0, still_s=7, due_while_still=3500, duration_s=60)
            ),
            "stalled: nothing completed for at least 7.0 s of 60.0 s, and 3\u202f500 transactions "
            "became due meanwhile; the numbers include that time",
        ),
        (
            changed(paused_s=2.4),
            "paused: the load generator itself stood still for 2.4 s of 60.0 s: it was stopped, or "
            "had no CPU; the numbers include that time",
        ),
        (
            changed(unsampled_s=7.5),
            "partly sampled: telemetry took no session samples for 7.5 s of 60.0 s; what clients "
            "waited for then is not in the findings' shares",
        ),
        (
            changed(unreadable=("database_bytes", "settings")),
            "not described: the server's answers about its database bytes, settings could not be "
            "read, or were of another kind than expected; what could not be read is not in the "
            "record",
        ),
        (
            changed(mean_response_s=7.5),
            "long transactions: one takes 7.5\u202fs on average, and each client's last one "
            "completes while the load drains, so response times are too low; measure for at least "
            "75\u202fs",
        ),
        (
            changed(foreign_of_work=0.43),
            "not alone: other sessions did about 43\u202f% of the server's work; the costs per "
            "transaction include it",
        ),
        (
            changed(throughput=msgspec.structs.replace(THROUGHPUT, value=0.0)),
            "none completed during the measurement: all 1\u202f000\u202f000 completed after it; "
            "measure for longer than a transaction takes",
        ),
    ],
)
def test_each_doubt_says_what_and_how_much(facts, expected):
    assert find_doubts(facts) == [expected]


def test_every_doubt_is_documented_with_its_rule():
    for doubt in DOUBTS:
        assert len(doubt.__doc__.split()) > 12, doubt.__name__
