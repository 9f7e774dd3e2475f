"""Estimates of a table's size, compared with the actual size of the loaded tables."""

import pytest

from dbdyno.run.connected_server import connect_to
from dbdyno.run.data_preparation import prepare
from dbdyno.run.job import read_job
from dbdyno.run.options.grammar import WeightedName
from dbdyno.run.options.run_options import RunOptions
from dbdyno.run.tools import engine_tools
from dbdyno.workloads.size import estimated_bytes

SIZE = "select sum(pg_total_relation_size(oid)) from pg_class where relname = any(%s)"


@pytest.mark.parametrize("fillfactor", ["100", "50"])
def test_tables_are_about_as_large_as_was_estimated(database, fillfactor):
    options = RunOptions(define=(("fillfactor", fillfactor),), seed=1)
    job = read_job([WeightedName("tpcb", 1)], options, print)
    with connect_to(database) as connected:
        prepared = prepare(
            connected,
            job,
            bulk=engine_tools().load,
            watch=lambda _progress: None,
            say=print,
        )
        tables = job.work.workload.tables(prepared.values)
        names = [table.name for table in tables]
        real = int(connected.control.execute(SIZE, [names]).fetchone()[0])
    assert estimated_bytes(tables) == pytest.approx(real, rel=0.2)
