"""The bench reports a load that did not run, and gives no figure for it."""

import pytest

from bench.engine import engine_of, frames_of
from dbdyno.errors import DbdynoError
from tests.support.plans import plan_of


def test_a_load_that_cannot_start_reports_the_reason():
    with pytest.raises(DbdynoError, match="PGSQL"):
        list(frames_of(engine_of(plan_of(clients=1, threads=1))))


def test_an_engine_that_ended_amid_a_load_has_none():
    engine = engine_of(plan_of(clients=1, threads=1))
    engine.kill()
    with pytest.raises(DbdynoError, match="the engine ended early"):
        list(frames_of(engine))
