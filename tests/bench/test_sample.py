"""What a transaction costs while the load lasts is told apart from what the command costs once."""

import sys

import pytest

from bench.compare import Sample
from bench.process import Finished, started
from bench.tool import Outcome
from bench.turns import Turns
from tests.support.patience import wait_until


def test_the_cost_of_a_command_is_spread_over_a_minute():
    # 10 s of load at 1000 TPS, 8 of them in turns; 200 µs a transaction, and 0.6 s once.
    finished = Finished(output="", cpu_s=2.6, elapsed_s=31.0, stopped_s=20.0)
    turns = Turns(finished, cpu_s=1.6, running_s=8.0)
    found = Sample.of(Outcome(tps=10_000 / 30, transactions=10_000, failed=0), turns)
    assert found.tps == pytest.approx(1000)
    assert found.cpu_us_in_load == pytest.approx(200)
    assert found.cpu_s_once == pytest.approx(0.6)
    assert found.cpu_us_per_transaction == pytest.approx(210)
    assert str(found) == "1,000 TPS 200.00 µs + 0.60 s"


# Uses this much CPU time.
BUSY = "import time\nwhile time.process_time() < 0.3: pass\n"


def test_the_time_so_far_is_that_of_the_whole_tree():
    """Of a process that has ended and one that runs."""
    both = f'{sys.executable} -c "{BUSY}"; {sys.executable} -c "{BUSY}time.sleep(600)"'
    with started(["sh", "-c", both]) as process:
        wait_until(lambda: process.cpu_s >= 0.55, "the CPU time of both processes is counted")
        assert not process.has_ended
