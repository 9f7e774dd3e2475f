"""Dips at checkpoints, in curves where they were planted."""

import numpy as np
import pytest

from dbdyno.analysis.events.checkpoints import checkpoint_dips
from tests.support.recordings import MadeRun


def made(dip: slice | None = None, *, share: float = 0.4) -> MadeRun:
    """A minute at 1000 TPS with a little noise, lower by ``share`` during ``dip``."""
    ok = 1000 + 5 * np.tile([1.0, -1.0], 30)
    if dip:
        ok[dip] *= 1 - share
    return MadeRun(ok, warmup=0)


def with_checkpoint(run: MadeRun, begin_s: float, end_s: float | None) -> MadeRun:
    run.log(begin_s, "checkpoint_start", reason="time")
    if end_s is not None:
        run.log(end_s, "checkpoint_end", total_s=end_s - begin_s, write_s=1.0, sync_s=0.1)
    return run


def test_a_dip_has_the_depth_and_length_that_were_made() -> None:
    (dip,) = checkpoint_dips(with_checkpoint(made(slice(20, 28)), 20.2, 45.0).loaded())
    assert dip.is_whole
    assert dip.depth == pytest.approx(0.4, abs=0.01)
    assert dip.length_s == 8


def test_a_checkpoint_that_cost_nothing_has_no_dip() -> None:
    (dip,) = checkpoint_dips(with_checkpoint(made(), 20.2, 45.0).loaded())
    assert (dip.depth, dip.deepest, dip.length_s) == (0, 0, 0)


def test_a_dip_before_the_checkpoint_is_not_its_own() -> None:
    (dip,) = checkpoint_dips(with_checkpoint(made(slice(5, 9)), 20.2, 45.0).loaded())
    assert dip.length_s == 0


def test_one_that_outlives_the_run_is_not_whole() -> None:
    (dip,) = checkpoint_dips(with_checkpoint(made(slice(50, 55)), 50.5, None).loaded())
    assert not dip.is_whole
    assert dip.length_s == 5


def test_a_run_of_few_intervals_reports_checkpoints_without_dips() -> None:
    run = with_checkpoint(MadeRun(1000, seconds=5, warmup=0), 1.5, 3.0)
    (dip,) = checkpoint_dips(run.loaded())
    assert dip.is_whole
    assert dip.depth == 0
