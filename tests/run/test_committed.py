"""What the server must have committed, and what it may have committed."""

from msgspec.structs import replace

from dbdyno.model.frame import FailureCount
from dbdyno.run.invariants import CommitCounter
from dbdyno.workloads.invariants import Committed, OnePerTransaction
from tests.support.frames import counters, done, interval


def of_two(ok: int, first: int, second: int, phase: str = "measure", failed: int = 0):
    one = interval(phase=phase, ok=ok)
    scripts = [replace(one.scripts[0], ok=count, committed=count) for count in (first, second)]
    return replace(one, scripts=scripts, completed_failed=failed)


def test_one_script_is_known_exactly_and_the_warm_up_counts():
    counter = CommitCounter(["a"])
    counter.add(interval(phase="warmup", ok=5))
    late = interval(ok=10)
    counter.add(replace(late, scripts=[replace(late.scripts[0], ok=8)]))
    assert counter.committed(done()) == {"a": Committed(15, 15)}


def test_with_several_scripts_those_across_the_warm_ups_end_are_anybodys():
    counter = CommitCounter(["a", "b"])
    counter.add(of_two(10, 6, 2))
    assert counter.committed(done()) == {"a": Committed(6, 8), "b": Committed(2, 4)}


def test_transactions_whose_end_was_not_seen_may_have_committed():
    counter = CommitCounter(["a"])
    counter.add(replace(interval(phase="warmup", ok=1), completed_failed=1))
    counter.add(interval(ok=4))
    ended = replace(
        done(counted=counters(4, 5, unfinished=2)),
        failures=[
            FailureCount("connection", "57P01", 3, "terminated"),
            FailureCount("deadlock", "40P01", 2, "deadlock"),
        ],
    )
    assert counter.committed(ended) == {"a": Committed(5, 5 + 1 + 2 + 3)}


def test_nobody_knows_what_a_worker_that_was_lost_committed_last():
    counter = CommitCounter(["a"])
    counter.add(interval(ok=4))
    bounds = counter.committed(done(), has_lost_worker=True)
    assert bounds["a"].text == "at least 4"
    law = OnePerTransaction("rows", "a")
    assert law.broken({"rows": 5000}, bounds) is None
    broken = law.broken({"rows": 3}, bounds)
    assert broken is not None
    assert broken.message == "rows grew by 3, but at least 4 transactions of a were committed"


def test_so_may_those_of_the_warm_up_that_failed_after_it():
    counter = CommitCounter(["a"])
    late = interval(ok=4)
    scripts = [replace(late.scripts[0], ok=4, failed=2)]
    counter.add(replace(late, scripts=scripts, completed_failed=5))
    assert counter.committed(done()) == {"a": Committed(4, 4 + 3)}
