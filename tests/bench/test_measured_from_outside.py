"""What the bench measures of tools from outside, including one that did nothing or has ended."""

import os
import subprocess

import pytest

from bench.footprint import status_kib
from bench.tool import Outcome
from dbdyno.errors import DbdynoError
from tests.support.patience import PATIENCE_S


def test_the_memory_of_a_process_that_has_ended_is_none():
    assert status_kib(os.getpid(), "VmHWM") > 1000
    ended = subprocess.Popen(["true"])
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)  # a zombie: nobody has reaped it yet
    assert status_kib(ended.pid, "VmHWM") == 0
    ended.wait(PATIENCE_S)
    assert status_kib(ended.pid, "VmHWM") == 0


def test_a_tool_that_did_nothing_has_no_throughput():
    assert Outcome(tps=10, transactions=100, failed=0).load_s == 10
    with pytest.raises(DbdynoError, match=r"completed no transaction \(7 failed\)"):
        _ = Outcome(tps=0, transactions=0, failed=7).load_s
